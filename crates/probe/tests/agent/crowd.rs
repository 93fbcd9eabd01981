//! Many clients at once.

use crate::LOOPBACK;
use crate::support::{Agent, CANARY, TOKEN};
use serde_json::{Value, json};

fn sink(agent: &mut Agent, protocol: &str, members: usize) -> Vec<Value> {
    let ready = agent.ready(json!({
        "id": 1, "do": "crowd_sink", "protocol": protocol, "token": TOKEN, "canary": CANARY,
        "members": vec![json!({"bind": LOOPBACK}); members],
        "threads": 2, "interval_ms": 50, "duration_max_s": 30, "quiet_ms": 50,
    }));
    ready["ports"].as_array().unwrap().clone()
}

fn source(protocol: &str, ports: &[Value], more: Value) -> Value {
    let members: Vec<Value> = ports
        .iter()
        .map(|port| json!({"bind": LOOPBACK, "to": LOOPBACK, "port": port}))
        .collect();
    let mut request = json!({
        "id": 2, "do": "crowd_source", "protocol": protocol, "token": TOKEN, "canary": CANARY,
        "members": members, "threads": 2, "duration_s": 0.3,
    });
    for (key, value) in more.as_object().unwrap() {
        request[key] = value.clone();
    }
    request
}

/// Starts a source, which waits with open sockets for its beginning.
fn begin(agent: &mut Agent, request: Value) {
    agent.ready(request);
    agent.send(json!({"id": 2, "do": "begin", "at_ns": 0}));
}

fn sum(result: &Value, key: &str) -> u64 {
    let members = result["members"].as_array().unwrap();
    members.iter().map(|one| one[key].as_u64().unwrap()).sum()
}

#[test]
fn each_member_has_its_rate_and_its_book() {
    let mut agent = Agent::start();
    let ports = sink(&mut agent, "udp", 20);
    begin(
        &mut agent,
        source(
            "udp",
            &ports,
            json!({"rate_pps": 200, "payload_size": [100, 500]}),
        ),
    );
    let sent = agent.done(2);
    let got = agent.stop(1);
    for (sent, got) in sent["members"]
        .as_array()
        .unwrap()
        .iter()
        .zip(got["members"].as_array().unwrap())
    {
        assert_eq!(sent["scheduled"], 60);
        assert_eq!(sent["packets"], 60);
        assert_eq!(sent["bytes"], 60 * 300);
        assert_eq!(
            (&got["packets"], &got["bytes"]),
            (&sent["packets"], &sent["bytes"])
        );
        assert_eq!((&got["corrupt"], &got["lost"]), (&json!(0), &json!(0)));
    }
    assert_eq!(got["strangers"], 0);
    assert_eq!(got["one_way"]["count"], 1200);
    let within: u64 = got["intervals"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["packets"].as_u64().unwrap())
        .sum();
    assert_eq!(within, 1200);
}

#[test]
fn rates_are_over_the_whole_time_and_not_until_the_last_packet() {
    let mut agent = Agent::start();
    let ports = sink(&mut agent, "udp", 1);
    begin(&mut agent, source("udp", &ports, json!({"rate_pps": 10})));
    let sent = agent.done(2);
    assert_eq!(sent["members"][0]["packets"], 3);
    // The third one was due after 0.2 s.
    assert!(sent["seconds"].as_f64() >= Some(0.3), "{sent}");
}

#[test]
fn without_a_rate_all_members_send_as_fast_as_they_can() {
    let mut agent = Agent::start();
    let ports = sink(&mut agent, "udp", 5);
    begin(
        &mut agent,
        source("udp", &ports, json!({"payload_size": 1000})),
    );
    let sent = agent.done(2);
    let got = agent.stop(1);
    let members = got["members"].as_array().unwrap();
    assert!(
        members
            .iter()
            .all(|one| one["packets"].as_u64().unwrap() > 50),
        "{got}"
    );
    let dropped: u64 = members
        .iter()
        .map(|one| one["socket_drops"].as_u64().unwrap())
        .sum();
    assert_eq!(sum(&got, "packets") + dropped, sum(&sent, "packets"));
}

