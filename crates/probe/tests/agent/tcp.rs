//! Many streams, transactions and echo over TCP.

use crate::support::{Agent, CANARY, TOKEN};
use crate::{LOOPBACK, OTHER_TOKEN};
use serde_json::{Value, json};
use std::net::TcpStream;
use std::time::{Duration, Instant};

fn sum(of: &Value, field: &str) -> u64 {
    let all = of.as_array().unwrap().iter();
    all.map(|one| one[field].as_u64().unwrap()).sum()
}

#[test]
fn every_stream_is_counted_apart_and_together() {
    let mut agent = Agent::start();
    let port = agent.ready(json!({
        "id": 1, "do": "tcp_sink", "bind": LOOPBACK, "token": TOKEN, "canary": CANARY,
        "duration_max_s": 20, "interval_ms": 50, "streams": 3,
    }))["port"]
        .clone();
    agent.ready(json!({
        "id": 2, "do": "tcp_source", "connect": LOOPBACK, "port": port, "token": TOKEN,
        "canary": CANARY, "duration_s": 0.2, "congestion_control": "reno", "write_size": 10000,
        "nodelay": true, "interval_ms": 50, "drain_s": 10, "streams": 3,
    }));
    let source = agent.done(2);
    let sink = agent.done(1);
    assert_eq!(source["streams"].as_array().unwrap().len(), 3);
    assert_eq!(source["drained"], true, "{source}");
    assert_eq!(source["bytes_written"], sink["bytes"]);
    assert_eq!(
        sum(&sink["streams"], "bytes"),
        sink["bytes"].as_u64().unwrap()
    );
    assert_eq!(
        sum(&sink["intervals"], "bytes"),
        sink["bytes"].as_u64().unwrap()
    );
    assert_eq!(sink["ended"], "closed");
    assert_eq!(sink["corrupt_samples"], 0);
    for stream in source["streams"].as_array().unwrap() {
        assert!(stream["bytes_written"].as_u64().unwrap() > 0, "{stream}");
    }
}

fn responder(agent: &mut Agent, idle_s: f64) -> Value {
    agent.ready(json!({
        "id": 1, "do": "tcp_responder", "bind": LOOPBACK, "token": TOKEN, "idle_s": idle_s,
    }))["port"]
        .clone()
}

#[test]
fn transactions_over_one_connection_and_over_many() {
    let mut agent = Agent::start();
    let port = responder(&mut agent, 20.0);
    let request = |id: u64, what: &str| {
        json!({
            "id": id, "do": what, "connect": LOOPBACK, "port": port, "token": TOKEN,
            "request_size": 100, "response_size": 1000, "duration_s": 0.1,
        })
    };
    agent.ready(request(2, "tcp_rr"));
    let over_one = agent.done(2);
    agent.ready(request(3, "tcp_crr"));
    let over_many = agent.done(3);
    let responded = agent.stop(1);
    let count = |result: &Value| result["transactions"].as_u64().unwrap();
    assert!(
        count(&over_one) > 0 && count(&over_many) > 0,
        "{over_one} {over_many}"
    );
    assert_eq!(over_one["count"], over_one["transactions"]);
    assert_eq!(over_many["errors"], json!({}));
    assert_eq!(over_many["connect"]["count"], over_many["transactions"]);
    // Responses are 1,000 bytes long; where the responder has closed, the kernel counts its FIN.
    let received = |result: &Value| result["tcp_info"]["bytes_received"].as_u64().unwrap();
    assert_eq!(received(&over_one), 1000 * count(&over_one));
    assert_eq!(received(&over_many), 1001 * count(&over_many));
    let sent = responded["tcp_info"]["bytes_sent"].as_u64().unwrap();
    assert!(sent >= 1000 * (count(&over_one) + count(&over_many)));
    assert_eq!(
        responded["responses"].as_u64().unwrap(),
        count(&over_one) + count(&over_many)
    );
    assert_eq!(
        responded["connections"].as_u64().unwrap(),
        1 + count(&over_many)
    );
    assert_eq!(responded["strangers"], 0);
}

