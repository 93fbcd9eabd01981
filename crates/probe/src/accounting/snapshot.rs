//! The state of processors, processes and the network at one moment.
//!
//! Counters of the network are those of the agent's own network namespace; those of processors, of
//! softnet and context switches are the machine's.

use super::network::{Device, Protocols, Softnet, devices, protocols, softnet};
use super::processes::{Processes, Watched, find_processes};
use crate::clock;
use crate::failure::{Failure, during};
use nix::time::{ClockId, clock_gettime};
use procfs::{CurrentSI, KernelStats};
use regex_lite::Regex;
use std::collections::BTreeMap;

/// What to look at.
pub struct Scope {
    pub watched: Vec<Watched>,
    pub kernel_threads: Vec<Regex>,
    pub devices: Vec<String>,
}

/// Times in ticks of the kernel, `Snapshot::ticks_per_second` of them a second.
#[derive(Debug, Clone, Copy, Default)]
pub struct Cpu {
    pub user: u64,
    pub nice: u64,
    pub system: u64,
    pub irq: u64,
    pub softirq: u64,
    pub steal: u64,
    pub idle: u64,
}

#[derive(Debug, Clone, Default)]
pub struct Own {
    pub user_ns: u64,
    pub system_ns: u64,
    pub run_ns: u64,
}

#[derive(Debug, Clone, Default)]
pub struct Snapshot {
    pub time_ns: u64,
    pub ticks_per_second: u64,
    pub cpus: Vec<Cpu>,
    pub context_switches: u64,
    pub processes: Processes,
    pub kernel_threads: Processes,
    pub own: Own,
    pub devices: BTreeMap<String, Device>,
    pub protocols: Protocols,
    pub softnet: Softnet,
}

impl Snapshot {
    pub fn take(scope: &Scope) -> Result<Snapshot, Failure> {
        let kernel = KernelStats::current().map_err(proc_failure("/proc/stat"))?;
        let (processes, kernel_threads) = find_processes(scope)?;
        Ok(Snapshot {
            processes,
            kernel_threads,
            devices: devices(&scope.devices)?,
            protocols: protocols()?,
            softnet: softnet(
                &std::fs::read_to_string("/proc/net/softnet_stat").unwrap_or_default(),
            ),
            cpus: kernel.cpu_time.iter().map(cpu).collect(),
            context_switches: kernel.ctxt,
            ticks_per_second: procfs::ticks_per_second(),
            own: own()?,
            time_ns: clock::monotonic_ns(),
        })
    }
}

fn cpu(time: &procfs::CpuTime) -> Cpu {
    Cpu {
        user: time.user,
        nice: time.nice,
        system: time.system,
        irq: time.irq.unwrap_or(0),
        softirq: time.softirq.unwrap_or(0),
        steal: time.steal.unwrap_or(0),
        idle: time.idle + time.iowait.unwrap_or(0),
    }
}

fn own() -> Result<Own, Failure> {
    use nix::sys::resource::{UsageWho, getrusage};
    let usage = getrusage(UsageWho::RUSAGE_SELF).map_err(during("own processor time"))?;
    let ns = |time: nix::sys::time::TimeVal| {
        time.tv_sec() as u64 * 1_000_000_000 + time.tv_usec() as u64 * 1000
    };
    let run = clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID);
    let run = run.map_err(during("own processor time"))?;
    Ok(Own {
        user_ns: ns(usage.user_time()),
        system_ns: ns(usage.system_time()),
        run_ns: run.tv_sec() as u64 * 1_000_000_000 + run.tv_nsec() as u64,
    })
}

pub(super) fn proc_failure(what: &str) -> impl FnOnce(procfs::ProcError) -> Failure {
    move |error| {
        let remedy = "mount /proc in the mount namespace of the probe";
        Failure::new(what, error.to_string(), remedy)
    }
}
