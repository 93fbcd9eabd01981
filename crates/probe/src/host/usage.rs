//! What a process has used since its start (proc_pid_status(5), sched-stats).

use super::processes;
use serde_json::{Value, json};
use std::fs;

/// The sum of its present threads; null if it has ended.
pub fn of(pid: i32, resumptions: u64) -> Value {
    read(pid, resumptions).unwrap_or(Value::Null)
}

fn read(pid: i32, resumptions: u64) -> Option<Value> {
    let (mut cpu_ns, mut voluntary, mut involuntary, mut threads) = (0, 0, 0, 0);
    for thread in fs::read_dir(format!("/proc/{pid}/task")).ok()?.flatten() {
        let text = |name: &str| fs::read_to_string(thread.path().join(name)).ok();
        let schedstat = text("schedstat")?;
        cpu_ns += schedstat
            .split_ascii_whitespace()
            .next()?
            .parse::<u64>()
            .ok()?;
        let status = text("status")?;
        voluntary += figure(&status, "voluntary_ctxt_switches:");
        involuntary += figure(&status, "nonvoluntary_ctxt_switches:");
        threads += 1;
    }
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    Some(json!({
        "cpu_ns": cpu_ns,
        "voluntary": voluntary,
        "involuntary": involuntary,
        "peak_bytes": figure(&status, "VmHWM:") * 1024,
        "threads": threads,
        "resumptions": resumptions,
        "stopped": processes::stopped(pid),
    }))
}

fn figure(status: &str, name: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    line.and_then(|rest| rest.split_ascii_whitespace().next()?.parse().ok())
        .unwrap_or(0)
}
