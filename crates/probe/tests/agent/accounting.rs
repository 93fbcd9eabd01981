//! Who used the processors, and what passed the devices.

use crate::LOOPBACK;
use crate::support::{Agent, TOKEN, udp_sink};
use serde_json::json;

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
        "id": 2, "do": "accounting", "self": true, "devices": ["lo"],
        "pids": [{"pid": me, "label": "test"}], "kernel_threads": ["^ksoftirqd"],
    }));
    agent.ready(json!({
        "id": 3, "do": "udp_source", "to": LOOPBACK, "port": port, "token": TOKEN,
        "payload_size": 100, "rate_pps": 1000, "duration_s": 0.1,
    }));
    let sent = agent.done(3)["packets"].as_u64().unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    let used = agent.stop(2);
    let processes = used["processes"].as_array().unwrap();
    let of_pid = |pid: u32| processes.iter().find(|p| p["pid"] == pid).unwrap();
    assert_eq!(of_pid(me)["label"], "test");
    assert_eq!(of_pid(me)["died"], false);
    assert!(of_pid(me)["vm_hwm_bytes"].as_u64().unwrap() > 0);
    // A child is taken along with its parent, and its end is told.
    assert_eq!(of_pid(child.id())["label"], "test");
    assert_eq!(of_pid(child.id())["died"], true);
    assert!(used["probe"]["run_ns"].as_u64().unwrap() > 0);
    assert_eq!(used["devices"][0]["name"], "lo");
    assert!(used["devices"][0]["tx_packets"].as_u64().unwrap() >= sent);
    assert!(used["udp"]["in_datagrams"].as_u64().unwrap() >= sent);
    assert!(!used["cpus"].as_array().unwrap().is_empty());
    agent.stop(1);
}
