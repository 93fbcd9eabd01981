//! The state of processors, processes and the network at one moment.
//!
//! Counters of the network are those of the agent's own network namespace; those of processors, of
//! softnet and context switches are the machine's.

use crate::clock;
use crate::failure::{Failure, during};
use crate::net::netlink::{links, qdiscs};
use netlink_packet_route::link::Stats64;
use nix::time::{ClockId, clock_getcpuclockid, clock_gettime};
use nix::unistd::Pid;
use procfs::process::{Process as ProcProcess, Stat, all_processes};
use procfs::{CurrentSI, KernelStats};
use regex_lite::Regex;
use std::collections::BTreeMap;

/// The parent of every kernel thread.
const KTHREADD: i32 = 2;

/// A process that a request names.
#[derive(Debug, Clone, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Watched {
    pub pid: i32,
    pub label: String,
}

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
pub struct Thread {
    pub name: String,
    pub user: u64,
    pub system: u64,
    pub run_ns: u64,
    pub voluntary: u64,
    pub involuntary: u64,
}

/// A process is the same one if its id and its start are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Identity {
    pub pid: i32,
    pub start_ticks: u64,
}

#[derive(Debug, Clone, Default)]
pub struct Process {
    pub label: String,
    pub comm: String,
    /// User and system time include threads that have ended.
    pub user: u64,
    pub system: u64,
    pub run_ns: u64,
    pub vm_hwm_bytes: Option<u64>,
    pub threads: BTreeMap<i32, Thread>,
}

#[derive(Debug, Clone, Default)]
pub struct Own {
    pub user_ns: u64,
    pub system_ns: u64,
    pub run_ns: u64,
}

#[derive(Debug, Clone)]
pub struct Queue {
    pub kind: String,
    pub root: bool,
    pub drops: u32,
    pub overlimits: u32,
    pub requeues: u32,
    pub backlog_bytes: u32,
}

#[derive(Debug, Clone, Default)]
pub struct Device {
    pub mtu: u32,
    pub stats: Stats64,
    pub queues: BTreeMap<(u16, u16), Queue>,
}

/// `/proc/net/snmp` of IPv4 and UDP: what tells of load and loss.
#[derive(Debug, Clone, Default)]
pub struct Protocols {
    pub udp: [u64; UDP_COUNTERS.len()],
    pub ip: [u64; IP_COUNTERS.len()],
}

/// Names, in the order of `Protocols`.
pub const UDP_COUNTERS: [&str; 7] = [
    "in_datagrams",
    "out_datagrams",
    "no_ports",
    "in_errors",
    "rcvbuf_errors",
    "sndbuf_errors",
    "in_csum_errors",
];
pub const IP_COUNTERS: [&str; 12] = [
    "in_receives",
    "in_delivers",
    "in_discards",
    "forwarded",
    "out_requests",
    "out_discards",
    "out_no_routes",
    "frag_creates",
    "frag_fails",
    "reasm_reqs",
    "reasm_oks",
    "reasm_fails",
];

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Softnet {
    pub dropped: u64,
    pub time_squeeze: u64,
}

#[derive(Debug, Clone, Default)]
pub struct Snapshot {
    pub time_ns: u64,
    pub ticks_per_second: u64,
    pub cpus: Vec<Cpu>,
    pub context_switches: u64,
    pub processes: BTreeMap<Identity, Process>,
    pub kernel_threads: BTreeMap<Identity, Process>,
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

type Processes = BTreeMap<Identity, Process>;

/// The watched processes with their descendants, and the kernel threads of the wanted names.
fn find_processes(scope: &Scope) -> Result<(Processes, Processes), Failure> {
    let mut watched = Processes::new();
    let mut kernel_threads = Processes::new();
    if scope.watched.is_empty() && scope.kernel_threads.is_empty() {
        return Ok((watched, kernel_threads));
    }
    // One that ends while we look is left out.
    let all: BTreeMap<i32, (ProcProcess, Stat)> = all_processes()
        .map_err(proc_failure("/proc"))?
        .filter_map(|process| {
            let process = process.ok()?;
            let stat = process.stat().ok()?;
            Some((stat.pid, (process, stat)))
        })
        .collect();
    let parents = all
        .iter()
        .map(|(pid, (_, stat))| (*pid, stat.ppid))
        .collect();
    for (pid, (process, stat)) in &all {
        let identity = Identity {
            pid: *pid,
            start_ticks: stat.starttime,
        };
        if let Some(label) = label_of(*pid, &parents, &scope.watched) {
            watched.insert(identity, read_process(process, stat, label));
        }
        let wanted = |name: &Regex| name.is_match(&stat.comm);
        if stat.ppid == KTHREADD && scope.kernel_threads.iter().any(wanted) {
            kernel_threads.insert(identity, read_process(process, stat, &stat.comm));
        }
    }
    Ok((watched, kernel_threads))
}

/// The label of a process: its own, or that of its nearest ancestor that has one.
fn label_of<'a>(pid: i32, parents: &BTreeMap<i32, i32>, watched: &'a [Watched]) -> Option<&'a str> {
    let mut at = pid;
    // The listing is not of one moment, so that it could hold a loop.
    for _ in 0..parents.len() {
        if let Some(found) = watched.iter().find(|watched| watched.pid == at) {
            return Some(&found.label);
        }
        at = *parents.get(&at)?;
    }
    None
}