#[test]
fn on_off_clients_send_a_part_of_the_time() {
    let mut agent = Agent::start();
    let ports = sink(&mut agent, "udp", 50);
    let periods = json!({"on_s": 0.05, "off_s": 0.05});
    begin(
        &mut agent,
        source(
            "udp",
            &ports,
            json!({"rate_pps": 400, "payload_size": 64, "on_off": periods, "seed": 5}),
        ),
    );
    let sent = agent.done(2);
    let got = agent.stop(1);
    assert_eq!(sum(&sent, "packets"), sum(&got, "packets"));
    let packets = sum(&sent, "packets") as f64;
    assert!((packets / 6000.0 - 1.0).abs() < 0.25, "{packets}");
}

#[test]
fn connections_are_counted_by_member_and_window() {
    let mut agent = Agent::start();
    let ports = sink(&mut agent, "tcp", 30);
    begin(&mut agent, source("tcp", &ports, json!({})));
    let sent = agent.done(2);
    let got = agent.stop(1);
    for (sent, got) in sent["members"]
        .as_array()
        .unwrap()
        .iter()
        .zip(got["members"].as_array().unwrap())
    {
        assert!(sent["bytes"].as_u64().unwrap() > 0);
        assert!(got["bytes"].as_u64() >= sent["bytes"].as_u64());
        assert_eq!(got["corrupt"], 0);
        assert_eq!(got["counted_bytes"], got["bytes"]);
    }
}

#[test]
fn a_window_is_counted_from_the_beginning_on() {
    const HOUR_NS: u64 = 3_600_000_000_000;
    // At 0 the clock began: the window is open, or over.
    for (begun, to_ns, all) in [
        (true, u64::MAX, true),
        (true, 1, false),
        (false, HOUR_NS, false),
    ] {
        let mut agent = Agent::start();
        let ready = agent.ready(json!({
            "id": 1, "do": "crowd_sink", "protocol": "udp", "token": TOKEN, "canary": CANARY,
            "members": [{"bind": LOOPBACK}], "interval_ms": 50, "duration_max_s": 30,
            "window_ns": [0, to_ns],
        }));
        let ports = ready["ports"].as_array().unwrap().clone();
        if begun {
            agent.send(json!({"id": 1, "do": "begin", "at_ns": 0}));
        }
        let more = json!({"rate_pps": 50, "threads": 1});
        begin(&mut agent, source("udp", &ports, more));
        let sent = sum(&agent.done(2), "bytes");
        agent.send(json!({"id": 1, "do": "stop", "packets": 15}));
        let got = agent.done(1);
        assert_eq!(sum(&got, "bytes"), sent);
        assert_eq!(sum(&got, "counted_bytes"), if all { sent } else { 0 });
    }
}

#[test]
fn a_sink_ends_with_the_last_of_the_expected_packets() {
    let mut agent = Agent::start();
    let ready = agent.ready(json!({
        "id": 1, "do": "crowd_sink", "protocol": "udp", "token": TOKEN, "canary": CANARY,
        "members": vec![json!({"bind": LOOPBACK}); 4], "threads": 2,
        "interval_ms": 50, "duration_max_s": 3600, "quiet_ms": 3_600_000,
    }));
    let ports = ready["ports"].as_array().unwrap().clone();
    begin(&mut agent, source("udp", &ports, json!({"rate_pps": 50})));
    let sent = sum(&agent.done(2), "packets");
    agent.send(json!({"id": 1, "do": "stop", "packets": sent}));
    assert_eq!(sum(&agent.done(1), "packets"), sent);
}

#[test]
fn a_member_that_cannot_connect_is_named() {
    let mut agent = Agent::start();
    let mut ports = sink(&mut agent, "tcp", 3);
    // The discard port: nothing listens there.
    ports[1] = json!(9);
    agent.send(source("tcp", &ports, json!({})));
    let answer = agent.answer(Some(2));
    assert_eq!(answer["event"], "error");
    assert!(
        answer["what"].as_str().unwrap().contains("member 1"),
        "{answer}"
    );
}

