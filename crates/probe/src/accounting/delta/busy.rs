//! Elapsed time less idle time.

use super::super::idle::{IdleClock, IdleReadings, IdleTimes};
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

/// By the finest clock that both moments have; None if idle time was sampled, or if a processor came
/// or went.
pub fn busy(before: &IdleReadings, after: &IdleReadings) -> Option<Busy> {
    let fine = before.timer_list.as_ref().zip(after.timer_list.as_ref());
    fine.and_then(|(before, after)| between(before, after))
        .or_else(|| between(&before.stat, &after.stat))
}

fn between(before: &IdleTimes, after: &IdleTimes) -> Option<Busy> {
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

    fn readings(stat: IdleTimes, timer_list: Option<IdleTimes>) -> IdleReadings {
        IdleReadings { stat, timer_list }
    }

    fn coarse(idle_ns: u64) -> IdleTimes {
        times(1000 + idle_ns, IdleClock::Stat, idle_ns)
    }

    #[test]
    fn busy_is_what_was_not_idle() {
        let before = readings(coarse(0), Some(times(1000, IdleClock::TimerList, 100)));
        let after = readings(coarse(0), Some(times(1500, IdleClock::TimerList, 400)));
        let found = busy(&before, &after).unwrap();
        let expected = BusyCpu {
            cpu: 0,
            busy_ns: 200,
            uncertainty_ns: 6,
        };
        assert_eq!(
            (found.clock, found.cpus),
            (IdleClock::TimerList, vec![expected])
        );
    }

    #[test]
    fn a_clock_that_one_moment_lacks_is_not_used() {
        let fine = Some(times(1000, IdleClock::TimerList, 100));
        for (first, last) in [(None, fine.clone()), (fine, None)] {
            let before = readings(times(0, IdleClock::Stat, 0), first);
            let found = busy(&before, &readings(times(20, IdleClock::Stat, 7), last)).unwrap();
            assert_eq!((found.clock, found.cpus[0].busy_ns), (IdleClock::Stat, 13));
        }
    }

    #[test]
    fn samples_and_other_processors_give_no_busy_time() {
        let ticks = readings(times(0, IdleClock::Ticks, 0), None);
        assert_eq!(busy(&ticks, &ticks), None);
        let one = readings(coarse(5), None);
        assert_eq!(busy(&ticks, &one), None);
        let two = IdleTimes {
            cpus: vec![Idle::default(); 2],
            ..coarse(5)
        };
        assert_eq!(busy(&one, &readings(two, None)), None);
    }
}
