//! Threads of a process at one moment. A thousand clients have some ten thousand: only what is needed
//! is read.

use std::collections::BTreeMap;
use std::path::Path;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Thread {
    pub name: String,
    pub run_ns: u64,
    /// Ready to run, but without a processor.
    pub wait_ns: u64,
    pub voluntary: u64,
    pub involuntary: u64,
}

#[derive(Debug, Default, PartialEq, Eq)]
pub struct Threads {
    pub by_id: BTreeMap<i32, Thread>,
    /// Of their process.
    pub vm_hwm_bytes: Option<u64>,
}

impl Threads {
    /// Those in a directory such as /proc/1/task; one that ends while we look is left out. `timed`:
    /// with their processor time.
    pub fn read(tasks: &Path, timed: bool) -> Threads {
        let mut found = Threads::default();
        for entry in std::fs::read_dir(tasks).into_iter().flatten().flatten() {
            let Some(tid) = entry
                .file_name()
                .to_str()
                .and_then(|name| name.parse().ok())
            else {
                continue;
            };
            let task = entry.path();
            let status = std::fs::read_to_string(task.join("status"));
            let times = timed.then(|| std::fs::read_to_string(task.join("schedstat")).ok());
            if let Ok(status) = status {
                found.add(tid, &status, &times.flatten().unwrap_or_default());
            }
        }
        found
    }

    /// See proc_pid_status(5), and sched-stats of the kernel's documents.
    fn add(&mut self, tid: i32, status: &str, times: &str) {
        let mut times = times.split_whitespace().map(number);
        let mut thread = Thread {
            run_ns: times.next().unwrap_or(0),
            wait_ns: times.next().unwrap_or(0),
            ..Thread::default()
        };
        for line in status.lines() {
            let Some((key, value)) = line.split_once(':') else {
                continue;
            };
            match key {
                "Name" => value.trim_start().clone_into(&mut thread.name),
                "VmHWM" => self.vm_hwm_bytes = Some(1024 * number(value)),
                "voluntary_ctxt_switches" => thread.voluntary = number(value),
                "nonvoluntary_ctxt_switches" => thread.involuntary = number(value),
                _ => {}
            }
        }
        self.by_id.insert(tid, thread);
    }
}

/// Without its unit.
fn number(text: &str) -> u64 {
    let first = text.split_whitespace().next();
    first.and_then(|digits| digits.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_and_the_peak_of_its_process() {
        let status = "Name:\tkworker: 0\nVmPeak:\t  9 kB\nVmHWM:\t     7 kB\nThreads:\t2\n\
            voluntary_ctxt_switches:\t150\nnonvoluntary_ctxt_switches:\t545\n";
        let mut threads = Threads::default();
        threads.add(4, status, "1000 20 3\n");
        let thread = Thread {
            name: "kworker: 0".to_owned(),
            run_ns: 1000,
            wait_ns: 20,
            voluntary: 150,
            involuntary: 545,
        };
        assert_eq!(threads.by_id, BTreeMap::from([(4, thread)]));
        assert_eq!(threads.vm_hwm_bytes, Some(7 * 1024));
    }

    #[test]
    fn what_a_kernel_does_not_count_is_zero() {
        let mut threads = Threads::default();
        threads.add(4, "Name:\tx\n", "");
        assert_eq!(threads.by_id[&4].run_ns, 0);
        assert_eq!(threads.vm_hwm_bytes, None);
    }

    #[test]
    fn this_process_has_threads() {
        let own = Threads::read(Path::new("/proc/self/task"), true);
        assert!(own.by_id.values().any(|thread| thread.run_ns > 0));
        let untimed = Threads::read(Path::new("/proc/self/task"), false);
        assert!(untimed.by_id.values().all(|thread| thread.run_ns == 0));
        assert!(untimed.by_id.values().any(|thread| thread.voluntary > 0));
        assert!(own.vm_hwm_bytes > Some(0));
        let nothing = Threads::read(Path::new("/proc/0/task"), true);
        assert_eq!(nothing, Threads::default());
    }
}
