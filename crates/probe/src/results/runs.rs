//! Runs of lost packets: how long they are, and how many there are of each length.

use serde::Serialize;
use std::collections::BTreeMap;

/// Different lengths that are kept; a longer run then counts as the power of two below it.
const MAX_LENGTHS: usize = 10_000;

#[derive(Debug, Clone, Default)]
pub struct Runs {
    current: u64,
    lengths: BTreeMap<u64, u64>,
}

/// `lengths` are pairs of a length in packets and the number of runs of that length.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LossRuns {
    pub runs: u64,
    pub longest: u64,
    pub mean: Option<f64>,
    pub lengths: Vec<(u64, u64)>,
}

impl Runs {
    /// The next 64 packets: a set bit is one that came, the lowest first.
    pub fn word(&mut self, seen: u64) {
        if seen == u64::MAX && self.current == 0 {
            return;
        }
        let mut rest = seen;
        let mut left = 64;
        while left > 0 {
            let missing = rest.trailing_zeros().min(left);
            self.current = self.current.saturating_add(u64::from(missing));
            left -= missing;
            if left == 0 {
                return;
            }
            self.end();
            rest >>= missing;
            let came = rest.trailing_ones().min(left);
            left -= came;
            // A shift by all 64 bits would be none.
            rest = rest.checked_shr(came).unwrap_or(0);
        }
    }

    /// The next `count` packets never came.
    pub fn missing(&mut self, count: u64) {
        self.current = self.current.saturating_add(count);
    }

    /// A packet came, or there are no more.
    pub fn end(&mut self) {
        if self.current > 0 {
            let known =
                self.lengths.len() < MAX_LENGTHS || self.lengths.contains_key(&self.current);
            let length = if known {
                self.current
            } else {
                1 << self.current.ilog2()
            };
            *self.lengths.entry(length).or_default() += 1;
            self.current = 0;
        }
    }

    pub fn lengths(&self) -> &BTreeMap<u64, u64> {
        &self.lengths
    }

    pub fn add(&mut self, other: &Runs) {
        for (length, count) in &other.lengths {
            *self.lengths.entry(*length).or_default() += count;
        }
    }

    pub fn summary(&self) -> LossRuns {
        let runs: u64 = self.lengths.values().sum();
        let lost: f64 = self
            .lengths
            .iter()
            .map(|(l, n)| *l as f64 * *n as f64)
            .sum();
        LossRuns {
            runs,
            longest: self
                .lengths
                .last_key_value()
                .map_or(0, |(length, _)| *length),
            mean: (runs > 0).then(|| lost / runs as f64),
            lengths: self.lengths.iter().map(|(l, n)| (*l, *n)).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn words_agree_with_bits(words in prop::collection::vec(any::<u64>(), 0..8)) {
            let mut by_word = Runs::default();
            let mut by_bit = Runs::default();
            for word in words {
                by_word.word(word);
                for bit in 0..64 {
                    if word >> bit & 1 == 1 {
                        by_bit.end();
                    } else {
                        by_bit.missing(1);
                    }
                }
            }
            by_word.end();
            by_bit.end();
            prop_assert_eq!(by_word.summary(), by_bit.summary());
        }
    }

    #[test]
    fn runs_go_over_the_ends_of_words() {
        let mut runs = Runs::default();
        runs.word(u64::MAX >> 1);
        runs.word(0);
        runs.word(u64::MAX);
        assert_eq!(runs.summary().lengths, [(65, 1)]);
        assert_eq!(runs.summary().mean, Some(65.0));
    }
}
