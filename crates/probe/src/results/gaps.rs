//! Gaps of a paced stream: their start, their end and the packets lost in them. Pure.

use serde::Serialize;

/// Gaps that are kept; of more, the counts go on.
const MAX_KEPT: usize = 10_000;

/// Between two packets, as they arrived.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Gap {
    /// Arrival of the last packet before it and of the first behind it.
    pub start_ns: u64,
    pub end_ns: u64,
    pub seconds: f64,
    /// Sending times of the same two packets, by the sender's clock.
    pub sent_before_ns: u64,
    pub sent_after_ns: u64,
    /// Numbers skipped between the two. Those that come later all the same are not taken back.
    pub lost: u64,
    /// `lost` over the offered rate: how long the path was blocked.
    pub blocked_ns: u64,
}

/// Finds gaps of at least `least_ns`, or at which numbers were skipped.
pub struct Gaps {
    rate_pps: f64,
    least_ns: u64,
    last: Option<Packet>,
    kept: Vec<Gap>,
    pub count: u64,
    pub longest: Option<Gap>,
    /// The gap at which most was lost.
    pub costliest: Option<Gap>,
}

#[derive(Clone, Copy)]
struct Packet {
    sequence: u64,
    sent_ns: u64,
    arrived_ns: u64,
}

impl Gaps {
    pub fn new(rate_pps: f64, least_ns: u64) -> Gaps {
        Gaps {
            rate_pps,
            least_ns,
            last: None,
            kept: Vec::new(),
            count: 0,
            longest: None,
            costliest: None,
        }
    }

    /// The next packet, in the order of arrival.
    pub fn packet(&mut self, sequence: u64, sent_ns: u64, arrived_ns: u64) {
        let Some(last) = self.last else {
            // Numbers in front of the first were lost before there was anything to see.
            self.last = Some(Packet {
                sequence,
                sent_ns,
                arrived_ns,
            });
            return;
        };
        let lost = sequence.saturating_sub(last.sequence.saturating_add(1));
        let length_ns = arrived_ns.saturating_sub(last.arrived_ns);
        if lost > 0 || length_ns >= self.least_ns {
            self.add(Gap {
                start_ns: last.arrived_ns,
                end_ns: arrived_ns,
                seconds: length_ns as f64 / 1e9,
                sent_before_ns: last.sent_ns,
                sent_after_ns: sent_ns,
                lost,
                blocked_ns: self.blocked_ns(lost),
            });
        }
        // A packet from before the newest ends a silence, but is not the newest.
        let newest = sequence.max(last.sequence);
        let sent_ns = if sequence > last.sequence {
            sent_ns
        } else {
            last.sent_ns
        };
        self.last = Some(Packet {
            sequence: newest,
            sent_ns,
            arrived_ns,
        });
    }

    /// How long the offered rate takes for so many packets.
    pub fn blocked_ns(&self, lost: u64) -> u64 {
        (lost as f64 / self.rate_pps * 1e9).round() as u64
    }

    pub fn kept(self) -> Vec<Gap> {
        self.kept
    }

    fn add(&mut self, gap: Gap) {
        self.count += 1;
        let length = |gap: &Gap| gap.end_ns.saturating_sub(gap.start_ns);
        if self
            .longest
            .is_none_or(|longest| length(&gap) > length(&longest))
        {
            self.longest = Some(gap);
        }
        if gap.lost > self.costliest.map_or(0, |costliest| costliest.lost) {
            self.costliest = Some(gap);
        }
        if self.kept.len() < MAX_KEPT {
            self.kept.push(gap);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn a_hole_and_a_pause_are_gaps() {
        let mut gaps = Gaps::new(1000.0, 10 * MS);
        for n in (0..10).chain(60..70) {
            gaps.packet(n, n * MS, n * MS + 5);
        }
        // Held back, none lost.
        gaps.packet(70, 70 * MS, 170 * MS);
        let (longest, costliest) = (gaps.longest.unwrap(), gaps.costliest.unwrap());
        assert_eq!((longest.start_ns, longest.end_ns), (69 * MS + 5, 170 * MS));
        assert_eq!(longest.lost, 0);
        assert_eq!((costliest.lost, costliest.blocked_ns), (50, 50 * MS));
        assert_eq!(
            (costliest.sent_before_ns, costliest.sent_after_ns),
            (9 * MS, 60 * MS)
        );
        assert_eq!(gaps.count, 2);
    }

    proptest! {
        #[test]
        fn without_reordering_gaps_hold_exactly_what_was_lost(
            seen in prop::collection::vec(any::<bool>(), 1..200),
        ) {
            let came: Vec<u64> = (0..).zip(&seen).filter(|(_, seen)| **seen).map(|(n, _)| n).collect();
            let mut gaps = Gaps::new(1000.0, u64::MAX);
            came.iter().for_each(|&n| gaps.packet(n, n * MS, n * MS));
            let lost: u64 = gaps.kept().iter().map(|gap| gap.lost).sum();
            let expected = came.first().map_or(0, |first| came.last().unwrap() - first + 1 - came.len() as u64);
            prop_assert_eq!(lost, expected);
        }

        #[test]
        fn any_packets_are_survived(packets: Vec<(u64, u64, u64)>) {
            let mut gaps = Gaps::new(0.5, 0);
            for (sequence, sent_ns, arrived_ns) in packets {
                gaps.packet(sequence, sent_ns, arrived_ns);
            }
        }
    }
}