#[test]
fn a_responder_answers_no_strangers_and_ends_by_itself() {
    let mut agent = Agent::start();
    let port = responder(&mut agent, 0.5);
    agent.send(json!({
        "id": 2, "do": "tcp_crr", "connect": LOOPBACK, "port": port, "token": OTHER_TOKEN,
        "duration_s": 0.2,
    }));
    assert_eq!(agent.answer(Some(2))["event"], "ready");
    assert!(
        agent.error(Some(2))["why"]
            .as_str()
            .unwrap()
            .contains("no connection")
    );
    let responded = agent.done(1);
    assert!(responded["strangers"].as_u64().unwrap() >= 3, "{responded}");
    assert_eq!(responded["responses"], 0);
}

#[test]
fn round_trips_of_tcp_are_measured() {
    let mut agent = Agent::start();
    let port = responder(&mut agent, 20.0);
    agent.ready(json!({
        "id": 2, "do": "rtt", "protocol": "tcp", "to": LOOPBACK, "port": port, "token": TOKEN,
        "rate_pps": 2000, "count": 300, "payload_size": 100, "timeout_ms": 5000,
    }));
    let rtt = agent.done(2);
    assert_eq!(
        (&rtt["sent"], &rtt["received"]),
        (&json!(300), &json!(300)),
        "{rtt}"
    );
    assert_eq!((&rtt["corrupt"], &rtt["strangers"]), (&json!(0), &json!(0)));
    assert_eq!(rtt["timestamps"], "user");
    let responded = agent.stop(1);
    assert_eq!(rtt["tcp_info"]["bytes_received"], 300 * 100);
    // More, if the kernel thought that something was lost.
    assert!(responded["tcp_info"]["bytes_sent"].as_u64().unwrap() >= 300 * 100);
}

#[test]
fn the_noise_floor_is_told_without_a_network() {
    let mut agent = Agent::start();
    agent.ready(json!({
        "id": 1, "do": "noise_floor", "token": TOKEN, "canary": CANARY, "rate_pps": 1000,
        "count": 50, "payload_size": 56, "spin_us": 50,
    }));
    let floor = agent.done(1);
    assert_eq!(
        (&floor["sent"], &floor["received"], &floor["count"]),
        (&json!(50), &json!(50), &json!(50))
    );
    assert!(floor["p50_ns"].as_u64().unwrap() > 0);
    assert!(!floor["histogram"].as_str().unwrap().is_empty());
}

/// Task 1; the port on which it listens.
fn sink_of_one_stream(agent: &mut Agent) -> Value {
    agent.ready(json!({
        "id": 1, "do": "tcp_sink", "bind": LOOPBACK, "token": TOKEN, "canary": CANARY,
        "duration_max_s": 20, "interval_ms": 50,
    }))["port"]
        .clone()
}

#[test]
fn every_tcp_byte_is_counted_and_acknowledged() {
    let mut agent = Agent::start();
    let port = sink_of_one_stream(&mut agent);
    agent.ready(json!({
        "id": 2, "do": "tcp_source", "connect": LOOPBACK, "port": port, "token": TOKEN,
        "canary": CANARY, "duration_s": 0.3, "congestion_control": "reno", "write_size": 12345,
        "nodelay": true, "interval_ms": 50, "drain_s": 10,
    }));
    let source = agent.done(2);
    let sink = agent.done(1);
    assert_eq!(source["congestion_control"], "reno");
    assert_eq!(source["drained"], true, "{source}");
    assert!(source["bytes_written"].as_u64().unwrap() > 0);
    assert_eq!(source["bytes_written"], sink["bytes"]);
    assert_eq!(sink["ended"], "closed");
    assert_eq!(sink["corrupt_samples"], 0);
    let intervals = sink["intervals"].as_array().unwrap();
    let total: u64 = intervals.iter().map(|i| i["bytes"].as_u64().unwrap()).sum();
    assert_eq!(json!(total), sink["bytes"]);
    assert!(source["final_tcp_info"]["bytes_acked"].as_u64() > source["bytes_written"].as_u64());
}