#[test]
fn a_namespace_that_is_gone_is_named() {
    let mut agent = Agent::start();
    agent.send(json!({
        "id": 1, "do": "crowd_sink", "protocol": "udp", "token": TOKEN, "canary": CANARY,
        "members": [{"netns": "/proc/1/task/0/ns/net", "bind": LOOPBACK}],
        "interval_ms": 50, "duration_max_s": 30,
    }));
    let answer = agent.answer(Some(1));
    assert_eq!(answer["event"], "error");
    assert!(
        answer["what"].as_str().unwrap().contains("/proc/1/task/0"),
        "{answer}"
    );
}

#[test]
fn contradictory_requests_are_refused() {
    let mut agent = Agent::start();
    for (protocol, more, word) in [
        ("udp", json!({"on_off": {"on_s": 1, "off_s": 1}}), "rate"),
        ("tcp", json!({"rate_pps": 10}), "congestion"),
        ("udp", json!({"members": []}), "range"),
        ("udp", json!({"payload_size": 5}), "header"),
    ] {
        agent.send(source(protocol, &[json!(9)], more));
        let answer = agent.answer(Some(2));
        assert_eq!(answer["event"], "error");
        assert!(answer["why"].as_str().unwrap().contains(word), "{answer}");
    }
}

#[test]
fn an_address_may_come_later() {
    let mut agent = Agent::start();
    let ports = sink(&mut agent, "udp", 1);
    let members = json!([{"bind": "192.0.2.1", "to": LOOPBACK, "port": ports[0]}]);
    begin(
        &mut agent,
        source(
            "udp",
            &ports,
            json!({"members": members, "early": true, "rate_pps": 50, "threads": 1}),
        ),
    );
    let sent = agent.done(2);
    let got = agent.stop(1);
    assert_eq!(got["members"][0]["packets"], 0);
    let refused = sent["members"][0]["send_errors"].as_object().unwrap();
    let refused: u64 = refused.values().map(|count| count.as_u64().unwrap()).sum();
    assert_eq!(
        sent["members"][0]["packets"].as_u64().unwrap() + refused,
        15
    );
}

#[test]
fn a_duplicate_has_no_delay() {
    let mut agent = Agent::start();
    let port = sink(&mut agent, "udp", 1)[0].clone();
    for id in [2, 3] {
        agent.ready(json!({
            "id": id, "do": "udp_source", "to": LOOPBACK, "port": port, "token": TOKEN,
            "canary": CANARY, "payload_size": 100, "rate_pps": 1000, "duration_s": 0.01,
        }));
        agent.done(id);
    }
    let got = agent.stop(1);
    let figure = |name: &str| got["members"][0][name].as_u64().unwrap();
    assert!(figure("duplicates") > 0, "{got}");
    assert_eq!(
        got["one_way"]["count"],
        figure("packets") - figure("duplicates")
    );
}

#[test]
fn a_sink_can_end_as_soon_as_all_were_heard() {
    let mut agent = Agent::start();
    let ready = agent.ready(json!({
        "id": 1, "do": "crowd_sink", "protocol": "udp", "token": TOKEN, "canary": CANARY,
        "members": vec![json!({"bind": LOOPBACK}); 3], "threads": 2, "until_all": true,
        "interval_ms": 50, "duration_max_s": 30,
    }));
    let ports = ready["ports"].as_array().unwrap().clone();
    begin(
        &mut agent,
        source("udp", &ports, json!({"rate_pps": 20, "duration_s": 30})),
    );
    let got = agent.done(1);
    let members = got["members"].as_array().unwrap();
    assert!(
        members
            .iter()
            .all(|one| one["packets"].as_u64().unwrap() > 0),
        "{got}"
    );
    agent.stop(2);
}
