//! The newest packets in memory: when the ring is full, the oldest are overwritten.

use std::collections::VecDeque;

use super::flow::{self, Protocol};
use super::marks::Marks;
use crate::schedule::chance::{Chance, Purpose};

/// In front of each packet: its time in nanoseconds, its length, and how much of it is kept.
const HEAD_BYTES: usize = 16;

/// A sample begins behind so many packets: of a few it might hold none.
const ALL_OF_THE_FIRST: u64 = 256;

/// A look ends with so many packets found: they stay, so their number is limited.
const ENOUGH_FOUND: usize = 1000;

/// What to keep.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of the ring.
    pub ring_bytes: usize,
    /// Bytes kept of each packet.
    pub packet_bytes: usize,
    /// 1: all packets; N: behind the first a random one in N.
    pub sample_one_in: u32,
    /// All packets with these are kept whole, whatever the sample.
    pub marks: Option<Marks>,
    /// And all that are not of this flow.
    pub flow: Option<Vec<Protocol>>,
}

impl Limits {
    fn looks(&self) -> bool {
        self.marks.is_some() || self.flow.is_some()
    }

    fn stands_out(&self, packet: &[u8]) -> bool {
        self.marks.is_some_and(|marks| marks.are_in(packet))
            || self
                .flow
                .as_ref()
                .is_some_and(|flow| !flow::has(flow, packet))
    }
}

#[derive(Debug)]
pub struct Ring {
    bytes: VecDeque<u8>,
    limits: Limits,
    chance: Chance,
    /// Packets that have passed, recorded or not.
    passed: u64,
    packets: u64,
    /// Never overwritten.
    found: Vec<Recorded>,
    /// Packets that were overwritten.
    pub forgotten: u64,
}

/// A packet as it was recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recorded {
    /// CLOCK_REALTIME.
    pub at_ns: u64,
    pub length: u32,
    pub bytes: Vec<u8>,
}

impl Ring {
    pub fn new(limits: Limits, chance: Chance) -> Self {
        let mut bytes = VecDeque::new();
        // Pages are touched as packets come: growing while they do would make those behind it late.
        let _ = bytes.try_reserve_exact(limits.ring_bytes);
        Self {
            bytes,
            limits,
            chance,
            passed: 0,
            packets: 0,
            found: Vec::new(),
            forgotten: 0,
        }
    }

    /// Count a packet; returns whether it is of the sample.
    pub fn draws(&mut self) -> bool {
        let number = self.passed;
        self.passed += 1;
        let one_in = u64::from(self.limits.sample_one_in.max(1));
        let draw = self.chance.draw(Purpose::Sample, number);
        number < ALL_OF_THE_FIRST || draw.is_multiple_of(one_in)
    }

    /// Whether it looks at packets that are not of the sample as well.
    pub fn searches(&self) -> bool {
        self.limits.looks() && self.found.len() < ENOUGH_FOUND
    }

    /// Packets that were searched; None if not all that have passed.
    pub fn searched(&self) -> Option<u64> {
        (self.limits.marks.is_some() && self.searches()).then_some(self.passed)
    }

    /// Keep a packet of the sample, or one that stands out.
    pub fn take(&mut self, at_ns: u64, packet: &[u8], drawn: bool) {
        if self.searches() && self.limits.stands_out(packet) {
            self.found.push(Recorded {
                at_ns,
                length: packet.len() as u32,
                bytes: packet.to_vec(),
            });
        } else if drawn {
            self.push(at_ns, packet);
        }
    }

    fn push(&mut self, at_ns: u64, packet: &[u8]) {
        let ring_bytes = self.limits.ring_bytes;
        let kept = &packet[..packet.len().min(self.limits.packet_bytes)];
        let needed = HEAD_BYTES + kept.len();
        if needed > ring_bytes {
            self.forgotten += 1;
            return;
        }
        while self.bytes.len() + needed > ring_bytes {
            let oldest = HEAD_BYTES + self.kept_bytes_at(0);
            self.bytes.drain(..oldest);
            self.packets -= 1;
            self.forgotten += 1;
        }
        self.bytes.extend(at_ns.to_ne_bytes());
        self.bytes.extend((packet.len() as u32).to_ne_bytes());
        self.bytes.extend((kept.len() as u32).to_ne_bytes());
        self.bytes.extend(kept);
        self.packets += 1;
    }

    fn kept_bytes_at(&self, at: usize) -> usize {
        let mut field = [0; 4];
        for (to, from) in field
            .iter_mut()
            .zip(self.bytes.range(at + 12..at + HEAD_BYTES))
        {
            *to = *from;
        }
        u32::from_ne_bytes(field) as usize
    }

