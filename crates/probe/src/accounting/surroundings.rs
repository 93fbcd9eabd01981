//! What may disturb a measurement from outside: clocks that are set, processors that slow down.

use crate::timing::clock;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;

const CPUS: &str = "/sys/devices/system/cpu";

/// At one moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Surroundings {
    /// CLOCK_REALTIME less CLOCK_MONOTONIC: both are slewed alike, so that only a step changes it.
    pub offset_ns: i128,
    /// By processor; empty where the kernel does not report any.
    pub frequency_hz: BTreeMap<usize, u64>,
    /// Times that a processor was slowed down for its heat; none where that is not counted.
    pub throttled: Option<u64>,
}

impl Surroundings {
    pub fn now() -> Surroundings {
        let cpus = processors(Path::new(CPUS));
        let throttled = cpus
            .iter()
            .filter_map(|cpu| number(cpu, "thermal_throttle/core_throttle_count"));
        Surroundings {
            offset_ns: clock::realtime_offset_ns(),
            throttled: throttled.reduce(|sum, count| sum + count),
            frequency_hz: cpus
                .iter()
                .filter_map(|cpu| Some((cpu.0, 1000 * number(cpu, "cpufreq/scaling_cur_freq")?)))
                .collect(),
        }
    }
}

/// Between two moments.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Disturbance {
    pub clock_step_ns: i64,
    /// At the end, just after the load.
    pub frequency_hz: BTreeMap<usize, u64>,
    pub throttled: Option<u64>,
}

impl Disturbance {
    pub fn between(before: &Surroundings, after: &Surroundings) -> Disturbance {
        let step = after.offset_ns - before.offset_ns;
        let limits = (i128::from(i64::MIN), i128::from(i64::MAX));
        Disturbance {
            clock_step_ns: step.clamp(limits.0, limits.1) as i64,
            frequency_hz: after.frequency_hz.clone(),
            throttled: after
                .throttled
                .map(|count| count.saturating_sub(before.throttled.unwrap_or(0))),
        }
    }
}

type Processor = (usize, std::path::PathBuf);

fn processors(root: &Path) -> Vec<Processor> {
    let entries = std::fs::read_dir(root).into_iter().flatten().flatten();
    let mut found: Vec<Processor> = entries
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            Some((name.strip_prefix("cpu")?.parse().ok()?, entry.path()))
        })
        .collect();
    found.sort();
    found
}

fn number(cpu: &Processor, file: &str) -> Option<u64> {
    let text = std::fs::read_to_string(cpu.1.join(file)).ok()?;
    text.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(offset_ns: i128, throttled: Option<u64>) -> Surroundings {
        Surroundings {
            offset_ns,
            throttled,
            ..Surroundings::default()
        }
    }

    #[test]
    fn a_step_of_the_clock_is_found() {
        let found = Disturbance::between(&at(1000, Some(3)), &at(-500, Some(5)));
        assert_eq!((found.clock_step_ns, found.throttled), (-1500, Some(2)));
        let unknown = Disturbance::between(&at(0, None), &at(0, None));
        assert_eq!((unknown.clock_step_ns, unknown.throttled), (0, None));
    }

    #[test]
    fn this_machine_has_a_steady_clock() {
        let before = Surroundings::now();
        let step_ns = Disturbance::between(&before, &Surroundings::now()).clock_step_ns;
        assert!(step_ns.abs() < 1_000_000, "{step_ns}");
    }

    #[test]
    fn processors_have_numbers() {
        for (number, path) in processors(Path::new(CPUS)) {
            assert!(path.ends_with(format!("cpu{number}")));
        }
    }
}
