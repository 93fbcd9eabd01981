//! Jitter: the random difference of a packet's delay from the fixed delay.

use std::f64::consts::TAU;
use std::sync::Arc;

use crate::schedule::chance::{Chance, Purpose};

/// A distribution of what is added to the delay; the sum is never less than nothing.
#[derive(Debug, Clone, PartialEq)]
pub enum Jitter {
    /// From `-spread_ns` to `+spread_ns`.
    Uniform { spread_ns: u64 },
    /// Standard deviation `spread_ns`, cut at four of them so that memory is bounded.
    Normal { spread_ns: u64 },
    /// Only ever longer: Lomax with shape 3 and mean `spread_ns`, cut at 20 times that, which one
    /// packet in 1331 reaches.
    Pareto { spread_ns: u64 },
    /// One of these, each as likely as the others; a delay that was measured.
    Empirical(Arc<[u64]>),
}

const PARETO_SHAPE: f64 = 3.0;
const PARETO_CUT: f64 = 20.0;
const NORMAL_CUT: f64 = 4.0;

impl Jitter {
    /// What the packet's delay becomes.
    pub fn apply(&self, chance: &Chance, purpose: Purpose, number: u64, delay_ns: u64) -> u64 {
        let draw = chance.uniform(purpose, number);
        let extra_ns = match self {
            Self::Uniform { spread_ns } => (2.0 * draw - 1.0) * *spread_ns as f64,
            Self::Normal { spread_ns } => {
                // Box and Muller 1958; 1 - draw is never 0
                let angle = TAU * chance.uniform(Purpose::JitterAngle, number ^ purpose as u64);
                let normal = (-2.0 * (1.0 - draw).ln()).sqrt() * angle.cos();
                normal.clamp(-NORMAL_CUT, NORMAL_CUT) * *spread_ns as f64
            }
            Self::Pareto { spread_ns } => {
                let scale = PARETO_SHAPE - 1.0; // which makes the mean 1
                let lomax = scale * ((1.0 - draw).powf(-1.0 / PARETO_SHAPE) - 1.0);
                lomax.min(PARETO_CUT) * *spread_ns as f64
            }
            Self::Empirical(values) => {
                let index = (draw * values.len() as f64) as usize;
                return delay_ns.saturating_add(values.get(index).copied().unwrap_or(0));
            }
        };
        delay_ns.saturating_add_signed(extra_ns.round() as i64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DELAY_NS: u64 = 1_000_000_000;

    /// Mean and standard deviation of what is added, over a million packets.
    fn moments(jitter: &Jitter) -> (f64, f64) {
        let chance = Chance::new(3, 0);
        let extra: Vec<f64> = (0..1_000_000)
            .map(|n| jitter.apply(&chance, Purpose::Jitter, n, DELAY_NS) as f64 - DELAY_NS as f64)
            .collect();
        let mean = extra.iter().sum::<f64>() / extra.len() as f64;
        let variance =
            extra.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / extra.len() as f64;
        (mean, variance.sqrt())
    }

    #[test]
    fn uniform_is_as_wide_as_asked() {
        let (mean, deviation) = moments(&Jitter::Uniform {
            spread_ns: 1_000_000,
        });
        assert!(mean.abs() < 3_000.0, "{mean}");
        assert!((deviation - 577_350.0).abs() < 2_000.0, "{deviation}");
    }

    #[test]
    fn normal_has_the_deviation_asked() {
        let (mean, deviation) = moments(&Jitter::Normal {
            spread_ns: 1_000_000,
        });
        assert!(mean.abs() < 5_000.0, "{mean}");
        assert!((deviation - 1e6).abs() < 5_000.0, "{deviation}");
    }

    #[test]
    fn pareto_only_adds_and_has_the_mean_asked() {
        let jitter = Jitter::Pareto {
            spread_ns: 1_000_000,
        };
        let chance = Chance::new(3, 0);
        let at_least =
            (0..100_000).all(|n| jitter.apply(&chance, Purpose::Jitter, n, DELAY_NS) >= DELAY_NS);
        assert!(at_least);
        // the cut takes (1 + 20/2)^-2 / 1 = 0.8 % of the mean
        let (mean, _) = moments(&jitter);
        assert!((mean - 0.992e6).abs() < 10_000.0, "{mean}");
    }

    #[test]
    fn empirical_gives_each_value_its_share() {
        let jitter = Jitter::Empirical([1, 2, 3, 1000].as_slice().into());
        let chance = Chance::new(3, 0);
        let hits = (0..100_000)
            .filter(|n| jitter.apply(&chance, Purpose::Jitter, *n, 0) == 1000)
            .count() as f64;
        // sigma 137
        assert!((hits - 25_000.0).abs() < 700.0, "{hits}");
    }

    #[test]
    fn a_delay_is_never_negative() {
        let chance = Chance::new(3, 0);
        for jitter in [
            Jitter::Uniform {
                spread_ns: u64::MAX,
            },
            Jitter::Normal {
                spread_ns: u64::MAX,
            },
            Jitter::Pareto {
                spread_ns: u64::MAX,
            },
        ] {
            for number in 0..1000 {
                // saturating: neither wraps nor panics
                let _ = jitter.apply(&chance, Purpose::Jitter, number, 5);
            }
        }
        let small = Jitter::Uniform { spread_ns: 1000 };
        assert!((0..1000).any(|n| small.apply(&chance, Purpose::Jitter, n, 10) == 0));
    }
}
