//! Time on processors, by process and thread.

use super::super::processes::{Process, Processes};
use super::super::threads::Thread;
use super::{Ticks, since};
use serde::Serialize;

/// Times of a process that has died are unknown, hence none.
#[derive(Debug, Serialize)]
pub struct ProcessTime {
    pub label: String,
    pub pid: i32,
    pub comm: String,
    pub run_ns: Option<u64>,
    /// Of its present threads: ready to run, but without a processor.
    pub wait_ns: Option<u64>,
    /// Of children that ended in between and were waited for: all that they ever used.
    pub children_s: Option<f64>,
    /// What a process that has died had used at the start, with its children that had ended: its
    /// parent's `children_s` has that in it.
    pub used_before_ns: Option<u64>,
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
    pub wait_ns: u64,
    pub voluntary: u64,
    pub involuntary: u64,
}

/// Processes of both moments; one that is new counts from zero.
pub fn process_times(before: &Processes, after: &Processes, ticks: Ticks) -> Vec<ProcessTime> {
    let nothing = Process::default();
    let alive = after.iter().map(|(identity, process)| {
        let before = before.get(identity).unwrap_or(&nothing);
        process_time(identity.pid, before, process, ticks)
    });
    let dead = before
        .iter()
        .filter(|(identity, _)| !after.contains_key(identity))
        .map(|(identity, process)| dead_process(identity.pid, process, ticks));
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
                wait_ns: since(thread.wait_ns, before.wait_ns),
                voluntary: since(thread.voluntary, before.voluntary),
                involuntary: since(thread.involuntary, before.involuntary),
            }
        })
        .collect();
    ProcessTime {
        label: after.label.clone(),
        pid,
        comm: after.comm.clone(),
        run_ns: Some(since(after.run_ns, before.run_ns)),
        wait_ns: Some(threads.iter().map(|thread| thread.wait_ns).sum()),
        children_s: Some(ticks.seconds(after.children, before.children)),
        used_before_ns: None,
        voluntary: Some(threads.iter().map(|thread| thread.voluntary).sum()),
        involuntary: Some(threads.iter().map(|thread| thread.involuntary).sum()),
        vm_hwm_bytes: after.vm_hwm_bytes,
        threads,
        died: false,
    }
}

fn dead_process(pid: i32, before: &Process, ticks: Ticks) -> ProcessTime {
    let children_ns = (ticks.seconds(before.children, 0) * 1e9) as u64;
    ProcessTime {
        label: before.label.clone(),
        pid,
        comm: before.comm.clone(),
        run_ns: None,
        wait_ns: None,
        children_s: None,
        used_before_ns: Some(before.run_ns + children_ns),
        voluntary: None,
        involuntary: None,
        vm_hwm_bytes: before.vm_hwm_bytes,
        threads: Vec::new(),
        died: true,
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::processes::Identity;
    use super::*;

    fn process(run_ns: u64, threads: &[(i32, u64)]) -> Process {
        Process {
            label: "vpn".to_owned(),
            comm: "vpn".to_owned(),
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

    fn with_children(process: Process, children: u64) -> Process {
        Process {
            children,
            ..process
        }
    }

    fn of(processes: &[(i32, u64, Process)]) -> Processes {
        let identified = processes.iter().map(|(pid, start_ticks, process)| {
            let identity = Identity {
                pid: *pid,
                start_ticks: *start_ticks,
            };
            (identity, process.clone())
        });
        identified.collect()
    }

    #[test]
    fn alive_new_dead_and_reused() {
        let before = of(&[
            (1, 0, process(1_000_000_000, &[(1, 5)])),
            (2, 0, with_children(process(7, &[]), 3)),
            (3, 0, process(9_000_000_000, &[])),
        ]);
        let after = of(&[
            (1, 0, process(1_500_000_000, &[(1, 8), (4, 2)])),
            (3, 99, process(20_000_000, &[])),
        ]);
        let times = process_times(&before, &after, Ticks(100.0));
        let find = |pid, died| {
            let mut all = times.iter();
            all.find(|process| process.pid == pid && process.died == died)
        };
        let alive = find(1, false).unwrap();
        assert_eq!(alive.run_ns, Some(500_000_000));
        assert_eq!(alive.voluntary, Some(5));
        assert!(find(2, true).unwrap().run_ns.is_none());
        assert_eq!(find(2, true).unwrap().used_before_ns, Some(30_000_007));
        // Another process with the id of one that is gone.
        assert!(find(3, true).is_some());
        assert_eq!(find(3, false).unwrap().run_ns, Some(20_000_000));
        assert_eq!(times.len(), 4);
    }
}
