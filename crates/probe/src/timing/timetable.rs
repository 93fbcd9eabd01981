//! When probes are due that sample a delay. Pure.
//!
//! A fixed gap that divides the period of something else, such as the kernel's tick, meets it at
//! the same phase all the time. So no schedule starts at a fixed phase, and the default visits all
//! phases.

use crate::protocol::values::Rate;
use crate::timing::pace::{Arrivals, Pace, Spread};
use crate::timing::schedule::Schedule;
use serde::{Deserialize, Serialize};

/// The fraction part of the golden ratio: its multiples spread most evenly over [0, 1).
const GOLDEN: f64 = 0.618_033_988_749_894_9;

/// How probes are spread. The mean rate is the same in each.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Sampling {
    /// One in each period, at a place that moves by the golden ratio: gaps of 0.618 and 1.618
    /// periods, all phases equally often.
    #[default]
    Scattered,
    /// Even gaps from a random start (RFC 3432).
    Periodic,
    /// Exponential gaps (RFC 2330, 11.1.1).
    Poisson,
}

/// The due times of all probes.
#[derive(Debug, Clone)]
pub struct Timetable {
    even: Schedule,
    start_ns: u64,
    gap_ns: f64,
    /// In periods, in [0, 1).
    phase: f64,
    order: Order,
}

#[derive(Debug, Clone)]
enum Order {
    Scattered,
    Periodic,
    Listed(Vec<u64>),
}

impl Timetable {
    /// Of `count` probes; the same `seed` gives the same times.
    pub fn new(start_ns: u64, sampling: Sampling, rate: Rate, count: u64, seed: u64) -> Timetable {
        let gap_ns = 1e9 / rate.per_second();
        let phase = crate::timing::random::fraction(seed);
        let order = match sampling {
            Sampling::Scattered => Order::Scattered,
            Sampling::Periodic => Order::Periodic,
            Sampling::Poisson => Order::Listed(poisson(start_ns, rate, count, seed)),
        };
        Timetable {
            even: Schedule::new(start_ns.saturating_add((phase * gap_ns) as u64), rate),
            start_ns,
            gap_ns,
            phase,
            order,
        }
    }

    /// When probe number `n` (from 0) is due; times never go back.
    pub fn time_ns(&self, n: u64) -> u64 {
        match &self.order {
            Order::Periodic => self.even.time_ns(n),
            Order::Scattered => {
                let place = (n as f64 * GOLDEN + self.phase).fract();
                let elapsed_ns = (n as f64 + place) * self.gap_ns;
                self.start_ns.saturating_add(elapsed_ns as u64)
            }
            Order::Listed(times) => {
                let listed = times.get(n as usize).or(times.last());
                listed.copied().unwrap_or(self.start_ns)
            }
        }
    }
}

/// One more than `count`: the next one shows whether the last was late.
fn poisson(start_ns: u64, rate: Rate, count: u64, seed: u64) -> Vec<u64> {
    let spread = Spread {
        arrivals: Arrivals::Poisson,
        rate,
        burst: 1,
        seed,
    };
    let mut pace = Pace::new(start_ns, spread);
    (0..=count)
        .map(|_| {
            pace.step();
            pace.due_ns()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ALL: [Sampling; 3] = [Sampling::Scattered, Sampling::Periodic, Sampling::Poisson];
    const TICK_NS: u64 = 4_000_000;

    fn times(sampling: Sampling, rate: f64, count: u64, seed: u64) -> Vec<u64> {
        let rate = Rate::new(rate).unwrap();
        let table = Timetable::new(1_000, sampling, rate, count, seed);
        (0..count).map(|n| table.time_ns(n)).collect()
    }

    /// How many of ten equal parts of a tick are met, and the most in one of them.
    fn phases(times: &[u64]) -> (usize, usize) {
        let mut parts = [0_usize; 10];
        for time_ns in times {
            parts[(time_ns % TICK_NS * 10 / TICK_NS) as usize] += 1;
        }
        let met = parts.iter().filter(|&&count| count > 0).count();
        (met, parts.into_iter().max().unwrap_or(0))
    }

    #[test]
    fn the_default_meets_all_phases_of_a_tick_equally_often() {
        for rate in [50.0, 125.0, 200.0, 250.0, 500.0, 1000.0, 2000.0, 10_000.0] {
            for seed in 0..20 {
                let (met, most) = phases(&times(Sampling::Scattered, rate, 5000, seed));
                assert_eq!(met, 10, "{rate}/s");
                assert!(
                    most <= 515,
                    "{rate}/s: {most} of 5000 in a tenth of the tick"
                );
            }
        }
        let (met, most) = phases(&times(Sampling::Poisson, 1000.0, 5000, 1));
        // Each part has 500 on average, with a deviation of 21.
        assert!(met == 10 && most < 610, "{most}");
    }

    #[test]
    fn an_even_schedule_stands_still_beside_the_tick_at_a_random_phase() {
        let periodic = |seed| times(Sampling::Periodic, 1000.0, 5000, seed);
        assert!(phases(&periodic(1)).0 <= 5);
        let starts: Vec<u64> = (0..200).map(|seed| periodic(seed)[0] - 1_000).collect();
        let early = starts.iter().filter(|&&start| start < 500_000).count();
        assert!(
            (70..130).contains(&early),
            "{early} of 200 in the first half"
        );
    }

    #[test]
    fn scattered_probes_never_come_close() {
        let times = times(Sampling::Scattered, 1000.0, 5000, 9);
        let gaps = times.windows(2).map(|two| two[1] - two[0]);
        assert!(gaps.clone().all(|gap| (618_000..1_618_100).contains(&gap)));
    }

    proptest! {
        #[test]
        fn times_never_go_back_and_the_rate_is_kept(rate in 1.0_f64..1e6, seed: u64) {
            for sampling in ALL {
                let found = times(sampling, rate, 2000, seed);
                prop_assert!(found.is_sorted());
                prop_assert_eq!(&found, &times(sampling, rate, 2000, seed));
                let expected = 2000.0 / rate * 1e9;
                let lasted = (found[1999] - 1_000) as f64;
                // Of a Poisson process the deviation is 2.2 %; five of them.
                prop_assert!((lasted / expected - 1.0).abs() < 0.12, "{sampling:?}");
            }
        }
    }
}
