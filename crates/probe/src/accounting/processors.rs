//! Times of the processors, as the kernel counts them.

use crate::protocol::failure::Failure;
use procfs::{CurrentSI, KernelStats};

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

pub(super) fn kernel() -> Result<KernelStats, Failure> {
    KernelStats::current().map_err(proc_failure("/proc/stat"))
}

#[cfg(test)]
pub(super) fn cpus() -> Result<Vec<Cpu>, Failure> {
    Ok(kernel()?.cpu_time.iter().map(cpu).collect())
}

pub(super) fn cpu(time: &procfs::CpuTime) -> Cpu {
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

pub(super) fn proc_failure(what: &str) -> impl FnOnce(procfs::ProcError) -> Failure {
    move |error| {
        let remedy = "mount /proc in the mount namespace of the probe";
        Failure::new(what, error.to_string(), remedy)
    }
}