    /// From the oldest to the newest, and behind them those that stand out.
    pub fn read(&self) -> Vec<Recorded> {
        let take = |at: usize, bytes: usize| -> Vec<u8> {
            self.bytes.range(at..at + bytes).copied().collect()
        };
        let mut packets = Vec::new();
        let mut at = 0;
        while at < self.bytes.len() {
            let kept = self.kept_bytes_at(at);
            packets.push(Recorded {
                at_ns: u64::from_ne_bytes(take(at, 8).try_into().unwrap_or_default()),
                length: u32::from_ne_bytes(take(at + 8, 4).try_into().unwrap_or_default()),
                bytes: take(at + HEAD_BYTES, kept),
            });
            at += HEAD_BYTES + kept;
        }
        packets.extend(self.found.iter().cloned());
        packets
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ring(ring_bytes: usize, packet_bytes: usize, sample_one_in: u32) -> Ring {
        let limits = Limits {
            ring_bytes,
            packet_bytes,
            sample_one_in,
            marks: None,
            flow: None,
        };
        Ring::new(limits, Chance::new(1, 2))
    }

    proptest! {
        #[test]
        fn the_newest_stay_within_the_limit(
            packets in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..200), 0..100),
            ring_bytes in 0..2000usize, packet_bytes in 1..300usize,
        ) {
            let mut ring = ring(ring_bytes, packet_bytes, 1);
            for (at_ns, packet) in (0u64..).zip(&packets) {
                prop_assert!(ring.draws());
                ring.take(at_ns, packet, true);
                prop_assert!(ring.bytes.len() <= ring_bytes);
            }
            let read = ring.read();
            prop_assert_eq!(read.len() as u64 + ring.forgotten, packets.len() as u64);
            prop_assert_eq!(ring.packets, read.len() as u64);
            for packet in &read {
                let sent = &packets[packet.at_ns as usize];
                prop_assert_eq!(&packet.bytes[..], &sent[..sent.len().min(packet_bytes)]);
                prop_assert_eq!(packet.length as usize, sent.len());
            }
            prop_assert!(read.windows(2).all(|pair| pair[0].at_ns < pair[1].at_ns));
        }
    }

    #[test]
    fn a_sample_is_random_and_of_the_size_asked_for() {
        let mut ring = ring(1, 1, 64);
        assert!((0..ALL_OF_THE_FIRST).all(|_| ring.draws()));
        let wanted: Vec<u32> = (0..64_000).filter(|_| ring.draws()).collect();
        assert!((850..1150).contains(&wanted.len()), "{}", wanted.len());
        let steps: std::collections::BTreeSet<u32> =
            wanted.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(steps.len() > 20, "{steps:?}");
    }

    #[test]
    fn packets_with_marks_are_kept_whole_until_there_are_enough() {
        let mut ring = Ring::new(
            Limits {
                ring_bytes: 1000,
                packet_bytes: 10,
                sample_one_in: 64,
                marks: Some(Marks {
                    mask: 0xf0,
                    bits: 0xa0,
                }),
                flow: None,
            },
            Chance::new(1, 2),
        );
        let mut pass = |at_ns: u64, packet: &[u8]| {
            let drawn = ring.draws();
            ring.take(at_ns, packet, drawn);
            (ring.searched(), ring.read())
        };
        let clear = [[0; 500], [0xa5; 500]].concat();
        for at_ns in 0..5000 {
            pass(at_ns, if at_ns == 700 { &clear } else { &[7; 60] });
        }
        let (searched, kept) = pass(5000, &[7; 60]);
        assert_eq!(searched, Some(5001));
        assert_eq!(
            kept.last().map(|one| (one.at_ns, &one.bytes)),
            Some((700, &clear))
        );
        assert!(kept.len() < 41);
        for at_ns in 0..2 * ENOUGH_FOUND as u64 {
            pass(at_ns, &clear);
        }
        assert_eq!(ring.searched(), None);
        assert_eq!(ring.found.len(), ENOUGH_FOUND);
    }

    #[test]
    fn packets_that_are_not_of_the_flow_are_kept_whatever_the_sample() {
        let mut ring = Ring::new(
            Limits {
                ring_bytes: 100_000,
                packet_bytes: 10,
                sample_one_in: 64,
                marks: None,
                flow: Some(vec![Protocol {
                    protocol: 17,
                    ports: vec![51820],
                }]),
            },
            Chance::new(1, 2),
        );
        let packet = |port: u16| {
            let head = [&[0; 12][..], &[8, 0, 0x45, 0, 0, 60, 0, 0, 0, 0, 64, 17]].concat();
            [head, vec![0; 10], port.to_be_bytes().to_vec(), vec![0; 40]].concat()
        };
        for at_ns in 0..5000 {
            let drawn = ring.draws();
            let port = if at_ns % 1000 == 700 { 53 } else { 51820 };
            ring.take(at_ns, &packet(port), drawn);
        }
        let times: Vec<u64> = ring.found.iter().map(|one| one.at_ns).collect();
        assert_eq!(times, [700, 1700, 2700, 3700, 4700]);
        assert_eq!(ring.found[0].bytes, packet(53));
        assert_eq!(ring.searched(), None);
    }
}
