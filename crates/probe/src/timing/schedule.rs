//! When packets are due: absolute times, so that a late packet never delays those after it.

use crate::protocol::values::Rate;

/// Evenly spaced sending times.
#[derive(Debug, Clone, Copy)]
pub struct Schedule {
    start_ns: u64,
    gap_ns: f64,
}

impl Schedule {
    pub fn new(start_ns: u64, rate: Rate) -> Schedule {
        Schedule {
            start_ns,
            gap_ns: 1e9 / rate.per_second(),
        }
    }

    /// When packet number `n` (from 0) is due.
    pub fn time_ns(&self, n: u64) -> u64 {
        self.start_ns
            .saturating_add((n as f64 * self.gap_ns) as u64)
    }

    /// How many packets are due by now: one more than the number of the last.
    pub fn due(&self, now_ns: u64) -> u64 {
        let Some(elapsed_ns) = now_ns.checked_sub(self.start_ns) else {
            return 0;
        };
        let mut due = (elapsed_ns as f64 / self.gap_ns) as u64 + 1;
        // The two roundings may differ by one; `time_ns` is the one that counts.
        while due > 0 && self.time_ns(due - 1) > now_ns {
            due -= 1;
        }
        while self.time_ns(due) <= now_ns {
            due += 1;
        }
        due
    }

    /// How many packets are due before `end_ns`.
    pub fn count_before(&self, end_ns: u64) -> u64 {
        end_ns.checked_sub(1).map_or(0, |last_ns| self.due(last_ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_packet_is_due_from_its_time_on(
            start_ns in 0_u64..1 << 60,
            rate in 0.01_f64..1e7,
            n in 0_u64..1_000_000_000,
        ) {
            let schedule = Schedule::new(start_ns, Rate::new(rate).unwrap());
            let time_ns = schedule.time_ns(n);
            prop_assert!(schedule.due(time_ns) > n);
            prop_assert!(time_ns == start_ns || schedule.due(time_ns - 1) <= n);
        }
    }

    #[test]
    fn a_second_at_a_thousand_per_second_is_a_thousand_packets() {
        let schedule = Schedule::new(5, Rate::new(1000.0).unwrap());
        assert_eq!(schedule.count_before(5 + 1_000_000_000), 1000);
        assert_eq!(schedule.due(4), 0);
    }
}
