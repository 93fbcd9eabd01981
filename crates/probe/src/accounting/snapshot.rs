//! The state of processors, processes and the network at one moment.
//!
//! Counters of the network are those of the agent's own network namespace; those of processors and
//! context switches are the machine's.

use super::idle::IdleReadings;
use super::network::{Device, UDP_COUNTERS, devices, udp_counters};
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
    pub node_init: Option<i32>,
    pub kernel_threads: Vec<Regex>,
    pub devices: Vec<String>,
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
    /// Processor time of the probe itself.
    pub own_ns: u64,
    pub devices: BTreeMap<String, Device>,
    pub udp: [u64; UDP_COUNTERS.len()],
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
        let own_ns = own_ns()?;
        let (processes, kernel_threads) = find_processes(
            &scope.watched,
            scope.by_thread,
            scope.node_init,
            &scope.kernel_threads,
        )?;
        let devices = devices(&scope.devices)?;
        let udp = udp_counters()?;
        let whole = match first {
            Some(whole) => whole,
            None => Whole::read()?,
        };
        Ok(Snapshot {
            processes,
            kernel_threads,
            devices,
            udp,
            surroundings: Surroundings::now(),
            cpus: whole.cpus,
            idle: whole.idle,
            context_switches: whole.context_switches,
            ticks_per_second: procfs::ticks_per_second(),
            own_ns,
            time_ns: whole.time_ns,
        })
    }
}

fn own_ns() -> Result<u64, Failure> {
    let run = clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID);
    let run = run.map_err(during("own processor time"))?;
    Ok(run.tv_sec() as u64 * 1_000_000_000 + run.tv_nsec() as u64)
}
