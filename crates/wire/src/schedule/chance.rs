//! Random draws that depend on the seed and a packet's number only, never on time or order.
//!
//! Repeated runs lose the same packets, and one direction or impairment does not change the draws
//! of another.

use std::str::FromStr;

/// A probability between 0 and 1, both included.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Probability(f64);

impl Probability {
    pub const NEVER: Self = Self(0.0);

    pub fn new(value: f64) -> Option<Self> {
        (0.0..=1.0).contains(&value).then_some(Self(value))
    }

    pub fn value(self) -> f64 {
        self.0
    }
}

impl FromStr for Probability {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        text.parse()
            .ok()
            .and_then(Self::new)
            .ok_or_else(|| "a probability is a number from 0 to 1".to_string())
    }
}

/// The purpose of a draw: each purpose has its own draws.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    Loss = 1,
    LossState = 2,
    CopyLoss = 3,
    Jitter = 4,
    CopyJitter = 5,
    JitterAngle = 6,
    Reorder = 7,
    Duplicate = 8,
    Corrupt = 9,
    CorruptBit = 10,
    CopyCorrupt = 11,
    CopyCorruptBit = 12,
    CopyReorder = 13,
}

/// Draws for the packets of one direction.
#[derive(Debug, Clone, Copy)]
pub struct Chance {
    seed: u64,
}

impl Chance {
    /// `stream` distinguishes users of the same seed: directions, cables.
    pub fn new(seed: u64, stream: u64) -> Self {
        Self {
            seed: mix(seed ^ mix(stream)),
        }
    }

    /// Whether an event of this probability happens to the packet of this number.
    pub fn happens(&self, purpose: Purpose, number: u64, probability: Probability) -> bool {
        // most impairments are off: no draw is needed to know that nothing happens
        probability.0 > 0.0 && self.uniform(purpose, number) < probability.0
    }

    /// From 0 (included) to 1 (excluded).
    pub fn uniform(&self, purpose: Purpose, number: u64) -> f64 {
        // 53 bits are what an f64 holds exactly, so that 0 is never and 1 is always.
        (self.draw(purpose, number) >> 11) as f64 / (1u64 << 53) as f64
    }

    pub fn draw(&self, purpose: Purpose, number: u64) -> u64 {
        mix(mix(self.seed ^ purpose as u64).wrapping_add(number.wrapping_mul(GOLDEN)))
    }
}

const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// The output function of SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number
/// Generators, OOPSLA 2014): each input bit changes each output bit with probability one half.
fn mix(value: u64) -> u64 {
    let mut z = value.wrapping_add(GOLDEN);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lost(seed: u64, stream: u64, probability: f64, packets: u64) -> Vec<u64> {
        let chance = Chance::new(seed, stream);
        let probability = Probability::new(probability).expect("a probability");
        (0..packets)
            .filter(|&number| chance.happens(Purpose::Loss, number, probability))
            .collect()
    }

    #[test]
    fn one_percent_of_a_million_is_within_the_interval() {
        for seed in 0..8 {
            let losses = lost(seed, 0, 0.01, 1_000_000).len() as f64;
            // eight draws of n = 1e6, p = 0.01 (sigma 99.5) within 4 sigma: p = 0.9995
            assert!((losses - 10_000.0).abs() < 398.0, "seed {seed}: {losses}");
        }
    }

    #[test]
    fn losses_are_independent_of_their_neighbours() {
        // P(lost | the one before was lost) is the loss itself: n = 1e5 conditions at 10 %
        let losses = lost(7, 0, 0.1, 1_000_000);
        let pairs = losses
            .windows(2)
            .filter(|pair| pair[1] == pair[0] + 1)
            .count() as f64;
        assert!((pairs / losses.len() as f64 - 0.1).abs() < 0.005, "{pairs}");
    }

    #[test]
    fn the_same_seed_loses_the_same_packets_and_another_does_not() {
        assert_eq!(lost(1, 0, 0.5, 1000), lost(1, 0, 0.5, 1000));
        assert_ne!(lost(1, 0, 0.5, 1000), lost(2, 0, 0.5, 1000));
        assert_ne!(lost(1, 0, 0.5, 1000), lost(1, 1, 0.5, 1000));
    }

    #[test]
    fn the_draws_are_pinned() {
        // published results name a seed: these numbers may never change
        assert_eq!(lost(42, 0, 0.05, 100), [28, 30, 40, 71, 92, 94]);
    }

    #[test]
    fn zero_is_never_and_one_is_always() {
        assert!(lost(3, 0, 0.0, 10_000).is_empty());
        assert_eq!(lost(3, 0, 1.0, 10_000).len(), 10_000);
    }

    #[test]
    fn what_is_no_probability() {
        for text in ["-0.1", "1.1", "nan", "inf", "", "1%", "0x1"] {
            assert!(text.parse::<Probability>().is_err(), "{text}");
        }
        assert_eq!("0.01".parse(), Ok(Probability(0.01)));
    }
}
