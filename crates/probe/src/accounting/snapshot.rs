//! The state of processors, processes and the network at one moment.
//!
//! Counters of the network are those of the agent's own network namespace; those of processors, of
//! softnet and context switches are the machine's.

use super::idle::IdleReadings;
use super::network::{Device, Protocols, Softnet, devices, protocols, softnet};
use super::processes::{Processes, Watched, find_processes};
use super::processors::{Cpu, cpu, kernel};
use super::surroundings::Surroundings;
use crate::protocol::failure::{Failure, during};
use crate::timing::clock;
use nix::time::{ClockId, clock_gettime};
use regex_lite::Regex;
use std::collections::BTreeMap;

/// What to look at.
pub struct Scope {
    pub watched: Vec<Watched>,
    /// Otherwise of their threads only the switches are read.
    pub by_thread: bool,
    pub kernel_threads: Vec<Regex>,
    pub devices: Vec<String>,
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
    pub idle: IdleReadings,
    pub context_switches: u64,
    pub processes: Processes,
    pub kernel_threads: Processes,
    pub own: Own,
    pub devices: BTreeMap<String, Device>,
    pub protocols: Protocols,
    pub softnet: Softnet,
    pub surroundings: Surroundings,
}

/// Which end of the time between two snapshots.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    First,
    Last,
}

/// What the whole machine used.
struct Whole {
    time_ns: u64,
    cpus: Vec<Cpu>,
    idle: IdleReadings,
    context_switches: u64,
}

impl Whole {
    fn read() -> Result<Whole, Failure> {
        let kernel = kernel()?;
        let time_ns = clock::monotonic_ns();
        let cpus: Vec<Cpu> = kernel.cpu_time.iter().map(cpu).collect();
        Ok(Whole {
            time_ns,
            idle: IdleReadings::read(&cpus, procfs::ticks_per_second(), time_ns),
            cpus,
            context_switches: kernel.ctxt,
        })
    }
}

impl Snapshot {
    /// The machine is read before its parts at the first end and after them at the last: no part
    /// is counted for a time in which the machine was not.
    pub fn take(scope: &Scope, end: End) -> Result<Snapshot, Failure> {
        let first = (end == End::First).then(Whole::read).transpose()?;
        let own = own()?;
        let (processes, kernel_threads) =
            find_processes(&scope.watched, scope.by_thread, &scope.kernel_threads)?;
        let devices = devices(&scope.devices)?;
        let protocols = protocols()?;
        let softnet =
            softnet(&std::fs::read_to_string("/proc/net/softnet_stat").unwrap_or_default());
        let whole = match first {
            Some(whole) => whole,
            None => Whole::read()?,
        };
        Ok(Snapshot {
            processes,
            kernel_threads,
            devices,
            protocols,
            softnet,
            surroundings: Surroundings::now(),
            cpus: whole.cpus,
            idle: whole.idle,
            context_switches: whole.context_switches,
            ticks_per_second: procfs::ticks_per_second(),
            own,
            time_ns: whole.time_ns,
        })
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
