//! Round trips of UDP and ICMP on a schedule.

use crate::LOOPBACK;
use crate::support::{Agent, TOKEN, echo};
use serde_json::{Value, json};
use std::net::UdpSocket;

#[test]
fn all_round_trips_of_udp_are_measured() {
    let mut agent = Agent::start();
    let port = echo(&mut agent, 1, 10.0);
    agent.ready(json!({
        "id": 2, "do": "rtt", "protocol": "udp", "to": LOOPBACK, "port": port, "token": TOKEN,
        "rate_pps": 2000, "count": 500, "payload_size": 36, "timeout_ms": 5000,
    }));
    let rtt = agent.done(2);
    assert_eq!(rtt["sent"], 500);
    assert_eq!(rtt["received"], 500, "{rtt}");
    assert_eq!(rtt["count"], 500);
    assert_eq!(rtt["lost"], 0);
    assert_eq!(rtt["timestamps"], "kernel");
    assert!(rtt["min_ns"].as_u64() <= rtt["p50_ns"].as_u64());
    assert!(rtt["p50_ns"].as_u64() <= rtt["max_ns"].as_u64());
    assert_eq!(agent.stop(1)["packets"], 500);
}

#[test]
fn probes_can_be_spread_in_three_ways() {
    let mut agent = Agent::start();
    let port = echo(&mut agent, 1, 10.0);
    for (id, sampling) in [(2, "scattered"), (3, "periodic"), (4, "poisson")] {
        agent.ready(json!({
            "id": id, "do": "rtt", "protocol": "udp", "to": LOOPBACK, "port": port, "token": TOKEN,
            "rate_pps": 2000, "count": 200, "payload_size": 36, "timeout_ms": 5000,
            "sampling": sampling,
        }));
        let rtt = agent.done(id);
        assert_eq!(rtt["received"], 200, "{sampling}: {rtt}");
        let seconds = rtt["seconds"].as_f64().unwrap();
        assert!((0.05..5.0).contains(&seconds), "{sampling}: {seconds} s");
    }
    agent.stop(1);
}

#[test]
fn round_trips_of_icmp_are_measured() {
    let mut agent = Agent::start();
    agent.send(json!({
        "id": 2, "do": "rtt", "protocol": "icmp", "to": LOOPBACK, "token": TOKEN,
        "rate_pps": 1000, "count": 50, "payload_size": 56, "timeout_ms": 5000,
    }));
    let ready = agent.answer(Some(2));
    if ready["event"] == "error" {
        assert!(
            ready["remedy"].as_str().unwrap().contains("root"),
            "{ready}"
        );
        return;
    }
    let rtt = agent.done(2);
    assert_eq!(rtt["received"], 50, "{rtt}");
    assert_eq!(rtt["corrupt"], 0);
}

#[test]
fn answers_that_never_come_are_lost() {
    let silent = UdpSocket::bind((LOOPBACK, 0)).unwrap();
    let port = silent.local_addr().unwrap().port();
    let mut agent = Agent::start();
    agent.ready(json!({
        "id": 2, "do": "rtt", "protocol": "udp", "to": LOOPBACK, "port": port, "token": TOKEN,
        "rate_pps": 1000, "count": 20, "payload_size": 36, "timeout_ms": 20,
    }));
    let rtt = agent.done(2);
    assert_eq!((&rtt["sent"], &rtt["lost"]), (&json!(20), &json!(20)));
    assert!(rtt.get("p50_ns").is_none());
}

#[test]
fn round_trips_stopped_before_the_first_are_a_result() {
    let mut agent = Agent::start();
    let port = echo(&mut agent, 1, 10.0);
    agent.send(json!({
        "id": 2, "do": "rtt", "protocol": "udp", "to": LOOPBACK, "port": port, "token": TOKEN,
        "rate_pps": 1, "count": 1000, "payload_size": 36, "timeout_ms": 1000,
    }));
    agent.send(json!({"id": 2, "do": "stop"}));
    assert_eq!(agent.answer(Some(2))["event"], "ready");
    assert!(agent.done(2)["sent"].as_u64().unwrap() < 1000);
}

#[test]
fn ipv6_works_too() {
    let Ok(probe) = UdpSocket::bind("[::1]:0") else {
        return;
    };
    drop(probe);
    let mut agent = Agent::start();
    let ready = agent.ready(json!({
        "id": 1, "do": "echo", "bind": "::1", "token": TOKEN, "idle_s": 10,
    }));
    agent.ready(json!({
        "id": 2, "do": "rtt", "protocol": "udp", "to": "::1", "port": ready["port"],
        "token": TOKEN, "rate_pps": 1000, "count": 20, "payload_size": 36, "timeout_ms": 5000,
    }));
    assert_eq!(agent.done(2)["received"], 20);
    agent.send(json!({
        "id": 3, "do": "rtt", "protocol": "icmp", "to": "::1", "token": TOKEN,
        "rate_pps": 1000, "count": 20, "payload_size": 36, "timeout_ms": 5000,
    }));
    let ready = agent.answer(Some(3));
    if ready["event"] == "ready" {
        assert_eq!(agent.done(3)["received"], 20);
    }
    agent.stop(1);
}

/// Round trips to a socket that nobody reads.
fn schedule(agent: &mut Agent, rate_pps: u32, count: u32) -> Value {
    let silent = UdpSocket::bind((LOOPBACK, 0)).unwrap();
    let port = silent.local_addr().unwrap().port();
    agent.ready(json!({
        "id": 1, "do": "rtt", "protocol": "udp", "to": LOOPBACK, "port": port, "token": TOKEN,
        "rate_pps": rate_pps, "count": count, "payload_size": 36, "timeout_ms": 1, "spin_us": 10,
    }));
    agent.done(1)
}

#[test]
fn of_a_hundred_thousand_a_second_none_is_left_out() {
    let found = schedule(&mut Agent::start(), 100_000, 10_000);
    assert_eq!(
        (&found["sent"], &found["lost"]),
        (&json!(10_000), &json!(10_000)),
        "{found}"
    );
    assert_eq!(found["send_errors"], json!({}));
}

#[test]
fn a_schedule_that_nothing_can_keep_is_followed_late_and_told() {
    // No system call takes as little as 10 ns.
    let found = schedule(&mut Agent::start(), 100_000_000, 1000);
    assert_eq!(found["sent"], 1000, "{found}");
    assert!(found["overdue"].as_u64().unwrap() > 500, "{found}");
    assert!(found["schedule_error_max_ns"].as_u64() > Some(1000));
}
