//! The fate of numbered packets: lost, duplicated, reordered.

use crate::results::extent::Extents;
use crate::results::runs::Runs;

/// Packets further behind the newest than this cannot be distinguished from duplicates.
const WINDOW: u64 = 1 << 20;
const WORD: u64 = 64;
const WORDS: u64 = WINDOW / WORD;
const ALL: u64 = u64::MAX;

/// The classification of an arriving packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrival {
    InOrder,
    /// In order, but numbers in front of it are missing so far.
    Skipping,
    /// RFC 4737: its number is below one that came before.
    Reordered,
    Duplicate,
    /// So far behind that it is unknown whether it was seen.
    TooOld,
}

/// Accounts for numbers from 0, in constant memory.
pub struct Sequence {
    seen: Box<[u64]>,
    /// The first word that `seen` holds; what lies before it is settled.
    base: u64,
    next: u64,
    pub distinct: u64,
    pub duplicates: u64,
    pub reordered: u64,
    pub too_old: u64,
    pub extents: Extents,
    losses: Runs,
}

impl Default for Sequence {
    fn default() -> Sequence {
        Sequence {
            seen: vec![0; WORDS as usize].into_boxed_slice(),
            base: 0,
            next: 0,
            distinct: 0,
            duplicates: 0,
            reordered: 0,
            too_old: 0,
            extents: Extents::default(),
            losses: Runs::default(),
        }
    }
}

impl Sequence {
    pub fn record(&mut self, number: u64) -> Arrival {
        let word = number / WORD;
        if word < self.base {
            self.too_old += 1;
            return Arrival::TooOld;
        }
        if word - self.base >= WORDS {
            self.slide(word + 1 - WORDS);
        }
        let slot = (word % WORDS) as usize;
        let bit = 1 << (number % WORD);
        if self.seen[slot] & bit != 0 {
            self.duplicates += 1;
            return Arrival::Duplicate;
        }
        self.seen[slot] |= bit;
        self.distinct += 1;
        if number < self.next {
            self.reordered += 1;
            self.extents.reordered(number, self.distinct);
            return Arrival::Reordered;
        }
        let skipping = number > self.next;
        if skipping {
            self.extents.skipped(number, self.distinct);
        }
        self.next = number.saturating_add(1);
        if skipping {
            Arrival::Skipping
        } else {
            Arrival::InOrder
        }
    }

    /// The highest number that came.
    pub fn highest(&self) -> Option<u64> {
        self.next.checked_sub(1)
    }

    /// Numbers up to the highest that never came. What was lost behind it only the sender knows.
    pub fn lost(&self) -> u64 {
        self.next.saturating_sub(self.distinct + self.too_old)
    }

    /// Runs of lost numbers up to the highest that came; those that came too late to be identified
    /// are among them.
    pub fn loss_runs(&self) -> Runs {
        let mut losses = self.losses.clone();
        let last = self.next / WORD;
        for word in self.base..last {
            losses.word(self.seen[(word % WORDS) as usize]);
        }
        let rest = self.next % WORD;
        if last >= self.base && rest > 0 {
            // What was not sent yet is not lost.
            losses.word(self.seen[(last % WORDS) as usize] | ALL << rest);
        }
        losses.end();
        losses
    }

    /// Settles and forgets the words before `base`.
    fn slide(&mut self, base: u64) {
        for word in self.base..base.min(self.base + WORDS) {
            let slot = (word % WORDS) as usize;
            self.losses.word(self.seen[slot]);
            self.seen[slot] = 0;
        }
        let skipped = base.saturating_sub(self.base + WORDS);
        self.losses.missing(skipped.saturating_mul(WORD));
        self.base = base;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::{BTreeMap, HashSet};

    proptest! {
        #[test]
        fn agrees_with_a_set(numbers in prop::collection::vec(0_u64..200, 0..400)) {
            let mut sequence = Sequence::default();
            let mut set = HashSet::new();
            let mut reordered = 0;
            let mut highest = None;
            for &number in &numbers {
                let new = set.insert(number);
                let late = highest.is_some_and(|highest| number < highest);
                reordered += u64::from(new && late);
                highest = highest.max(Some(number));
                let arrival = sequence.record(number);
                prop_assert_eq!(arrival == Arrival::Duplicate, !new);
            }
            let distinct = set.len() as u64;
            let end = highest.map_or(0, |h| h + 1);
            prop_assert_eq!(sequence.highest(), highest);
            prop_assert_eq!(sequence.distinct, distinct);
            prop_assert_eq!(sequence.duplicates, numbers.len() as u64 - distinct);
            prop_assert_eq!(sequence.reordered, reordered);
            prop_assert_eq!(sequence.lost(), end - distinct);
            let mut runs = BTreeMap::new();
            let mut run = 0;
            for number in 0..=end {
                if number < end && !set.contains(&number) {
                    run += 1;
                } else if run > 0 {
                    *runs.entry(run).or_insert(0) += 1;
                    run = 0;
                }
            }
            let losses = sequence.loss_runs();
            prop_assert_eq!(losses.lengths(), &runs);
        }

        #[test]
        fn survives_any_number(numbers: Vec<u64>) {
            let mut sequence = Sequence::default();
            for number in numbers {
                sequence.record(number);
            }
            sequence.lost();
            sequence.loss_runs();
        }
    }

    #[test]
    fn exactly_the_lost_are_lost_over_many_windows() {
        let mut sequence = Sequence::default();
        let total = 5 * WINDOW;
        for number in (0..total).filter(|number| number % 1000 != 7) {
            sequence.record(number);
        }
        let lost = (total - 8) / 1000 + 1;
        assert_eq!(sequence.lost(), lost);
        assert_eq!(sequence.loss_runs().lengths(), &BTreeMap::from([(1, lost)]));
        assert_eq!(
            sequence.reordered + sequence.duplicates + sequence.too_old,
            0
        );
    }

    #[test]
    fn a_gap_longer_than_the_window_is_one_run() {
        let mut sequence = Sequence::default();
        sequence.record(0);
        sequence.record(3 * WINDOW + 10);
        let runs = BTreeMap::from([(3 * WINDOW + 9, 1)]);
        assert_eq!(sequence.loss_runs().lengths(), &runs);
    }

    #[test]
    fn far_behind_is_too_old() {
        let mut sequence = Sequence::default();
        sequence.record(2 * WINDOW);
        assert_eq!(sequence.record(5), Arrival::TooOld);
        assert_eq!(sequence.record(2 * WINDOW - 5), Arrival::Reordered);
    }
}
