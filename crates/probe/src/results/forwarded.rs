//! Which packets of a stream were carried while they were offered. Pure.
//!
//! ```text
//!   sender    |<------- offered ------->|
//!   receiver       |<------- offered ------->|<- allowance ->|  backlog ...
//!             idle delay                              last carried
//! ```
//!
//! What leaves a queue after the end of the stream was not forwarded at the offered rate. RFC 2544 makes
//! trials of 60 s so that a queue is small beside them; here the end is exact, so that a trial can be
//! short.

use crate::protocol::values::Seconds;
use serde::{Deserialize, Serialize};

/// The time in which packets of a stream count as forwarded.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Offer {
    /// How long the source sends.
    pub duration_s: Seconds,
    /// How much later than that, beyond the idle delay, a packet may arrive.
    pub allowance_s: Seconds,
}

/// Packets that arrived in that time, and the time in which they did.
#[derive(Debug, Default, PartialEq, Serialize)]
pub struct Forwarded {
    packets: u64,
    bytes: u64,
    /// The time offered, or longer if the path needed longer for these packets.
    seconds: f64,
    /// When the first packet arrives that meets no queue, and when the last of these did, by the
    /// receiver's clock. `None` of no packet.
    begun_ns: Option<u64>,
    last_ns: Option<u64>,
}

/// Times of a stream. The idle delay is the least of its packets: a stream begins on an idle path.
///
/// Clocks need not agree: only differences of differences count.
#[derive(Debug)]
pub struct Forwarding {
    offered_ns: u64,
    allowance_ns: u64,
    begun_ns: Option<u64>,
    idle_ns: i64,
    packets: u64,
    bytes: u64,
    last_ns: u64,
}

impl Forwarding {
    pub fn new(offer: Offer) -> Forwarding {
        Forwarding {
            offered_ns: offer.duration_s.ns(),
            allowance_ns: offer.allowance_s.ns(),
            begun_ns: None,
            idle_ns: i64::MAX,
            packets: 0,
            bytes: 0,
            last_ns: 0,
        }
    }

    /// A packet that arrived, not one that had arrived before.
    pub fn record(&mut self, sent_ns: u64, arrived_ns: u64, bytes: u64) {
        let transit_ns = arrived_ns.wrapping_sub(sent_ns) as i64;
        self.idle_ns = self.idle_ns.min(transit_ns);
        let begun_ns = self
            .begun_ns
            .map_or(sent_ns, |begun_ns| begun_ns.min(sent_ns));
        self.begun_ns = Some(begun_ns);
        let waited_ns = transit_ns.wrapping_sub(self.idle_ns) as u64;
        let after_ns = (sent_ns - begun_ns).saturating_add(waited_ns);
        if after_ns <= self.offered_ns.saturating_add(self.allowance_ns) {
            self.packets += 1;
            self.bytes += bytes;
            self.last_ns = self.last_ns.max(after_ns);
        }
    }

    pub fn result(&self) -> Forwarded {
        let could_arrive_ns = |begun_ns: u64| begun_ns.wrapping_add_signed(self.idle_ns);
        let begun_ns = self.begun_ns.map(could_arrive_ns);
        Forwarded {
            packets: self.packets,
            bytes: self.bytes,
            seconds: seconds(self.offered_ns, self.last_ns, self.packets),
            begun_ns,
            last_ns: begun_ns.map(|begun_ns| begun_ns.wrapping_add(self.last_ns)),
        }
    }
}

/// Packets of many streams in one time, which begins when the first of any arrives: a stream's own
/// first packet may have waited behind those of others, and its time would be too short.
#[derive(Debug, Clone, Copy)]
pub struct Joint {
    offered_ns: u64,
    allowance_ns: u64,
    packets: u64,
    bytes: u64,
    last_ns: u64,
}

impl Joint {
    pub fn new(offer: Offer) -> Joint {
        Joint {
            offered_ns: offer.duration_s.ns(),
            allowance_ns: offer.allowance_s.ns(),
            packets: 0,
            bytes: 0,
            last_ns: 0,
        }
    }

    /// A packet that arrived so much later than the first of any, not one that had arrived before.
    pub fn record(&mut self, after_ns: u64, bytes: u64) {
        if after_ns <= self.offered_ns.saturating_add(self.allowance_ns) {
            self.packets += 1;
            self.bytes += bytes;
            self.last_ns = self.last_ns.max(after_ns);
        }
    }

    /// What another thread recorded of the same streams.
    pub fn plus(self, other: Joint) -> Joint {
        Joint {
            packets: self.packets + other.packets,
            bytes: self.bytes + other.bytes,
            last_ns: self.last_ns.max(other.last_ns),
            ..self
        }
    }

    /// `first_ns`: when the first packet of any arrived.
    pub fn result(&self, first_ns: u64) -> Forwarded {
        let (begun_ns, last_ns) = (first_ns, first_ns.saturating_add(self.last_ns));
        Forwarded {
            packets: self.packets,
            bytes: self.bytes,
            seconds: seconds(self.offered_ns, self.last_ns, self.packets),
            begun_ns: (self.packets > 0).then_some(begun_ns),
            last_ns: (self.packets > 0).then_some(last_ns),
        }
    }
}

