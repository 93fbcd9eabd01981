//! For how long each processor has been idle, from the kernel's own clock of idle time.
//!
//! Where the kernel stops its tick on idle processors (NO_HZ), it adds up idle time at each entry
//! to and exit from the idle loop, in ns; user, system and softirq time are sampled by the tick.
//! `/proc/timer_list` gives the sum in ns (root only), `/proc/stat` in hundredths of a second.
//! Source: `kernel/time/tick-sched.c`, `kernel/time/timer_list.c`, `fs/proc/stat.c`.

use super::processors::Cpu;
use crate::timing::clock;
use nix::time::{ClockId, clock_getres};
use serde::Serialize;
use std::fs::read_to_string;
use std::path::Path;

/// The longest tick there is, at 100 Hz, and as much again: a processor whose tick is not stopped
/// and that entered or left the idle loop before that is busy.
const TWO_TICKS_NS: u64 = 20_000_000;

/// Where idle times come from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum IdleClock {
    /// Sampled at each tick, as all of `/proc/stat`.
    #[default]
    Ticks,
    /// The idle clocks as `/proc/stat` shows them.
    Stat,
    /// The idle clocks themselves.
    TimerList,
}

/// How long a processor has been idle, and by how much that may be wrong.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Idle {
    pub idle_ns: u64,
    pub uncertainty_ns: u64,
}

/// The idle times of all processors at one moment of CLOCK_MONOTONIC.
#[derive(Debug, Clone, Default)]
pub struct IdleTimes {
    pub time_ns: u64,
    pub clock: IdleClock,
    /// In the order of `/proc/stat`.
    pub cpus: Vec<Idle>,
}

/// The same from all sources at about one moment, so that two moments have one in common.
#[derive(Debug, Clone, Default)]
pub struct IdleReadings {
    /// From `/proc/stat`.
    pub stat: IdleTimes,
    /// From `/proc/timer_list`; None where it is not readable, or differs from `/proc/stat`, as when
    /// this program was kept from running between both.
    pub timer_list: Option<IdleTimes>,
}

impl IdleReadings {
    /// `cpus` were read just now, at `time_ns`.
    pub fn read(cpus: &[Cpu], ticks_per_second: u64, time_ns: u64) -> IdleReadings {
        let shown_ns = 1_000_000_000 / ticks_per_second.max(1);
        let stat = IdleTimes {
            time_ns,
            clock: if counts_idle() {
                IdleClock::Stat
            } else {
                IdleClock::Ticks
            },
            cpus: cpus
                .iter()
                .map(|cpu| Idle {
                    idle_ns: cpu.idle * shown_ns,
                    // Of a difference twice as much: idle and waiting for I/O are rounded down each.
                    uncertainty_ns: shown_ns,
                })
                .collect(),
        };
        let timer_list = timer_list().filter(|exact| exact.agrees(&stat));
        IdleReadings { stat, timer_list }
    }
}

impl IdleTimes {
    /// Whether both report the same clocks: so the format was understood.
    fn agrees(&self, coarse: &IdleTimes) -> bool {
        let apart_ns = self.time_ns.abs_diff(coarse.time_ns);
        self.cpus.len() == coarse.cpus.len()
            && self.cpus.iter().zip(&coarse.cpus).all(|(fine, coarse)| {
                fine.idle_ns.abs_diff(coarse.idle_ns)
                    <= fine.uncertainty_ns + 2 * coarse.uncertainty_ns + apart_ns
            })
    }
}

fn timer_list() -> Option<IdleTimes> {
    let here = current_cpu();
    let text = read_to_string("/proc/timer_list").ok()?;
    let read_ns = clock::monotonic_ns();
    let here = here.filter(|cpu| current_cpu() == Some(*cpu));
    parse(&text, read_ns, here)
}

/// The processor that this thread runs on.
fn current_cpu() -> Option<usize> {
    // SAFETY: takes nothing and touches no memory.
    usize::try_from(unsafe { libc::sched_getcpu() }).ok()
}

/// `read_ns`: when reading ended. `busy`: a processor that certainly was not idle.
fn parse(text: &str, read_ns: u64, busy: Option<usize>) -> Option<IdleTimes> {
    let (head, cpus) = text.split_once("\ncpu: ")?;
    let now = head.lines().find_map(|line| line.strip_prefix("now at "))?;
    let time_ns = first_number(now)?;
    let cpus = cpus.split("\ncpu: ").map(|record| {
        let cpu = first_number(record)? as usize;
        idle_of(record, time_ns, busy == Some(cpu))
    });
    let cpus: Option<Vec<Idle>> = cpus.collect();
    let reading_ns = read_ns.saturating_sub(time_ns);
    let cpus = cpus?.into_iter().map(|idle| Idle {
        uncertainty_ns: idle.uncertainty_ns + reading_ns,
        ..idle
    });
    Some(IdleTimes {
        time_ns,
        clock: IdleClock::TimerList,
        cpus: cpus.collect(),
    })
}