/// The kernel counts twice what was requested; the agent's user may not exceed the machine's limit
/// without CAP_NET_ADMIN, so little is requested.
#[test]
fn tcp_sockets_have_the_requested_buffers() {
    let mut agent = Agent::start();
    let port = agent.ready(json!({
        "id": 1, "do": "tcp_sink", "bind": LOOPBACK, "token": TOKEN, "receive_buffer": 50000,
        "duration_max_s": 20, "interval_ms": 50,
    }))["port"]
        .clone();
    agent.ready(json!({
        "id": 2, "do": "tcp_source", "connect": LOOPBACK, "port": port, "token": TOKEN,
        "duration_s": 0.05, "congestion_control": "reno", "write_size": 1000,
        "nodelay": false, "interval_ms": 50, "send_buffer": 60000,
    }));
    assert_eq!(agent.done(2)["send_buffer_effective"], 120_000);
    assert_eq!(agent.done(1)["receive_buffer_effective"], 100_000);
}

#[test]
fn another_canary_is_corruption() {
    let mut agent = Agent::start();
    let port = sink_of_one_stream(&mut agent);
    agent.ready(json!({
        "id": 2, "do": "tcp_source", "connect": LOOPBACK, "port": port, "token": TOKEN,
        "duration_s": 0.05, "congestion_control": "reno", "write_size": 1000,
        "nodelay": false, "interval_ms": 50,
    }));
    agent.done(2);
    assert!(agent.done(1)["corrupt_samples"].as_u64().unwrap() > 0);
}

#[test]
fn a_tcp_stranger_is_turned_away() {
    let mut agent = Agent::start();
    let ready = agent.ready(json!({
        "id": 1, "do": "tcp_sink", "bind": LOOPBACK, "token": TOKEN,
        "duration_max_s": 20, "interval_ms": 50,
    }));
    let port = ready["port"].as_u64().unwrap() as u16;
    let mut stranger = TcpStream::connect((LOOPBACK, port)).unwrap();
    std::io::Write::write_all(&mut stranger, &[0; 16]).unwrap();
    // Turned away means closed.
    assert_eq!(std::io::Read::read(&mut stranger, &mut [0]).unwrap_or(0), 0);
    let sink = agent.stop(1);
    assert_eq!(sink["strangers"], 1);
    assert_eq!(sink["bytes"], 0);
    assert_eq!(sink["ended"], "stopped");
}

/// Three silent ones, one that drips a byte at a time, one that has left again, and half a token.
fn strangers(port: u16) -> Vec<TcpStream> {
    let call = || TcpStream::connect((LOOPBACK, port)).unwrap();
    let mut callers: Vec<TcpStream> = std::iter::repeat_with(call).take(5).collect();
    std::io::Write::write_all(&mut callers[3], &[0x11; 8]).unwrap();
    let mut dripping = callers[4].try_clone().unwrap();
    std::thread::spawn(move || {
        while std::io::Write::write_all(&mut dripping, &[0x11]).is_ok() {
            std::thread::sleep(Duration::from_millis(300));
        }
    });
    drop(call());
    callers
}

