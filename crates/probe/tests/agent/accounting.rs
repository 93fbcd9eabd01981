//! Who used the processors, and what passed the devices.

use crate::LOOPBACK;
use crate::support::{Agent, TOKEN, udp_sink};
use nix::sys::time::TimeValLike;
use nix::time::{ClockId, clock_gettime};
use serde_json::json;

/// What this thread has used of the processors, however busy they are.
fn used_ns() -> i64 {
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID)
        .unwrap()
        .num_nanoseconds()
}

/// Bursts of a millisecond, a thousandth of a second apart from the tick: what the tick samples of them
/// is anything, what the idle clocks show is right.
#[test]
fn busy_time_covers_what_a_process_used() {
    let mut agent = Agent::start();
    let me = std::process::id();
    agent.ready(json!({"id": 1, "do": "accounting", "pids": [{"pid": me, "label": "test"}]}));
    let begun = std::time::Instant::now();
    for number in 1..=60 {
        let due = std::time::Duration::from_millis(8 * number);
        std::thread::sleep(due.saturating_sub(begun.elapsed()));
        let until_ns = used_ns() + 2_000_000;
        while used_ns() < until_ns {
            std::hint::spin_loop();
        }
    }
    let used = agent.stop(1);
    let Some(cpus) = used["busy"]["cpus"].as_array() else {
        // No idle clocks here: nothing is claimed.
        assert!(used["busy"].is_null());
        return;
    };
    let sum = |key: &str| {
        cpus.iter()
            .map(|cpu| cpu[key].as_u64().unwrap())
            .sum::<u64>()
    };
    let all = used["processes"].as_array().unwrap().iter();
    let processes = all.filter_map(|process| process["run_ns"].as_u64());
    let parts = processes.sum::<u64>() + used["probe"]["run_ns"].as_u64().unwrap();
    let whole = sum("busy_ns") + sum("uncertainty_ns");
    assert!(parts > 100_000_000, "{parts}");
    assert!(parts <= whole, "parts {parts}, whole {whole}: {used}");
    let elapsed_ns = used["seconds"].as_f64().unwrap() * 1e9;
    assert!(sum("busy_ns") as f64 <= (elapsed_ns + 1e6) * cpus.len() as f64);
    assert!(used["disturbance"]["clock_step_ns"].as_i64().unwrap().abs() < 1_000_000);
}

#[test]
fn accounting_finds_processes_traffic_and_the_probe_itself() {
    let mut agent = Agent::start();
    let port = udp_sink(&mut agent, 1);
    let mut child = std::process::Command::new("sleep")
        .arg("60")
        .spawn()
        .unwrap();
    let me = std::process::id();
    agent.ready(json!({
        "id": 2, "do": "accounting", "devices": ["lo"],
        "pids": [{"pid": me, "label": "test"}], "kernel_threads": ["^ksoftirqd"],
    }));
    agent.ready(json!({
        "id": 3, "do": "udp_source", "to": LOOPBACK, "port": port, "token": TOKEN,
        "payload_size": 100, "rate_pps": 1000, "duration_s": 0.1,
    }));
    let sent = agent.done(3)["packets"].as_u64().unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    // The kernel counts a datagram when it is read.
    agent.send(json!({"id": 1, "do": "stop", "packets": sent}));
    agent.done(1);
    let used = agent.stop(2);
    let processes = used["processes"].as_array().unwrap();
    let of_pid = |pid: u32| processes.iter().find(|p| p["pid"] == pid).unwrap();
    assert_eq!(of_pid(me)["label"], "test");
    assert_eq!(of_pid(me)["died"], false);
    assert!(of_pid(me)["vm_hwm_bytes"].as_u64().unwrap() > 0);
    // A child is taken along with its parent, and its end is reported.
    assert_eq!(of_pid(child.id())["label"], "test");
    assert_eq!(of_pid(child.id())["died"], true);
    assert!(used["probe"]["run_ns"].as_u64().unwrap() > 0);
    assert_eq!(used["devices"][0]["name"], "lo");
    assert!(used["devices"][0]["tx_packets"].as_u64().unwrap() >= sent);
    assert!(used["udp"]["in_datagrams"].as_u64().unwrap() >= sent);
    assert!(!used["cpus"].as_array().unwrap().is_empty());
}

#[test]
fn sums_of_processes_have_no_threads() {
    let mut agent = Agent::start();
    let me = std::process::id();
    agent.ready(json!({
        "id": 1, "do": "accounting", "by_thread": false,
        "pids": [{"pid": me, "label": "test"}],
    }));
    let until = std::time::Instant::now() + std::time::Duration::from_millis(20);
    while std::time::Instant::now() < until {}
    let used = agent.stop(1);
    let processes = used["processes"].as_array().unwrap();
    let own = processes.iter().find(|p| p["pid"] == me).unwrap();
    assert!(own["run_ns"].as_u64().unwrap() > 0);
    assert!(own["involuntary"].as_u64().is_some());
    assert_eq!(own["wait_ns"], serde_json::Value::Null);
    assert!(own["threads"].as_array().unwrap().is_empty());
}

#[test]
fn what_is_done_to_a_process_is_observed() {
    let mut agent = Agent::start();
    let mut child = std::process::Command::new("sleep")
        .arg("60")
        .spawn()
        .unwrap();
    agent.ready(json!({
        "id": 1, "do": "accounting", "devices": ["lo"], "interference": true,
        "pids": [{"pid": child.id(), "label": "sleeper"}],
    }));
    // SAFETY: takes numbers; the child is not reaped yet.
    unsafe { libc::kill(child.id() as i32, libc::SIGSTOP) };
    let stat = format!("/proc/{}/stat", child.id());
    while !std::fs::read_to_string(&stat).unwrap().contains(") T ") {
        std::thread::yield_now();
    }
    let used = agent.stop(1);
    child.kill().unwrap();
    child.wait().unwrap();
    let observed = &used["interference"];
    assert_eq!(observed["processes"], 1);
    assert_eq!(observed["devices"], 1);
    let episode = &observed["episodes"][0];
    assert_eq!(episode["kind"], "stopped");
    assert_eq!(episode["subject"]["process"]["label"], "sleeper");
}
