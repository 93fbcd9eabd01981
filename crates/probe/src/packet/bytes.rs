//! Randomness of bytes: encrypted bytes cannot be distinguished from noise.

use serde::Serialize;

/// Enough to tell 7.99 bits per byte from 8, and cheap enough to count beside a measurement.
const ENOUGH: u64 = 4 << 20;

/// Counts of each value of a byte, up to 4 MiB of them.
pub struct ByteCounts {
    counts: [u64; 256],
    total: u64,
}

/// `chi2` has 255 degrees of freedom: 255 is expected of noise, more than 330 once in a thousand.
#[derive(Debug, Serialize)]
pub struct Randomness {
    pub bytes: u64,
    pub bits_per_byte: f64,
    pub chi2: f64,
}

impl Default for ByteCounts {
    fn default() -> ByteCounts {
        ByteCounts {
            counts: [0; 256],
            total: 0,
        }
    }
}

impl ByteCounts {
    pub fn add(&mut self, bytes: &[u8]) {
        if self.total >= ENOUGH {
            return;
        }
        for &byte in bytes {
            self.counts[usize::from(byte)] += 1;
        }
        self.total += bytes.len() as u64;
    }

    /// Shannon's entropy of the counts, and Pearson's test of their being equal; None of nothing.
    pub fn randomness(&self) -> Option<Randomness> {
        if self.total == 0 {
            return None;
        }
        let total = self.total as f64;
        let expected = total / 256.0;
        let mut bits_per_byte = 0.0;
        let mut chi2 = 0.0;
        for &count in &self.counts {
            let count = count as f64;
            if count > 0.0 {
                bits_per_byte -= count / total * (count / total).log2();
            }
            chi2 += (count - expected).powi(2) / expected;
        }
        Some(Randomness {
            bytes: self.total,
            bits_per_byte,
            chi2,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn entropy_is_within_its_bounds(bytes in prop::collection::vec(any::<u8>(), 1..2000)) {
            let mut counts = ByteCounts::default();
            counts.add(&bytes);
            let randomness = counts.randomness().unwrap();
            prop_assert!((-1e-9..=8.0 + 1e-9).contains(&randomness.bits_per_byte));
            prop_assert!(randomness.chi2 >= 0.0);
        }
    }

    #[test]
    fn known_distributions() {
        let mut even = ByteCounts::default();
        even.add(&(0..=255).collect::<Vec<u8>>());
        let even = even.randomness().unwrap();
        assert_eq!((even.bits_per_byte, even.chi2), (8.0, 0.0));
        let mut same = ByteCounts::default();
        same.add(&[65; 256]);
        let same = same.randomness().unwrap();
        assert_eq!((same.bits_per_byte, same.chi2), (0.0, 255.0 * 256.0));
        assert!(ByteCounts::default().randomness().is_none());
    }
}