#[test]
fn strangers_keep_no_session_out_of_a_sink() {
    let mut agent = Agent::start();
    let port = agent.ready(json!({
        "id": 1, "do": "tcp_sink", "bind": LOOPBACK, "token": TOKEN, "canary": CANARY,
        "duration_max_s": 20, "interval_ms": 50, "streams": 2,
    }))["port"]
        .clone();
    let held = strangers(port.as_u64().unwrap() as u16);
    let begun = Instant::now();
    agent.ready(json!({
        "id": 2, "do": "tcp_source", "connect": LOOPBACK, "port": port, "token": TOKEN,
        "canary": CANARY, "duration_s": 0.2, "congestion_control": "reno", "write_size": 10000,
        "nodelay": true, "interval_ms": 50, "drain_s": 10, "streams": 2,
    }));
    let source = agent.done(2);
    let sink = agent.done(1);
    assert!(
        begun.elapsed() < Duration::from_millis(1900),
        "{:?}",
        begun.elapsed()
    );
    assert!(source["bytes_written"].as_u64().unwrap() > 0);
    assert_eq!(source["bytes_written"], sink["bytes"]);
    assert_eq!(sink["corrupt_samples"], 0);
    assert_eq!(sink["strangers"], 6);
    drop(held);
}

/// More of them than the probe may open files.
#[test]
fn a_crowd_of_silent_strangers_keeps_no_session_out() {
    let crowd = |port: &Value| -> Vec<TcpStream> {
        let port = port.as_u64().unwrap() as u16;
        let call = || TcpStream::connect((LOOPBACK, port)).unwrap();
        std::iter::repeat_with(call).take(100).collect()
    };
    let mut agent = Agent::with_descriptors(64);
    let mut source = Agent::start();
    let port = agent.ready(json!({
        "id": 1, "do": "tcp_sink", "bind": LOOPBACK, "token": TOKEN, "duration_max_s": 20,
        "interval_ms": 50,
    }))["port"]
        .clone();
    let held = crowd(&port);
    source.ready(json!({
        "id": 1, "do": "tcp_source", "connect": LOOPBACK, "port": port, "token": TOKEN,
        "duration_s": 0.05, "congestion_control": "reno", "write_size": 1000, "nodelay": true,
        "interval_ms": 50, "drain_s": 10,
    }));
    let sent = source.done(1)["bytes_written"].clone();
    let sink = agent.done(1);
    assert_eq!((&sink["bytes"], &sink["strangers"]), (&sent, &json!(100)));
    drop(held);
    let port = responder(&mut agent, 20.0);
    let held = crowd(&port);
    source.ready(json!({
        "id": 2, "do": "tcp_crr", "connect": LOOPBACK, "port": port, "token": TOKEN,
        "duration_s": 0.05,
    }));
    assert_eq!(source.done(2)["errors"], json!({}));
    assert_eq!(agent.stop(1)["strangers"], 100);
    drop(held);
}

#[test]
fn whoever_drips_a_token_is_turned_away_in_time() {
    for request in [
        json!({
            "id": 1, "do": "tcp_sink", "bind": LOOPBACK, "token": TOKEN,
            "duration_max_s": 20, "interval_ms": 50,
        }),
        json!({"id": 1, "do": "tcp_responder", "bind": LOOPBACK, "token": TOKEN, "idle_s": 20}),
    ] {
        let mut agent = Agent::start();
        let port = agent.ready(request)["port"].as_u64().unwrap() as u16;
        let held = strangers(port);
        let begun = Instant::now();
        for mut caller in &held {
            // Closed, or reset because of bytes that nobody read.
            assert_eq!(std::io::Read::read(&mut caller, &mut [0]).unwrap_or(0), 0);
        }
        assert!(
            begun.elapsed() < Duration::from_secs(8),
            "{:?}",
            begun.elapsed()
        );
        assert_eq!(agent.stop(1)["strangers"], 6);
    }
}

#[test]
fn an_unknown_congestion_control_names_those_there_are() {
    let mut agent = Agent::start();
    agent.send(json!({
        "id": 1, "do": "tcp_source", "connect": LOOPBACK, "port": 9, "token": TOKEN,
        "duration_s": 1, "congestion_control": "warp", "write_size": 1000, "nodelay": false,
        "interval_ms": 50,
    }));
    assert!(
        agent.error(Some(1))["remedy"]
            .as_str()
            .unwrap()
            .contains("reno")
    );
}
