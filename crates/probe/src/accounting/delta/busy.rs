//! Elapsed time less idle time.

use super::super::idle::{IdleClock, IdleTimes};
use super::since;
use serde::Serialize;

/// For how long processors were not idle: at work, or stolen by a hypervisor while at work.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Busy {
    pub clock: IdleClock,
    pub cpus: Vec<BusyCpu>,
}

#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct BusyCpu {
    pub cpu: usize,
    pub busy_ns: u64,
    pub uncertainty_ns: u64,
}

/// None if idle time was sampled, if the clocks differ between both moments, or if a processor came
/// or went.
pub fn busy(before: &IdleTimes, after: &IdleTimes) -> Option<Busy> {
    let same = before.clock == after.clock && before.cpus.len() == after.cpus.len();
    if !same || after.clock == IdleClock::Ticks {
        return None;
    }
    let elapsed_ns = since(after.time_ns, before.time_ns);
    let pairs = before.cpus.iter().zip(&after.cpus).enumerate();
    let cpus = pairs.map(|(cpu, (before, after))| BusyCpu {
        cpu,
        busy_ns: elapsed_ns.saturating_sub(since(after.idle_ns, before.idle_ns)),
        uncertainty_ns: before.uncertainty_ns + after.uncertainty_ns,
    });
    Some(Busy {
        clock: after.clock,
        cpus: cpus.collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::super::super::idle::Idle;
    use super::*;

    fn times(time_ns: u64, clock: IdleClock, idle_ns: u64) -> IdleTimes {
        let cpus = vec![Idle {
            idle_ns,
            uncertainty_ns: 3,
        }];
        IdleTimes {
            time_ns,
            clock,
            cpus,
        }
    }

    #[test]
    fn busy_is_what_was_not_idle() {
        let before = times(1000, IdleClock::TimerList, 100);
        let found = busy(&before, &times(1500, IdleClock::TimerList, 400)).unwrap();
        let expected = BusyCpu {
            cpu: 0,
            busy_ns: 200,
            uncertainty_ns: 6,
        };
        assert_eq!(found.cpus, [expected]);
    }

    #[test]
    fn samples_and_mixed_clocks_give_no_busy_time() {
        let ticks = times(0, IdleClock::Ticks, 0);
        assert_eq!(busy(&ticks, &ticks), None);
        let stat = times(9, IdleClock::Stat, 5);
        assert_eq!(busy(&stat, &times(20, IdleClock::TimerList, 7)), None);
        let two = IdleTimes {
            cpus: vec![Idle::default(); 2],
            ..stat.clone()
        };
        assert_eq!(busy(&stat, &two), None);
    }
}
