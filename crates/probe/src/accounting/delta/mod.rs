//! What changed between two snapshots. Pure.

mod busy;
mod processes;
mod traffic;

use super::network::UDP_COUNTERS;
use super::processors::Cpu;
use super::snapshot::Snapshot;
use super::surroundings::Disturbance;
use busy::{Busy, busy};
use processes::{ProcessTime, process_times};
use serde::Serialize;
use std::collections::BTreeMap;
use traffic::{DeviceTraffic, device_traffic};

#[derive(Debug, Serialize)]
pub struct Delta {
    pub start_ns: u64,
    pub seconds: f64,
    pub cpus: Vec<CpuTime>,
    /// None if the kernel keeps no clocks of idle time.
    pub busy: Option<Busy>,
    pub processes: Vec<ProcessTime>,
    pub kernel_threads: Vec<ProcessTime>,
    pub probe: ProbeTime,
    pub devices: Vec<DeviceTraffic>,
    pub udp: BTreeMap<&'static str, u64>,
    pub context_switches_total: u64,
    pub disturbance: Disturbance,
}

impl Delta {
    /// Of processes whose threads were not timed.
    pub fn leave_threads_out(&mut self) {
        for process in &mut self.processes {
            process.threads.clear();
            process.wait_ns = None;
        }
    }
}

#[derive(Debug, Serialize)]
pub struct CpuTime {
    pub cpu: usize,
    pub user_s: f64,
    pub nice_s: f64,
    pub system_s: f64,
    pub irq_s: f64,
    pub softirq_s: f64,
    pub steal_s: f64,
    pub idle_s: f64,
}

#[derive(Debug, Serialize)]
pub struct ProbeTime {
    pub run_ns: u64,
}

/// The kernel's tick counters may step back by one; a counter that was reset counts as 0.
fn since(after: u64, before: u64) -> u64 {
    after.saturating_sub(before)
}

pub fn between(before: &Snapshot, after: &Snapshot) -> Delta {
    let ticks = Ticks(after.ticks_per_second.max(1) as f64);
    Delta {
        start_ns: before.time_ns,
        seconds: since(after.time_ns, before.time_ns) as f64 / 1e9,
        cpus: before
            .cpus
            .iter()
            .zip(&after.cpus)
            .enumerate()
            .map(|(cpu, (before, after))| cpu_time(cpu, before, after, ticks))
            .collect(),
        busy: busy(&before.idle, &after.idle),
        processes: process_times(&before.processes, &after.processes, ticks),
        kernel_threads: process_times(&before.kernel_threads, &after.kernel_threads, ticks),
        probe: ProbeTime {
            run_ns: since(after.own_ns, before.own_ns),
        },
        devices: after
            .devices
            .iter()
            .map(|(name, device)| device_traffic(name, before.devices.get(name), device))
            .collect(),
        udp: counters(&UDP_COUNTERS, &before.udp, &after.udp),
        context_switches_total: since(after.context_switches, before.context_switches),
        disturbance: Disturbance::between(&before.surroundings, &after.surroundings),
    }
}

#[derive(Clone, Copy)]
struct Ticks(f64);

impl Ticks {
    fn seconds(self, after: u64, before: u64) -> f64 {
        since(after, before) as f64 / self.0
    }
}

fn cpu_time(cpu: usize, before: &Cpu, after: &Cpu, ticks: Ticks) -> CpuTime {
    CpuTime {
        cpu,
        user_s: ticks.seconds(after.user, before.user),
        nice_s: ticks.seconds(after.nice, before.nice),
        system_s: ticks.seconds(after.system, before.system),
        irq_s: ticks.seconds(after.irq, before.irq),
        softirq_s: ticks.seconds(after.softirq, before.softirq),
        steal_s: ticks.seconds(after.steal, before.steal),
        idle_s: ticks.seconds(after.idle, before.idle),
    }
}

fn counters(
    names: &[(&'static str, &str)],
    before: &[u64],
    after: &[u64],
) -> BTreeMap<&'static str, u64> {
    let values = before.iter().zip(after);
    let values = values.map(|(before, after)| since(*after, *before));
    names.iter().map(|(name, _)| *name).zip(values).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_have_their_names() {
        let values = counters(&[("a", "A"), ("b", "B")], &[1, 2], &[1, 7]);
        assert_eq!(values, BTreeMap::from([("a", 0), ("b", 5)]));
    }
}
