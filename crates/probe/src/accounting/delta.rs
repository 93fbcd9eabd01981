//! What changed between two snapshots. Pure.

use super::network::{Device, IP_COUNTERS, Queue, UDP_COUNTERS};
use super::processes::{Process, Processes, Thread};
use super::snapshot::{Cpu, Snapshot};
use serde::Serialize;
use std::collections::BTreeMap;

#[derive(Debug, Serialize)]
pub struct Delta {
    pub start_ns: u64,
    pub seconds: f64,
    pub cpus: Vec<CpuTime>,
    pub processes: Vec<ProcessTime>,
    pub kernel_threads: Vec<ProcessTime>,
    /// None if the request did not want it.
    pub probe: Option<ProbeTime>,
    pub devices: Vec<DeviceTraffic>,
    pub udp: BTreeMap<&'static str, u64>,
    pub ip: BTreeMap<&'static str, u64>,
    pub softnet: SoftnetLoss,
    pub context_switches_total: u64,
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

/// Times of a process that has died are unknown, hence none.
#[derive(Debug, Serialize)]
pub struct ProcessTime {
    pub label: String,
    pub pid: i32,
    pub comm: String,
    pub user_s: Option<f64>,
    pub system_s: Option<f64>,
    pub run_ns: Option<u64>,
    pub voluntary: Option<u64>,
    pub involuntary: Option<u64>,
    pub vm_hwm_bytes: Option<u64>,
    pub threads: Vec<ThreadTime>,
    pub died: bool,
}

#[derive(Debug, Serialize)]
pub struct ThreadTime {
    pub tid: i32,
    pub name: String,
    pub run_ns: u64,
    pub user_s: f64,
    pub system_s: f64,
    pub voluntary: u64,
    pub involuntary: u64,
}

#[derive(Debug, Serialize)]
pub struct ProbeTime {
    pub user_s: f64,
    pub system_s: f64,
    pub run_ns: u64,
}

#[derive(Debug, Serialize)]
pub struct DeviceTraffic {
    pub name: String,
    pub mtu: u32,
    pub rx_packets: u64,
    pub rx_bytes: u64,
    pub rx_dropped: u64,
    pub rx_errors: u64,
    pub tx_packets: u64,
    pub tx_bytes: u64,
    pub tx_dropped: u64,
    pub tx_errors: u64,
    pub qdiscs: Vec<QueueLoss>,
}

#[derive(Debug, Serialize)]
pub struct QueueLoss {
    pub kind: String,
    pub root: bool,
    pub drops: u32,
    pub overlimits: u32,
    pub requeues: u32,
    /// At the end, not a difference.
    pub backlog_bytes: u32,
}

#[derive(Debug, Serialize)]
pub struct SoftnetLoss {
    pub dropped: u64,
    pub time_squeeze: u64,
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
        processes: process_times(&before.processes, &after.processes, ticks),
        kernel_threads: process_times(&before.kernel_threads, &after.kernel_threads, ticks),
        probe: Some(ProbeTime {
            user_s: since(after.own.user_ns, before.own.user_ns) as f64 / 1e9,
            system_s: since(after.own.system_ns, before.own.system_ns) as f64 / 1e9,
            run_ns: since(after.own.run_ns, before.own.run_ns),
        }),
        devices: after
            .devices
            .iter()
            .map(|(name, device)| device_traffic(name, before.devices.get(name), device))
            .collect(),
        udp: counters(&UDP_COUNTERS, &before.protocols.udp, &after.protocols.udp),
        ip: counters(&IP_COUNTERS, &before.protocols.ip, &after.protocols.ip),
        softnet: SoftnetLoss {
            dropped: since(after.softnet.dropped, before.softnet.dropped),
            time_squeeze: since(after.softnet.time_squeeze, before.softnet.time_squeeze),
        },
        context_switches_total: since(after.context_switches, before.context_switches),
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

/// Processes of both moments; one that is new counts from zero.
fn process_times(before: &Processes, after: &Processes, ticks: Ticks) -> Vec<ProcessTime> {
    let nothing = Process::default();
    let alive = after.iter().map(|(identity, process)| {
        let before = before.get(identity).unwrap_or(&nothing);
        process_time(identity.pid, before, process, ticks)
    });
    let dead = before
        .iter()
        .filter(|(identity, _)| !after.contains_key(identity))
        .map(|(identity, process)| dead_process(identity.pid, process));
    alive.chain(dead).collect()
}

fn process_time(pid: i32, before: &Process, after: &Process, ticks: Ticks) -> ProcessTime {
    let nothing = Thread::default();
    let threads: Vec<ThreadTime> = after
        .threads
        .iter()
        .map(|(tid, thread)| {
            let before = before.threads.get(tid).unwrap_or(&nothing);
            ThreadTime {
                tid: *tid,
                name: thread.name.clone(),
                run_ns: since(thread.run_ns, before.run_ns),
                user_s: ticks.seconds(thread.user, before.user),
                system_s: ticks.seconds(thread.system, before.system),
                voluntary: since(thread.voluntary, before.voluntary),
                involuntary: since(thread.involuntary, before.involuntary),
            }
        })
        .collect();
    ProcessTime {
        label: after.label.clone(),
        pid,
        comm: after.comm.clone(),
        user_s: Some(ticks.seconds(after.user, before.user)),
        system_s: Some(ticks.seconds(after.system, before.system)),
        run_ns: Some(since(after.run_ns, before.run_ns)),
        voluntary: Some(threads.iter().map(|thread| thread.voluntary).sum()),
        involuntary: Some(threads.iter().map(|thread| thread.involuntary).sum()),
        vm_hwm_bytes: after.vm_hwm_bytes,
        threads,
        died: false,
    }
}

fn dead_process(pid: i32, before: &Process) -> ProcessTime {
    ProcessTime {
        label: before.label.clone(),
        pid,
        comm: before.comm.clone(),
        user_s: None,
        system_s: None,
        run_ns: None,
        voluntary: None,
        involuntary: None,
        vm_hwm_bytes: before.vm_hwm_bytes,
        threads: Vec::new(),
        died: true,
    }
}

/// A device that came in between counts from zero.
fn device_traffic(name: &str, before: Option<&Device>, after: &Device) -> DeviceTraffic {
    let nothing = Device::default();
    let before = before.unwrap_or(&nothing);
    let (b, a) = (&before.stats, &after.stats);
    DeviceTraffic {
        name: name.to_owned(),
        mtu: after.mtu,
        rx_packets: since(a.rx_packets, b.rx_packets),
        rx_bytes: since(a.rx_bytes, b.rx_bytes),
        rx_dropped: since(a.rx_dropped, b.rx_dropped),
        rx_errors: since(a.rx_errors, b.rx_errors),
        tx_packets: since(a.tx_packets, b.tx_packets),
        tx_bytes: since(a.tx_bytes, b.tx_bytes),
        tx_dropped: since(a.tx_dropped, b.tx_dropped),
        tx_errors: since(a.tx_errors, b.tx_errors),
        qdiscs: after
            .queues
            .iter()
            .map(|(handle, queue)| queue_loss(before.queues.get(handle), queue))
            .collect(),
    }
}

/// These counters have 32 bits and wrap around.
fn queue_loss(before: Option<&Queue>, after: &Queue) -> QueueLoss {
    let since = |field: fn(&Queue) -> u32| field(after).wrapping_sub(before.map_or(0, field));
    QueueLoss {
        kind: after.kind.clone(),
        root: after.root,
        drops: since(|queue| queue.drops),
        overlimits: since(|queue| queue.overlimits),
        requeues: since(|queue| queue.requeues),
        backlog_bytes: after.backlog_bytes,
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
    use super::super::processes::Identity;
    use super::*;

    fn process(run_ns: u64, threads: &[(i32, u64)]) -> Process {
        Process {
            label: "vpn".to_owned(),
            comm: "vpn".to_owned(),
            user: run_ns / 10_000_000,
            run_ns,
            threads: threads
                .iter()
                .map(|&(tid, voluntary)| {
                    let thread = Thread {
                        voluntary,
                        ..Thread::default()
                    };
                    (tid, thread)
                })
                .collect(),
            ..Process::default()
        }
    }

    fn snapshot(processes: &[(i32, u64, Process)]) -> Snapshot {
        Snapshot {
            ticks_per_second: 100,
            processes: processes
                .iter()
                .map(|(pid, start_ticks, process)| {
                    let identity = Identity {
                        pid: *pid,
                        start_ticks: *start_ticks,
                    };
                    (identity, process.clone())
                })
                .collect(),
            ..Snapshot::default()
        }
    }

    #[test]
    fn alive_new_dead_and_reused() {
        let before = snapshot(&[
            (1, 0, process(1_000_000_000, &[(1, 5)])),
            (2, 0, process(7, &[])),
            (3, 0, process(9_000_000_000, &[])),
        ]);
        let after = snapshot(&[
            (1, 0, process(1_500_000_000, &[(1, 8), (4, 2)])),
            (3, 99, process(20_000_000, &[])),
        ]);
        let delta = between(&before, &after);
        let find = |pid, died| {
            let mut all = delta.processes.iter();
            all.find(|process| process.pid == pid && process.died == died)
        };
        let alive = find(1, false).unwrap();
        assert_eq!(alive.run_ns, Some(500_000_000));
        assert_eq!(alive.user_s, Some(0.5));
        assert_eq!(alive.voluntary, Some(5));
        assert!(find(2, true).unwrap().run_ns.is_none());
        // Another process with the id of one that is gone.
        assert!(find(3, true).is_some());
        assert_eq!(find(3, false).unwrap().run_ns, Some(20_000_000));
        assert_eq!(delta.processes.len(), 4);
    }

    #[test]
    fn queue_counters_wrap() {
        let queue = |drops| Queue {
            kind: "tbf".to_owned(),
            root: true,
            drops,
            overlimits: 0,
            requeues: 0,
            backlog_bytes: 9,
        };
        let loss = queue_loss(Some(&queue(u32::MAX)), &queue(4));
        assert_eq!((loss.drops, loss.backlog_bytes), (5, 9));
    }

    #[test]
    fn counters_have_their_names() {
        let values = counters(&[("a", "A"), ("b", "B")], &[1, 2], &[1, 7]);
        assert_eq!(values, BTreeMap::from([("a", 0), ("b", 5)]));
    }
}
