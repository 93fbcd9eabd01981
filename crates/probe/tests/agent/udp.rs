//! Flows, sizes, arrivals, gaps.

use crate::LOOPBACK;
use crate::support::{Agent, CANARY, TOKEN, udp_sink};
use serde_json::{Value, json};
use std::net::UdpSocket;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Packets as the source makes them.
fn packet(flow: u64, number: u64, time_ns: u64) -> Vec<u8> {
    let mut packet = b"CVT\x01".to_vec();
    packet.extend((0..8).map(|i| (0x11 * i) ^ (0x11 * (i + 8))));
    packet.extend((flow << 48 | number).to_be_bytes());
    packet.extend(time_ns.to_be_bytes());
    packet
}

#[test]
fn flows_have_ports_and_books_of_their_own() {
    let mut agent = Agent::start();
    let port = agent.ready(json!({
        "id": 1, "do": "udp_sink", "bind": LOOPBACK, "token": TOKEN, "canary": CANARY,
        "interval_ms": 50, "duration_max_s": 20, "flows": 3,
    }))["port"]
        .clone();
    agent.ready(json!({
        "id": 2, "do": "udp_source", "to": LOOPBACK, "port": port, "token": TOKEN,
        "canary": CANARY, "payload_size": {"imix": "2a1b"}, "rate_pps": 3000, "duration_s": 0.2,
        "flows": 3, "threads": 2, "arrivals": "poisson", "seed": 7,
    }));
    let source = agent.done(2);
    let sink = agent.stop(1);
    assert_eq!(source["segmentation"], "none");
    assert_eq!(source["packets"], sink["packets"], "{sink}");
    assert_eq!(source["bytes"], sink["bytes"]);
    assert_eq!((&sink["lost"], &sink["corrupt"]), (&json!(0), &json!(0)));
    let (sent, received) = (
        source["flows"].as_array().unwrap(),
        sink["flows"].as_array().unwrap(),
    );
    for (sent, received) in sent.iter().zip(received) {
        assert_eq!(sent["packets"], received["packets"]);
        assert_eq!(sent["bytes"], received["bytes"]);
        assert!(sent["packets"].as_u64().unwrap() > 0);
    }
    assert_ne!(sent[0]["source_port"], sent[1]["source_port"]);
    // One machine, one clock.
    assert_eq!(sink["clock"], "shared");
    assert_eq!(sink["one_way"]["count"], sink["packets"]);
    assert!(sink["pdv"]["max_ns"].as_u64().is_some());
}

#[test]
fn a_packet_that_comes_too_late_is_answered_by_no_error() {
    let mut agent = Agent::start();
    let port = udp_sink(&mut agent, 1);
    agent.stop(1);
    let late = UdpSocket::bind((LOOPBACK, 0)).unwrap();
    late.connect((LOOPBACK, port)).unwrap();
    late.send(&packet(0, 1, 0)).unwrap();
    // On a loopback the error would be there by now.
    assert!(late.take_error().unwrap().is_none());
}

#[test]
fn a_sink_that_knows_how_many_come_waits_for_the_last_and_no_longer() {
    let mut agent = Agent::start();
    let port = agent.ready(json!({
        "id": 1, "do": "udp_sink", "bind": LOOPBACK, "token": TOKEN, "interval_ms": 50,
        "duration_max_s": 60, "quiet_ms": 3_600_000,
    }))["port"]
        .as_u64()
        .unwrap();
    let socket = UdpSocket::bind((LOOPBACK, 0)).unwrap();
    socket
        .connect((LOOPBACK, u16::try_from(port).unwrap()))
        .unwrap();
    for number in [0, 1, 1] {
        socket.send(&packet(0, number, 0)).unwrap();
    }
    agent.send(json!({"id": 1, "do": "stop", "packets": 3}));
    socket.send(&packet(0, 2, 0)).unwrap();
    let sink = agent.done(1);
    assert_eq!(
        (&sink["packets"], &sink["duplicates"]),
        (&json!(4), &json!(1))
    );
}

/// A flood of them would otherwise keep the sink listening until its last second.
#[test]
fn strangers_do_not_prolong_the_wait_for_silence() {
    let mut agent = Agent::start();
    let port = agent.ready(json!({
        "id": 1, "do": "udp_sink", "bind": LOOPBACK, "token": TOKEN, "interval_ms": 50,
        "duration_max_s": 60, "quiet_ms": 100,
    }))["port"]
        .as_u64()
        .unwrap();
    let target = (LOOPBACK, u16::try_from(port).unwrap());
    let socket = UdpSocket::bind((LOOPBACK, 0)).unwrap();
    socket.send_to(&packet(0, 0, 0), target).unwrap();
    let over = Arc::new(AtomicBool::new(false));
    let stranger = std::thread::spawn({
        let over = over.clone();
        move || {
            while !over.load(Ordering::Relaxed) {
                for bytes in [&b"CVT\x01 somebody else's"[..], b""] {
                    let _ = socket.send_to(bytes, target);
                }
                std::thread::sleep(Duration::from_millis(1));
            }
        }
    });
    let begun = Instant::now();
    let sink = agent.stop(1);
    over.store(true, Ordering::Relaxed);
    stranger.join().unwrap();
    assert!(begun.elapsed() < Duration::from_secs(30));
    assert_eq!(sink["packets"], 1);
    assert!(sink["strangers"].as_u64().unwrap() > 0);
}

