//! How far packets were reordered: RFC 4737, section 4.2.1.

use serde::Serialize;
use std::collections::VecDeque;

/// Places where numbers were skipped that are remembered.
const REMEMBERED: usize = 1 << 16;
/// Classes of extents; the last holds all that are longer.
const CLASSES: usize = 32;

/// The reordering extent of a packet is how many packets before it the first one arrived that has a
/// higher number. That one skipped over it, so only those that skip need be remembered.
#[derive(Debug, Clone, Default)]
pub struct Extents {
    /// Number and place (how many distinct packets had come, itself included), both rising.
    skips: VecDeque<(u64, u64)>,
    forgotten: bool,
    count: u64,
    sum: u64,
    longest: u64,
    /// Extents of 1, of 2 to 3, of 4 to 7, ...
    doubling: [u64; CLASSES],
    unknown: u64,
}

/// `extents` are pairs of the least extent of a class, which doubles, and the packets in it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Reordering {
    pub extent_mean: Option<f64>,
    pub extent_max: u64,
    pub extents: Vec<(u64, u64)>,
    /// Packets so late that their extent is not known.
    pub extent_unknown: u64,
}

impl Extents {
    /// Packet `number`, the `place`-th to come, left out those before it.
    pub fn skipped(&mut self, number: u64, place: u64) {
        if self.skips.len() == REMEMBERED {
            self.skips.pop_front();
            self.forgotten = true;
        }
        self.skips.push_back((number, place));
    }

    /// Packet `number`, the `place`-th to come, has come behind a higher one.
    pub fn reordered(&mut self, number: u64, place: u64) {
        let index = self.skips.partition_point(|(skip, _)| *skip < number);
        let skip = self.skips.get(index);
        // The first one remembered may not have been the first that was higher.
        let Some((_, first)) = skip.filter(|_| index > 0 || !self.forgotten) else {
            self.unknown += 1;
            return;
        };
        let extent = place - first;
        self.count += 1;
        self.sum += extent;
        self.longest = self.longest.max(extent);
        self.doubling[(extent.max(1).ilog2() as usize).min(CLASSES - 1)] += 1;
    }

    pub fn add(&mut self, other: &Extents) {
        self.count += other.count;
        self.sum += other.sum;
        self.longest = self.longest.max(other.longest);
        self.unknown += other.unknown;
        for (mine, theirs) in self.doubling.iter_mut().zip(&other.doubling) {
            *mine += theirs;
        }
    }

    pub fn summary(&self) -> Reordering {
        let classes = self.doubling.iter().enumerate();
        let filled = classes.filter(|(_, count)| **count > 0);
        Reordering {
            extent_mean: (self.count > 0).then(|| self.sum as f64 / self.count as f64),
            extent_max: self.longest,
            extents: filled.map(|(power, count)| (1 << power, *count)).collect(),
            extent_unknown: self.unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::results::sequence::Sequence;
    use proptest::prelude::*;

    fn extents(numbers: &[u64]) -> Sequence {
        let mut sequence = Sequence::default();
        for &number in numbers {
            sequence.record(number);
        }
        sequence
    }

    #[test]
    fn one_late_packet_and_a_late_block() {
        // Packet 4 arrives behind 5, 6, 7 and 8.
        let late = extents(&[1, 2, 3, 5, 6, 7, 8, 4, 9, 10]).extents.summary();
        assert_eq!((late.extent_max, late.extents), (4, vec![(4, 1)]));
        // 7 came first of those above 4, 5 and 6: they are 3, 4 and 5 behind it.
        let block = extents(&[1, 2, 3, 7, 8, 9, 4, 5, 6, 10]).extents.summary();
        assert_eq!(block.extent_max, 5);
        assert_eq!(block.extent_mean, Some(4.0));
    }

    proptest! {
        #[test]
        fn agrees_with_the_definition(numbers in prop::collection::vec(0_u64..60, 0..120)) {
            let mut come: Vec<u64> = Vec::new();
            let (mut longest, mut sum) = (0, 0);
            for &number in &numbers {
                if come.contains(&number) {
                    continue;
                }
                if let Some(first) = come.iter().position(|&other| other > number) {
                    let extent = (come.len() - first) as u64;
                    longest = longest.max(extent);
                    sum += extent;
                }
                come.push(number);
            }
            let sequence = extents(&numbers);
            prop_assert_eq!(sequence.extents.summary().extent_max, longest);
            prop_assert_eq!(sequence.extents.sum, sum);
            prop_assert_eq!(sequence.extents.unknown, 0);
            prop_assert_eq!(sequence.extents.count, sequence.reordered);
        }
    }
}
