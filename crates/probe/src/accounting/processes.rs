//! Processes, their threads and kernel threads at one moment.

use super::threads::{Thread, Threads};
use crate::protocol::failure::{Failure, during};
use nix::time::{clock_getcpuclockid, clock_gettime};
use nix::unistd::Pid;
use procfs::FromRead;
use procfs::process::Stat;
use regex_lite::Regex;
use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

const PROC: &str = "/proc";
/// The machine's, in a PID namespace of `culvert-probe rootless`: kernel threads are there alone.
const MACHINE_PROC: &str = "/run/culvert-proc";
/// The parent of every kernel thread.
const KTHREADD: i32 = 2;
/// The label of processes in a node's PID namespace that descend from no watched one.
pub const UNDECLARED: &str = "undeclared";

/// A process that a request names.
#[derive(Debug, Clone, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Watched {
    pub pid: i32,
    pub label: String,
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
    pub run_ns: u64,
    /// Of children that have ended and were waited for, with theirs.
    pub children: u64,
    pub vm_hwm_bytes: Option<u64>,
    pub threads: BTreeMap<i32, Thread>,
}

pub type Processes = BTreeMap<Identity, Process>;

/// The watched processes with their descendants, and the kernel threads of the wanted names;
/// `by_thread`: with the times of their threads; `node_init`: process 1 of a PID namespace, all of
/// whose processes are added, and what those used whose end it waited for.
pub fn find_processes(
    watched: &[Watched],
    by_thread: bool,
    node_init: Option<i32>,
    kernel_threads: &[Regex],
) -> Result<(Processes, Processes), Failure> {
    let (mut processes, mut threads) = (Processes::new(), Processes::new());
    if watched.is_empty() && kernel_threads.is_empty() && node_init.is_none() {
        return Ok((processes, threads));
    }
    let own = all_processes(PROC)?;
    let parents = own.iter().map(|(pid, stat)| (*pid, stat.ppid)).collect();
    let of_node = node_init.map_or_else(Vec::new, |init| of_namespace(init, own.keys()));
    for (pid, stat) in &own {
        let undeclared = || label_of(*pid, &parents, &of_node);
        if node_init == Some(*pid) {
            // Without such orphans the node may have no process at all.
            if of_children(stat) > 0 {
                processes.insert(identity(stat), orphans_that_ended(stat));
            }
        } else if let Some(label) = label_of(*pid, &parents, watched).or_else(undeclared) {
            let process = read_process(PROC, stat, label, process_cpu_ns(*pid), by_thread);
            processes.insert(identity(stat), process);
        }
    }
    if kernel_threads.is_empty() {
        return Ok((processes, threads));
    }
    let (proc, all) = if Path::new(MACHINE_PROC).join("stat").exists() {
        (MACHINE_PROC, all_processes(MACHINE_PROC)?)
    } else {
        (PROC, own)
    };
    for stat in all.values() {
        let wanted = |name: &Regex| name.is_match(&stat.comm);
        if stat.ppid == KTHREADD && kernel_threads.iter().any(wanted) {
            // Its id is another in this PID namespace, if it has one; and it has but one thread.
            let process = read_process(proc, stat, &stat.comm, None, true);
            threads.insert(identity(stat), process);
        }
    }
    Ok((processes, threads))
}

/// The processes in the PID namespace of `init`, whatever they did to their session, parents and
/// environment: none can leave it, and namespaces below it are their descendants'.
fn of_namespace<'a>(init: i32, all: impl Iterator<Item = &'a i32>) -> Vec<Watched> {
    let namespace = |pid: i32| file_of(&pid.to_string(), "ns/pid").ok();
    let Some(of_init) = namespace(init) else {
        return Vec::new(); // it has ended, and all others with it
    };
    all.filter(|pid| namespace(**pid) == Some(of_init))
        .map(|pid| Watched {
            pid: *pid,
            label: UNDECLARED.to_owned(),
        })
        .collect()
}

/// Init itself is the lab's; those that it waited for were the node's.
fn orphans_that_ended(init: &Stat) -> Process {
    Process {
        label: UNDECLARED.to_owned(),
        comm: init.comm.clone(),
        children: of_children(init),
        ..Process::default()
    }
}

fn file_of(process: &str, name: &str) -> std::io::Result<(u64, u64)> {
    let found = std::fs::metadata(format!("{PROC}/{process}/{name}"))?;
    Ok((found.dev(), found.ino()))
}

/// One that ends while we look is left out.
fn all_processes(proc: &str) -> Result<BTreeMap<i32, Stat>, Failure> {
    Ok(std::fs::read_dir(proc)
        .map_err(during(proc))?
        .filter_map(|entry| {
            let directory = entry.ok()?.path();
            let pid = directory.file_name()?.to_str()?.parse().ok()?;
            Some((pid, Stat::from_file(directory.join("stat")).ok()?))
        })
        .collect())
}

fn identity(stat: &Stat) -> Identity {
    Identity {
        pid: stat.pid,
        start_ticks: stat.starttime,
    }
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

fn read_process(
    proc: &str,
    stat: &Stat,
    label: &str,
    run_ns: Option<u64>,
    by_thread: bool,
) -> Process {
    let tasks = Path::new(proc).join(format!("{}/task", stat.pid));
    let threads = Threads::read(&tasks, by_thread || run_ns.is_none());
    let of_threads = || threads.by_id.values().map(|thread| thread.run_ns).sum();
    Process {
        label: label.to_owned(),
        comm: stat.comm.clone(),
        run_ns: run_ns.unwrap_or_else(of_threads),
        children: of_children(stat),
        vm_hwm_bytes: threads.vm_hwm_bytes,
        threads: threads.by_id,
    }
}

fn of_children(stat: &Stat) -> u64 {
    u64::try_from(stat.cutime + stat.cstime).unwrap_or(0)
}

/// The processor time of a whole process, threads that have ended included.
fn process_cpu_ns(pid: i32) -> Option<u64> {
    let clock = clock_getcpuclockid(Pid::from_raw(pid)).ok()?;
    let time = clock_gettime(clock).ok()?;
    Some(time.tv_sec() as u64 * 1_000_000_000 + time.tv_nsec() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_family_tree_ends(parents: BTreeMap<i32, i32>, pid: i32) {
            label_of(pid, &parents, &[]);
        }
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