#[test]
fn the_same_seed_gives_the_same_number_of_packets() {
    let mut agent = Agent::start();
    let port = udp_sink(&mut agent, 1);
    let mut scheduled = |id: u64, seed: u64| {
        agent.ready(json!({
            "id": id, "do": "udp_source", "to": LOOPBACK, "port": port, "token": TOKEN,
            "payload_size": 36, "rate_pps": 100000, "duration_s": 0.02, "arrivals": "poisson",
            "seed": seed,
        }));
        agent.done(id)["scheduled"].clone()
    };
    assert_eq!(scheduled(2, 5), scheduled(3, 5));
}

#[test]
fn segmentation_by_the_kernel_makes_the_same_packets() {
    let mut agent = Agent::start();
    let port = udp_sink(&mut agent, 1);
    agent.ready(json!({
        "id": 2, "do": "udp_source", "to": LOOPBACK, "port": port, "token": TOKEN,
        "canary": CANARY, "payload_size": 200, "rate_pps": 20000, "duration_s": 0.1,
        "arrivals": "burst", "burst": 100, "segmentation": "kernel",
    }));
    let source = agent.done(2);
    let sink = agent.stop(1);
    assert_eq!(source["packets"], sink["packets"], "{source} {sink}");
    assert_eq!(source["bytes"], sink["bytes"]);
    for nothing in ["lost", "corrupt", "strangers", "duplicates", "reordered"] {
        assert_eq!(sink[nothing], 0, "{nothing}");
    }
}

#[test]
fn runs_extents_and_flows_of_strangers_are_told() {
    let mut agent = Agent::start();
    let port = udp_sink(&mut agent, 1);
    let socket = UdpSocket::bind((LOOPBACK, 0)).unwrap();
    for number in [0, 1, 5, 6, 3, 9] {
        socket
            .send_to(&packet(0, number, 1000), (LOOPBACK, port))
            .unwrap();
    }
    socket.send_to(&packet(1, 0, 0), (LOOPBACK, port)).unwrap();
    let sink = agent.stop(1);
    assert_eq!(
        (&sink["packets"], &sink["strangers"]),
        (&json!(6), &json!(1)),
        "{sink}"
    );
    // 2 and 4 alone, 7 and 8 together.
    assert_eq!(sink["loss_runs"]["lengths"], json!([[1, 2], [2, 1]]));
    assert_eq!(sink["reordering"]["extent_max"], 2);
    assert_eq!(sink["lost"], 4);
}

#[test]
fn what_makes_no_sense_is_refused() {
    let mut agent = Agent::start();
    let wrong: [Value; 6] = [
        json!({"payload_size": 20}),
        json!({"payload_size": 36, "arrivals": "poisson"}),
        json!({"payload_size": 36, "flows": 0}),
        json!({"payload_size": 36, "threads": 2}),
        json!({"payload_size": 36, "burst": 4}),
        json!({"payload_size": 36, "flows": 2, "bind_port": 65535}),
    ];
    for (id, fields) in (1..).zip(wrong) {
        let mut request = json!({
            "id": id, "do": "udp_source", "to": LOOPBACK, "port": 9, "token": TOKEN,
            "duration_s": 0.01,
        });
        request
            .as_object_mut()
            .unwrap()
            .extend(fields.as_object().unwrap().clone());
        agent.send(request);
        agent.error(Some(id));
    }
}

#[test]
fn a_sink_reports_when_each_frame_had_arrived() {
    let mut agent = Agent::start();
    let frames = json!({"packets": [3, 1], "per_s": 50, "spread": 0.5});
    let port = agent.ready(json!({
        "id": 1, "do": "udp_sink", "bind": LOOPBACK, "token": TOKEN, "canary": CANARY,
        "interval_ms": 50, "duration_max_s": 20, "frames": frames,
    }))["port"]
        .clone();
    let source = |id: u64, more: Value| {
        let mut request = json!({
            "id": id, "do": "udp_source", "to": LOOPBACK, "port": port, "token": TOKEN,
            "canary": CANARY, "payload_size": [900, 900, 901, 500], "frames": frames,
            "duration_s": 0.2,
        });
        let more = more.as_object().unwrap().clone();
        request.as_object_mut().unwrap().extend(more);
        request
    };
    agent.ready(source(2, json!({})));
    let sent = agent.done(2);
    let sunk = agent.stop(1);
    // Ten frames in 0.2 s, five of each kind.
    assert_eq!(
        (&sent["scheduled"], &sent["segmentation"]),
        (&json!(20), &json!("none"))
    );
    assert_eq!(
        (&sunk["packets"], &sunk["bytes"]),
        (&json!(20), &json!(5 * 3201))
    );
    let times = sunk["frames"].as_array().unwrap();
    assert_eq!(times.len(), 10);
    let first_ns = sent["first_ns"].as_u64().unwrap();
    // The last packet of a frame of three leaves a third of 20 ms after its time.
    assert!(times[0].as_u64().unwrap() >= first_ns + 6_666_666);
    agent.send(source(3, json!({"flows": 2})));
    agent.error(Some(3));
}