/// From the first packet to the last there is one gap less than there are packets.
fn seconds(offered_ns: u64, last_ns: u64, packets: u64) -> f64 {
    let gaps = packets.saturating_sub(1).max(1) as f64;
    let needed_ns = last_ns as f64 * packets.max(1) as f64 / gaps;
    needed_ns.max(offered_ns as f64) / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MS: u64 = 1_000_000;
    const OFFERED_NS: u64 = 500 * MS;

    fn offer() -> Offer {
        serde_json::from_value(serde_json::json!({"duration_s": 0.5, "allowance_s": 0.005}))
            .unwrap()
    }

    /// A stream through a link that sends a packet in `service_ns`, with a clock of its own.
    fn through(service_ns: u64, gap_ns: u64, queue: u64, ahead_ns: u64) -> (Forwarded, u64) {
        let mut forwarding = Forwarding::new(offer());
        let (mut free_ns, mut sent) = (0, 0);
        while sent * gap_ns < OFFERED_NS {
            let due_ns = sent * gap_ns;
            sent += 1;
            if free_ns > due_ns + queue * service_ns {
                continue;
            }
            free_ns = free_ns.max(due_ns) + service_ns;
            let arrived_ns = (free_ns + 30 * MS).wrapping_add(ahead_ns);
            forwarding.record(due_ns, arrived_ns, 1372);
        }
        (forwarding.result(), sent)
    }

    #[test]
    fn a_stream_below_the_rate_is_carried_at_its_own() {
        let (forwarded, sent) = through(MS, 2 * MS, 1000, 0);
        assert_eq!((forwarded.packets, forwarded.bytes), (sent, sent * 1372));
        assert!((forwarded.seconds - 0.5).abs() < 1e-9);
    }

    #[test]
    fn what_leaves_a_deep_queue_after_the_end_is_backlog() {
        let (forwarded, sent) = through(MS, MS / 4, 100_000, 0);
        assert_eq!((forwarded.packets, sent), (506, 2000));
        assert!((forwarded.packets as f64 / forwarded.seconds - 1000.0).abs() < 2.0);
    }

    #[test]
    fn the_first_few_packets_alone_are_no_rate_of_gigabits() {
        for count in 0..3 {
            let mut forwarding = Forwarding::new(offer());
            for n in 0..count {
                forwarding.record(n, 50 * n, 1000);
            }
            let forwarded = forwarding.result();
            assert_eq!(forwarded.packets, count);
            assert!((forwarded.seconds - 0.5).abs() < 1e-9);
        }
    }

    #[test]
    fn order_and_late_senders_change_nothing() {
        let mut forwarding = Forwarding::new(offer());
        for (sent_ms, arrived_ms) in [(10, 40), (0, 41), (500, 530), (505, 536), (600, 630)] {
            forwarding.record(sent_ms * MS, arrived_ms * MS, 1);
        }
        assert_eq!(forwarding.result().packets, 3);
    }

    #[test]
    fn the_time_of_a_stream_is_by_the_receivers_clock() {
        let mut forwarding = Forwarding::new(offer());
        forwarding.record(100 * MS, 135 * MS, 1);
        forwarding.record(200 * MS, 240 * MS, 1);
        let found = forwarding.result();
        assert_eq!(
            (found.begun_ns, found.last_ns),
            (Some(135 * MS), Some(240 * MS))
        );
        assert_eq!(Forwarding::new(offer()).result().begun_ns, None);
    }

    proptest! {
        #[test]
        fn no_rate_is_above_the_links(
            service_us in 20_u64..20_000, share in 0.2_f64..20.0, queue in 1_u64..100_000, ahead_ns: u64,
        ) {
            let service_ns = 1000 * service_us;
            let gap_ns = ((service_ns as f64 / share) as u64).max(1000);
            let (forwarded, sent) = through(service_ns, gap_ns, queue, ahead_ns);
            let found = forwarded.packets as f64 / forwarded.seconds;
            let truth = (1e9 / service_ns as f64).min(sent as f64 / 0.5);
            prop_assert!(found <= truth * (1.0 + 1e-6), "{} of {}", found, truth);
            if forwarded.packets >= 100 {
                prop_assert!(found >= 0.98 * truth, "{} of {}", found, truth);
            }
        }

        #[test]
        fn many_streams_are_no_faster_than_their_link(
            service_us in 20_u64..2000, members in 1_u64..20, burst in 1_u64..64,
        ) {
            let (service_ns, mut joint) = (1000 * service_us, [Joint::new(offer()); 2]);
            let mut free_ns = 0;
            while free_ns < 2 * OFFERED_NS {
                for member in 0..members {
                    for _ in 0..burst {
                        joint[member as usize % 2].record(free_ns, 1000);
                        free_ns += service_ns;
                    }
                }
            }
            let found = joint[0].plus(joint[1]).result(7);
            let rate = found.packets as f64 / found.seconds;
            let truth = 1e9 / service_ns as f64;
            prop_assert!(rate <= truth * (1.0 + 1e-9) && rate >= 0.98 * truth, "{rate} of {truth}");
            prop_assert_eq!(found.begun_ns, Some(7));
        }

        #[test]
        fn any_times_are_survived(packets: Vec<(u64, u64)>) {
            let mut forwarding = Forwarding::new(offer());
            for (sent_ns, arrived_ns) in packets {
                forwarding.record(sent_ns, arrived_ns, 1);
            }
            forwarding.result();
        }
    }
}
