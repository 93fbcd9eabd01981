//! When packets of a stream are due: evenly, at random, or many at once. Pure.

use crate::protocol::values::Rate;
use crate::timing::frames::Frames;
use crate::timing::random;
use crate::timing::schedule::Schedule;
use serde::{Deserialize, Serialize};

/// How the times of arrival at the path are spread. The mean rate is the same in each.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Arrivals {
    #[default]
    Constant,
    /// Exponential gaps from the seed.
    Poisson,
    /// `burst` packets at once, then a pause.
    Burst,
}

/// What spreads the packets of one stream.
#[derive(Debug, Clone, Copy)]
pub struct Spread {
    pub arrivals: Arrivals,
    pub rate: Rate,
    /// Packets at once; for [`Arrivals::Burst`].
    pub burst: u64,
    pub seed: u64,
}

/// The due times of a stream, one after another. They never go back.
#[derive(Debug, Clone)]
pub struct Pace {
    spread: Spread,
    even: Schedule,
    number: u64,
    due_ns: u64,
    /// Exact, in ns since the start; for [`Arrivals::Poisson`].
    elapsed_ns: f64,
    start_ns: u64,
    random: u64,
    /// Their times instead of the spread's.
    frames: Option<Frames>,
}

impl Pace {
    pub fn new(start_ns: u64, spread: Spread) -> Pace {
        Pace {
            spread,
            even: Schedule::new(start_ns, spread.rate),
            number: 0,
            due_ns: start_ns,
            elapsed_ns: 0.0,
            start_ns,
            random: spread.seed,
            frames: None,
        }
    }

    /// The packets of frames, each within its frame's time.
    pub fn framed(start_ns: u64, frames: Frames) -> Pace {
        let spread = Spread {
            arrivals: Arrivals::Constant,
            rate: frames.mean_rate(),
            burst: 1,
            seed: 0,
        };
        Pace {
            frames: Some(frames),
            ..Pace::new(start_ns, spread)
        }
    }

    /// When the next packet is due.
    pub fn due_ns(&self) -> u64 {
        self.due_ns
    }

    /// The next packet has been dealt with.
    pub fn step(&mut self) {
        self.number += 1;
        if let Some(frames) = &self.frames {
            self.due_ns = frames.due_ns(self.start_ns, self.number);
            return;
        }
        self.due_ns = match self.spread.arrivals {
            Arrivals::Constant => self.even.time_ns(self.number),
            Arrivals::Burst => {
                let burst = self.spread.burst.max(1);
                self.even.time_ns(self.number / burst * burst)
            }
            Arrivals::Poisson => {
                self.elapsed_ns += self.exponential() * 1e9 / self.spread.rate.per_second();
                self.start_ns.saturating_add(self.elapsed_ns as u64)
            }
        };
    }

    /// How many packets are due before `end_ns`, those dealt with included.
    pub fn count_before(mut self, end_ns: u64) -> u64 {
        if self.spread.arrivals == Arrivals::Constant && self.frames.is_none() {
            return self.even.count_before(end_ns).max(self.number);
        }
        while self.due_ns < end_ns {
            self.step();
        }
        self.number
    }

    /// A random number with mean 1.
    fn exponential(&mut self) -> f64 {
        // The upper 53 bits make a fraction in (0, 1].
        let fraction = ((random::next(&mut self.random) >> 11) + 1) as f64 / (1_u64 << 53) as f64;
        -fraction.ln()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SECOND_NS: u64 = 1_000_000_000;

    fn pace(arrivals: Arrivals, rate: f64, burst: u64, seed: u64) -> Pace {
        let rate = Rate::new(rate).unwrap();
        let spread = Spread {
            arrivals,
            rate,
            burst,
            seed,
        };
        Pace::new(7, spread)
    }

    fn times(mut pace: Pace, count: usize) -> Vec<u64> {
        let mut times = Vec::new();
        for _ in 0..count {
            times.push(pace.due_ns());
            pace.step();
        }
        times
    }

    #[test]
    fn the_mean_rate_is_kept_by_all() {
        for arrivals in [Arrivals::Constant, Arrivals::Burst, Arrivals::Poisson] {
            let count = pace(arrivals, 1e5, 8, 1).count_before(7 + SECOND_NS);
            // Of a Poisson process the deviation is 316; five of them.
            assert!(count.abs_diff(100_000) < 1600, "{arrivals:?}: {count}");
        }
    }

    #[test]
    fn bursts_are_due_together() {
        let times = times(pace(Arrivals::Burst, 1000.0, 4, 0), 9);
        assert_eq!(times[..4], [7; 4]);
        assert_eq!(times[4..8], [7 + 4_000_000; 4]);
        assert_eq!(times[8], 7 + 8_000_000);
    }

    #[test]
    fn gaps_of_poisson_have_the_deviation_of_their_mean() {
        let times = times(pace(Arrivals::Poisson, 1e6, 1, 3), 100_000);
        let gaps: Vec<f64> = times.windows(2).map(|w| (w[1] - w[0]) as f64).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let squares = gaps.iter().map(|gap| (gap - mean).powi(2));
        let deviation = (squares.sum::<f64>() / gaps.len() as f64).sqrt();
        assert!((deviation / mean - 1.0).abs() < 0.03, "{deviation} {mean}");
    }

    proptest! {
        #[test]
        fn times_never_go_back_and_seeds_repeat(seed: u64, burst in 1_u64..20, rate in 1.0_f64..1e7) {
            for arrivals in [Arrivals::Constant, Arrivals::Burst, Arrivals::Poisson] {
                let first = times(pace(arrivals, rate, burst, seed), 50);
                prop_assert!(first.is_sorted());
                prop_assert_eq!(&first, &times(pace(arrivals, rate, burst, seed), 50));
            }
        }

        #[test]
        fn what_was_dealt_with_is_counted(count in 0_usize..200, seed: u64) {
            let mut pace = pace(Arrivals::Poisson, 1e6, 1, seed);
            let times = times(pace.clone(), 201);
            let end_ns = times[200];
            // Two packets may be due in the same nanosecond.
            let before = times.iter().filter(|&&time_ns| time_ns < end_ns).count();
            (0..count).for_each(|_| pace.step());
            prop_assert_eq!(pace.count_before(end_ns), before.max(count) as u64);
        }
    }
}
