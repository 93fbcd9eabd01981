//! When packets of a client are due that sends for a while, and then is silent for a while. Pure.
//!
//! Both times are exponentially distributed; while it sends, packets are evenly spaced. Many such
//! clients are the usual model of the users of a gateway (ITU-T Y.1541's on-off sources).

use crate::protocol::values::{Rate, Seconds};
use crate::timing::random;
use serde::Deserialize;

/// Mean lengths of both times.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Periods {
    on_s: Seconds,
    off_s: Seconds,
}

/// The due times of one client, one after another. They never go back.
#[derive(Debug, Clone)]
pub struct OnOff {
    periods: Option<Periods>,
    start_ns: u64,
    /// Since the start, exact: the time of the next packet, and the end of the time of sending.
    due: f64,
    on_until: f64,
    gap_ns: f64,
    random: u64,
}

impl OnOff {
    /// `rate` is the mean over both times; without periods the client sends all the time.
    pub fn new(start_ns: u64, rate: Rate, periods: Option<Periods>, seed: u64) -> OnOff {
        let mean_gap_ns = 1e9 / rate.per_second();
        let mut made = OnOff {
            periods,
            start_ns,
            due: 0.0,
            on_until: f64::INFINITY,
            gap_ns: mean_gap_ns,
            random: seed,
        };
        if let Some(Periods { on_s, off_s }) = periods {
            let (on_ns, off_ns) = (on_s.ns() as f64, off_s.ns() as f64);
            made.gap_ns = mean_gap_ns * on_ns / (on_ns + off_ns);
            // As if it had gone on for ever: the rest of an exponential time has its distribution.
            if made.fraction() * (on_ns + off_ns) >= on_ns {
                made.due = off_ns * made.exponential();
            }
            // The place in the gap is random, too: otherwise each time would begin with a packet,
            // and the mean rate would be higher than requested.
            let begun = made.due;
            made.due += made.gap_ns * made.fraction();
            made.on_until = begun + on_ns * made.exponential();
            made.skip_silence();
        }
        made
    }

    /// When the next packet is due.
    pub fn due_ns(&self) -> u64 {
        self.start_ns.saturating_add(self.due as u64)
    }

    /// The next packet has been dealt with.
    pub fn step(&mut self) {
        self.due += self.gap_ns;
        self.skip_silence();
    }

    fn skip_silence(&mut self) {
        let Some(Periods { on_s, off_s }) = self.periods else {
            return;
        };
        while self.due >= self.on_until {
            let over = self.due - self.on_until;
            let off_ns = off_s.ns() as f64 * self.exponential();
            self.due = self.on_until + off_ns + over;
            self.on_until += off_ns + on_s.ns() as f64 * self.exponential();
        }
    }

    fn fraction(&mut self) -> f64 {
        (random::next(&mut self.random) >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// A random number with mean 1.
    fn exponential(&mut self) -> f64 {
        -(1.0 - self.fraction()).ln()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn periods(on_s: f64, off_s: f64) -> Option<Periods> {
        Some(Periods {
            on_s: Seconds::new(on_s).unwrap(),
            off_s: Seconds::new(off_s).unwrap(),
        })
    }

    fn count(mut times: OnOff, seconds: u64) -> u64 {
        let mut count = 0;
        while times.due_ns() < seconds * 1_000_000_000 {
            count += 1;
            times.step();
        }
        count
    }

    #[test]
    fn without_periods_packets_are_even() {
        let mut times = OnOff::new(5, Rate::new(1000.0).unwrap(), None, 1);
        for number in 0..100 {
            assert_eq!(times.due_ns(), 5 + number * 1_000_000);
            times.step();
        }
    }

    #[test]
    fn the_mean_rate_is_that_of_both_times() {
        // 400 clients for 20 s: the deviation of the mean is below one percent.
        let rate = Rate::new(100.0).unwrap();
        let sum: u64 = (0..400)
            .map(|seed| count(OnOff::new(0, rate, periods(0.2, 0.3), seed * 977), 20))
            .sum();
        let mean = sum as f64 / 400.0 / 20.0;
        assert!((mean / 100.0 - 1.0).abs() < 0.03, "{mean}");
    }

    #[test]
    fn it_is_silent_for_its_share_of_the_time() {
        let rate = Rate::new(1000.0).unwrap();
        let mut times = OnOff::new(0, rate, periods(0.1, 0.3), 4);
        let mut silent_ns = 0;
        let mut before_ns = times.due_ns();
        while before_ns < 100_000_000_000 {
            times.step();
            let gap_ns = times.due_ns() - before_ns;
            // While it sends the gap is a quarter of a millisecond.
            silent_ns += gap_ns.saturating_sub(250_001);
            before_ns += gap_ns;
        }
        let share = silent_ns as f64 / before_ns as f64;
        assert!((share - 0.75).abs() < 0.05, "{share}");
    }

    proptest! {
        #[test]
        fn times_never_go_back_and_seeds_repeat(seed: u64, rate in 1.0_f64..1e6) {
            let rate = Rate::new(rate).unwrap();
            let times = |mut times: OnOff| -> Vec<u64> {
                (0..50).map(|_| { let due_ns = times.due_ns(); times.step(); due_ns }).collect()
            };
            let first = times(OnOff::new(7, rate, periods(0.05, 0.02), seed));
            prop_assert!(first.is_sorted());
            prop_assert_eq!(first, times(OnOff::new(7, rate, periods(0.05, 0.02), seed)));
        }
    }
}
