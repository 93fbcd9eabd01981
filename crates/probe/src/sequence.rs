//! What became of numbered packets: lost, duplicated, reordered.

/// Packets further behind the newest than this can't be told from duplicates.
const WINDOW: u64 = 1 << 20;
const WORDS: usize = (WINDOW / 64) as usize;

/// What the arrival of a packet means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrival {
    InOrder,
    /// RFC 4737: its number is below one that came before.
    Reordered,
    Duplicate,
    /// So far behind that it can't be told whether it was seen.
    TooOld,
}

/// Accounts for numbers from 0, in constant memory.
pub struct Sequence {
    seen: Box<[u64]>,
    next: u64,
    pub distinct: u64,
    pub duplicates: u64,
    pub reordered: u64,
    pub too_old: u64,
}

impl Default for Sequence {
    fn default() -> Sequence {
        Sequence {
            seen: vec![0; WORDS].into_boxed_slice(),
            next: 0,
            distinct: 0,
            duplicates: 0,
            reordered: 0,
            too_old: 0,
        }
    }
}

impl Sequence {
    pub fn record(&mut self, number: u64) -> Arrival {
        if number >= self.next {
            self.advance(number);
            self.set(number);
            self.distinct += 1;
            return Arrival::InOrder;
        }
        if self.next - number > WINDOW {
            self.too_old += 1;
            return Arrival::TooOld;
        }
        if self.is_set(number) {
            self.duplicates += 1;
            return Arrival::Duplicate;
        }
        self.set(number);
        self.distinct += 1;
        self.reordered += 1;
        Arrival::Reordered
    }

    /// The highest number that came.
    pub fn highest(&self) -> Option<u64> {
        self.next.checked_sub(1)
    }

    /// Numbers up to the highest that never came. What was lost behind it only the sender knows.
    pub fn lost(&self) -> u64 {
        self.next.saturating_sub(self.distinct + self.too_old)
    }

    fn advance(&mut self, number: u64) {
        let skipped = number - self.next;
        if skipped >= WINDOW {
            self.seen.fill(0);
        } else {
            for skipped in self.next..number {
                self.clear(skipped);
            }
        }
        self.next = number.saturating_add(1);
    }

    fn slot(number: u64) -> (usize, u64) {
        let index = number % WINDOW;
        ((index / 64) as usize, 1 << (index % 64))
    }

    fn is_set(&self, number: u64) -> bool {
        let (word, bit) = Sequence::slot(number);
        self.seen[word] & bit != 0
    }

    fn set(&mut self, number: u64) {
        let (word, bit) = Sequence::slot(number);
        self.seen[word] |= bit;
    }

    fn clear(&mut self, number: u64) {
        let (word, bit) = Sequence::slot(number);
        self.seen[word] &= !bit;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashSet;

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
            prop_assert_eq!(sequence.highest(), highest);
            prop_assert_eq!(sequence.distinct, distinct);
            prop_assert_eq!(sequence.duplicates, numbers.len() as u64 - distinct);
            prop_assert_eq!(sequence.reordered, reordered);
            prop_assert_eq!(sequence.lost(), highest.map_or(0, |h| h + 1) - distinct);
        }

        #[test]
        fn survives_any_number(numbers: Vec<u64>) {
            let mut sequence = Sequence::default();
            for number in numbers {
                sequence.record(number);
            }
            sequence.lost();
        }
    }

    #[test]
    fn exactly_the_lost_are_lost_over_many_windows() {
        let mut sequence = Sequence::default();
        let total = 3 * WINDOW + 17;
        for number in (0..total).filter(|number| number % 1000 != 7) {
            sequence.record(number);
        }
        assert_eq!(sequence.lost(), (total - 8) / 1000 + 1);
        assert_eq!(
            sequence.reordered + sequence.duplicates + sequence.too_old,
            0
        );
    }

    #[test]
    fn far_behind_is_too_old() {
        let mut sequence = Sequence::default();
        sequence.record(2 * WINDOW);
        assert_eq!(sequence.record(5), Arrival::TooOld);
        assert_eq!(sequence.record(2 * WINDOW - 5), Arrival::Reordered);
    }
}