/// The sums hold up to the last entry to or exit from the idle loop; which of them it was is not
/// reported. A stopped tick means idle since then; a running one restarts the time at each tick.
fn idle_of(record: &str, now_ns: u64, busy: bool) -> Option<Idle> {
    let value = |name| value_of(record, name);
    if value(".nohz").or_else(|| value(".nohz_mode"))? == 0 {
        return None;
    }
    let sum_ns = value(".idle_sleeptime")? + value(".iowait_sleeptime")?;
    let since_ns = now_ns.saturating_sub(value(".idle_entrytime")?);
    let stopped = value(".tick_stopped")? != 0;
    Some(match (busy, stopped) {
        (false, true) => Idle {
            idle_ns: sum_ns + since_ns,
            uncertainty_ns: 0,
        },
        (false, false) if since_ns < TWO_TICKS_NS => Idle {
            idle_ns: sum_ns + since_ns / 2,
            uncertainty_ns: since_ns.div_ceil(2),
        },
        _ => Idle {
            idle_ns: sum_ns,
            uncertainty_ns: 0,
        },
    })
}

/// Of a line such as `  .idle_sleeptime : 5 nsecs`.
fn value_of(record: &str, name: &str) -> Option<u64> {
    record.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == name).then(|| first_number(value))?
    })
}

fn first_number(text: &str) -> Option<u64> {
    text.split_whitespace().next()?.parse().ok()
}

/// Whether the kernel keeps idle clocks: built with NO_HZ (only such a kernel has the setting),
/// with high-resolution timers in use, and not disabled.
fn counts_idle() -> bool {
    let command_line = read_to_string("/proc/cmdline").unwrap_or_default();
    let off = |word: &str| matches!(word, "nohz=off" | "nohz=0" | "nohz=n");
    let resolution = clock_getres(ClockId::CLOCK_MONOTONIC);
    Path::new("/proc/sys/kernel/timer_migration").exists()
        && resolution.is_ok_and(|step| step.tv_sec() == 0 && step.tv_nsec() == 1)
        && !command_line.split_whitespace().any(off)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn list(cpus: &[(u64, u64, u64)]) -> String {
        let records = cpus
            .iter()
            .enumerate()
            .map(|(cpu, (stopped, entry, sleep))| {
                format!(
                    "cpu: {cpu}\n clock 0:\n  .index:      0\n  .nohz           : 1\n  \
                 .tick_stopped   : {stopped}\n  .idle_entrytime : {entry} nsecs\n  \
                 .idle_sleeptime : {sleep} nsecs\n  .iowait_sleeptime: 7 nsecs\njiffies: 1\n\n"
                )
            });
        format!(
            "Timer List Version: v0.10\nnow at 1000000000 nsecs\n\n{}",
            records.collect::<String>()
        )
    }

    fn idle(text: &str, busy: Option<usize>) -> Vec<(u64, u64)> {
        let times = parse(text, 1_000_000_000, busy).unwrap();
        assert_eq!(
            (times.time_ns, times.clock),
            (1_000_000_000, IdleClock::TimerList)
        );
        let cpus = times.cpus.iter();
        cpus.map(|cpu| (cpu.idle_ns, cpu.uncertainty_ns)).collect()
    }

    #[test]
    fn what_a_processor_does_now_follows_from_its_tick() {
        let text = list(&[
            (1, 999_000_000, 500), // asleep for a millisecond
            (0, 900_000_000, 500), // busy for many ticks
            (0, 999_000_000, 500), // either, for a millisecond
        ]);
        let expected = [(1_000_507, 0), (507, 0), (500_507, 500_000)];
        assert_eq!(idle(&text, None), expected);
        assert_eq!(idle(&text, Some(2))[2], (507, 0));
    }

    #[test]
    fn the_time_of_reading_is_uncertain() {
        let times = parse(&list(&[(1, 0, 0)]), 1_000_030_000, None).unwrap();
        assert_eq!(times.cpus[0].uncertainty_ns, 30_000);
    }

    #[test]
    fn without_idle_clocks_there_is_nothing_to_read() {
        let ticking = list(&[(0, 0, 0)]).replace(".nohz           : 1", ".nohz           : 0");
        assert!(parse(&ticking, 0, None).is_none());
        assert!(parse("", 0, None).is_none());
    }

    #[test]
    fn other_figures_than_those_of_stat_are_not_believed() {
        let times = |idle_ns| IdleTimes {
            cpus: vec![Idle {
                idle_ns,
                uncertainty_ns: 10,
            }],
            ..IdleTimes::default()
        };
        assert!(times(100).agrees(&times(130)));
        assert!(!times(100).agrees(&times(131)));
        assert!(!times(100).agrees(&IdleTimes::default()));
    }

    #[test]
    fn this_machine_is_understood() {
        let cpus = super::super::processors::cpus().unwrap();
        let ticks = procfs::ticks_per_second();
        let found = IdleReadings::read(&cpus, ticks, clock::monotonic_ns());
        assert_eq!(found.stat.cpus.len(), cpus.len());
        // On a busy machine both may be read too far apart.
        if let Some(exact) = found.timer_list {
            assert_eq!(exact.clock, IdleClock::TimerList);
            assert_eq!(exact.cpus.len(), cpus.len());
        }
    }

    proptest! {
        #[test]
        fn any_timer_list_is_survived(text: String, now: u64, number: u64) {
            parse(&text, now, None);
            parse(&format!("now at {number} nsecs\n{}", list(&[(0, now, 1)])), now, Some(0));
        }
    }
}
