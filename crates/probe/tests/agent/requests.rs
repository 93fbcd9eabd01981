//! Requests to the agent: accepted, or refused with a reason.

use crate::LOOPBACK;
use crate::support::{Agent, TOKEN, echo, udp_sink};
use serde_json::json;

#[test]
fn hello_tells_version_and_protocol() {
    let mut agent = Agent::start();
    agent.send(json!({"id": 1, "do": "hello"}));
    let hello = agent.done(1);
    assert_eq!(hello["protocol"], 1);
    assert_eq!(hello["version"], env!("CARGO_PKG_VERSION"));
    assert!(agent.end().success());
}

#[test]
fn bad_requests_are_refused_and_the_agent_lives_on() {
    let mut agent = Agent::start();
    let bad: [(&[u8], Option<u64>); 7] = [
        (b"not json", None),
        (b"\xff\xfe{}", None),
        (b"[1]", None),
        (br#"{"do":"hello"}"#, None),
        (br#"{"id":5,"do":"dance"}"#, Some(5)),
        (br#"{"id":6,"do":"echo","bind":"nowhere"}"#, Some(6)),
        (
            br#"{"id":7,"do":"echo","bind":"127.0.0.1","idle_s":1e300}"#,
            Some(7),
        ),
    ];
    for (line, id) in bad {
        agent.send_bytes(line);
        agent.error(id);
    }
    agent.send_bytes(&vec![b'a'; 2 << 20]);
    agent.error(None);
    agent.send(json!({"id": 8, "do": "hello"}));
    agent.done(8);
}

#[test]
fn an_id_in_use_and_a_port_in_use_are_errors() {
    let mut agent = Agent::start();
    let port = echo(&mut agent, 1, 10.0);
    agent.send(json!({
        "id": 1, "do": "echo", "bind": LOOPBACK, "token": TOKEN, "idle_s": 1,
    }));
    assert!(
        agent.error(Some(1))["why"]
            .as_str()
            .unwrap()
            .contains("still runs")
    );
    agent.send(json!({
        "id": 2, "do": "echo", "bind": LOOPBACK, "port": port, "token": TOKEN, "idle_s": 1,
    }));
    assert!(
        agent.error(Some(2))["remedy"]
            .as_str()
            .unwrap()
            .contains("port")
    );
    agent.stop(1);
    // Once a task has reported its end, its id and its port are free.
    agent.ready(json!({
        "id": 1, "do": "echo", "bind": LOOPBACK, "port": port, "token": TOKEN, "idle_s": 5,
    }));
}

#[test]
fn the_end_of_the_input_ends_everything() {
    let mut agent = Agent::start();
    let port = echo(&mut agent, 1, 1000.0);
    udp_sink(&mut agent, 2);
    agent.ready(json!({
        "id": 3, "do": "rtt", "protocol": "udp", "to": LOOPBACK, "port": port, "token": TOKEN,
        "rate_pps": 10, "count": 1000000, "payload_size": 36, "timeout_ms": 1000,
    }));
    assert!(agent.end().success());
}

#[test]
fn the_kernels_files_are_read_and_no_others() {
    let mut agent = Agent::start();
    let paths = [
        "/proc/net/dev",
        "/proc/self/root/etc/passwd",
        "/etc/passwd",
        "/proc/none",
    ];
    agent.send(json!({"id": 1, "do": "read", "paths": paths}));
    let files = agent.done(1)["files"].as_array().unwrap().clone();
    assert!(files[0]["text"].as_str().unwrap().contains("lo:"));
    for (file, path) in files.iter().zip(paths).skip(1) {
        assert_eq!(file["path"], path);
        assert!(file["text"].is_null());
        assert!(!file["error"].as_str().unwrap().is_empty());
    }
    agent.send(json!({"id": 2, "do": "read", "paths": vec!["/proc/stat"; 257]}));
    agent.error(Some(2));
}