fn read_process(process: &ProcProcess, stat: &Stat, label: &str) -> Process {
    let status = process.status().ok();
    let threads: BTreeMap<i32, Thread> = process
        .tasks()
        .into_iter()
        .flatten()
        .filter_map(|task| {
            let task = task.ok()?;
            let stat = task.stat().ok()?;
            let status = task.status().ok();
            let switches = |count: Option<u64>| count.unwrap_or(0);
            let thread = Thread {
                name: stat.comm,
                user: stat.utime,
                system: stat.stime,
                run_ns: task.schedstat().map_or(0, |sched| sched.sum_exec_runtime),
                voluntary: switches(status.as_ref().and_then(|s| s.voluntary_ctxt_switches)),
                involuntary: switches(status.and_then(|s| s.nonvoluntary_ctxt_switches)),
            };
            Some((task.tid, thread))
        })
        .collect();
    let of_threads = || threads.values().map(|thread| thread.run_ns).sum();
    Process {
        label: label.to_owned(),
        comm: stat.comm.clone(),
        user: stat.utime,
        system: stat.stime,
        run_ns: process_cpu_ns(stat.pid).unwrap_or_else(of_threads),
        vm_hwm_bytes: status.and_then(|status| status.vmhwm).map(|kb| kb * 1024),
        threads,
    }
}

/// The processor time of a whole process, threads that have ended included.
fn process_cpu_ns(pid: i32) -> Option<u64> {
    let clock = clock_getcpuclockid(Pid::from_raw(pid)).ok()?;
    let time = clock_gettime(clock).ok()?;
    Some(time.tv_sec() as u64 * 1_000_000_000 + time.tv_nsec() as u64)
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

/// Of those names only; a device that does not exist (yet) is left out.
fn devices(names: &[String]) -> Result<BTreeMap<String, Device>, Failure> {
    if names.is_empty() {
        return Ok(BTreeMap::new());
    }
    let queues = qdiscs().map_err(during("list the queues"))?;
    let links = links().map_err(during("list the interfaces"))?;
    let wanted = links.into_iter().filter(|link| names.contains(&link.name));
    Ok(wanted
        .map(|link| {
            let own = queues.iter().filter(|queue| queue.link_index == link.index);
            let queues = own.map(|queue| {
                let counters = Queue {
                    kind: queue.kind.clone(),
                    root: queue.root,
                    drops: queue.drops,
                    overlimits: queue.overlimits,
                    requeues: queue.requeues,
                    backlog_bytes: queue.backlog_bytes,
                };
                (queue.handle, counters)
            });
            let device = Device {
                mtu: link.mtu,
                stats: link.stats,
                queues: queues.collect(),
            };
            (link.name, device)
        })
        .collect())
}

fn protocols() -> Result<Protocols, Failure> {
    let snmp = procfs::net::snmp().map_err(proc_failure("/proc/net/snmp"))?;
    Ok(Protocols {
        udp: [
            snmp.udp_in_datagrams,
            snmp.udp_out_datagrams,
            snmp.udp_no_ports,
            snmp.udp_in_errors,
            snmp.udp_rcvbuf_errors,
            snmp.udp_sndbuf_errors,
            snmp.udp_in_csum_errors,
        ],
        ip: [
            snmp.ip_in_receives,
            snmp.ip_in_delivers,
            snmp.ip_in_discards,
            snmp.ip_forw_datagrams,
            snmp.ip_out_requests,
            snmp.ip_out_discards,
            snmp.ip_out_no_routes,
            snmp.ip_frag_creates,
            snmp.ip_frag_fails,
            snmp.ip_reasm_reqds,
            snmp.ip_reasm_oks,
            snmp.ip_reasm_fails,
        ],
    })
}

/// `/proc/net/softnet_stat`: a line per processor; the second and third hexadecimal columns.
fn softnet(text: &str) -> Softnet {
    let mut sum = Softnet::default();
    for line in text.lines() {
        let mut columns = line
            .split_whitespace()
            .map(|column| u64::from_str_radix(column, 16).unwrap_or(0));
        sum.dropped += columns.nth(1).unwrap_or(0);
        sum.time_squeeze += columns.next().unwrap_or(0);
    }
    sum
}

fn proc_failure(what: &str) -> impl FnOnce(procfs::ProcError) -> Failure {
    move |error| {
        let remedy = "mount /proc in the mount namespace of the probe";
        Failure::new(what, error.to_string(), remedy)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_softnet_text_is_survived(text: String) {
            softnet(&text);
        }

        #[test]
        fn any_family_tree_ends(parents: BTreeMap<i32, i32>, pid: i32) {
            label_of(pid, &parents, &[]);
        }
    }

    #[test]
    fn softnet_is_summed_over_processors() {
        let text = "0000000a 00000001 00000002 0 0\n0000000b 00000010 00000003 0 0\n";
        let expected = Softnet {
            dropped: 17,
            time_squeeze: 5,
        };
        assert_eq!(softnet(text), expected);
    }

    #[test]
    fn descendants_carry_the_label() {
        let parents = BTreeMap::from([(10, 1), (11, 10), (12, 11), (20, 1)]);
        let watched = [Watched {
            pid: 10,
            label: "vpn".to_owned(),
        }];
        assert_eq!(label_of(12, &parents, &watched), Some("vpn"));
        assert_eq!(label_of(20, &parents, &watched), None);
    }
}
