//! What a sink counts: arrived, lost, dropped by its socket, of others.

use crate::support::{Agent, CANARY, TOKEN, udp_sink, udp_sink_with_buffer};
use crate::{LOOPBACK, OTHER_TOKEN};
use serde_json::json;
use std::net::UdpSocket;

#[test]
fn paced_udp_is_counted_exactly() {
    let mut agent = Agent::start();
    let port = udp_sink(&mut agent, 1);
    agent.ready(json!({
        "id": 2, "do": "udp_source", "to": LOOPBACK, "port": port, "token": TOKEN,
        "canary": CANARY, "payload_size": 200, "rate_pps": 2000, "duration_s": 0.25,
        "send_buffer": 60000,
    }));
    let source = agent.done(2);
    let sink = agent.stop(1);
    assert_eq!(source["send_buffer_effective"], 120_000);
    // A busy machine may be too slow for the schedule, but never sends more.
    assert!(source["offered"].as_u64() <= source["scheduled"].as_u64());
    assert!(source["packets"].as_u64().unwrap() > 0);
    assert_eq!(source["packets"], sink["packets"]);
    assert_eq!(
        sink["bytes"].as_u64().unwrap(),
        sink["packets"].as_u64().unwrap() * 200
    );
    for nothing in [
        "lost",
        "duplicates",
        "reordered",
        "corrupt",
        "strangers",
        "socket_drops",
    ] {
        assert_eq!(sink[nothing], 0, "{nothing}: {sink}");
    }
}

#[test]
fn every_packet_of_a_flood_arrived_or_was_dropped_by_the_socket() {
    let mut agent = Agent::start();
    // So small a buffer holds a few packets only.
    let port = udp_sink_with_buffer(&mut agent, 1, 4096);
    agent.ready(json!({
        "id": 2, "do": "udp_source", "to": LOOPBACK, "port": port, "token": TOKEN,
        "canary": CANARY, "payload_size": 36, "rate_pps": null, "duration_s": 0.2,
        "connected": false,
    }));
    let source = agent.done(2);
    let sink = agent.stop(1);
    let arrived = sink["packets"].as_u64().unwrap();
    let dropped = sink["socket_drops"].as_u64().unwrap();
    assert!(arrived > 0 && dropped > 0, "{sink}");
    assert_eq!(source["packets"].as_u64().unwrap(), arrived + dropped);
    assert_eq!(sink["corrupt"], 0);
    let intervals = sink["intervals"].as_array().unwrap();
    let of_intervals = |field| {
        intervals
            .iter()
            .map(|i| i[field].as_u64().unwrap())
            .sum::<u64>()
    };
    assert_eq!(
        (of_intervals("packets"), of_intervals("socket_drops")),
        (arrived, dropped)
    );
}

#[test]
fn a_refused_packet_uses_up_its_place_in_the_schedule() {
    let closed = UdpSocket::bind((LOOPBACK, 0)).unwrap();
    let port = closed.local_addr().unwrap().port();
    drop(closed);
    let mut agent = Agent::start();
    agent.ready(json!({
        "id": 1, "do": "udp_source", "to": LOOPBACK, "port": port, "token": TOKEN,
        "payload_size": 100, "rate_pps": 1000, "duration_s": 0.05,
    }));
    let source = agent.done(1);
    let offered = source["offered"].as_u64().unwrap();
    let errors = source["send_errors"].as_object().unwrap();
    let refused: u64 = errors.values().map(|count| count.as_u64().unwrap()).sum();
    assert!(refused > 0, "{source}");
    assert_eq!(offered, source["packets"].as_u64().unwrap() + refused);
    assert!(offered <= source["scheduled"].as_u64().unwrap());
}

#[test]
fn an_exact_number_of_lost_packets_is_told() {
    let mut agent = Agent::start();
    let port = udp_sink(&mut agent, 1);
    // Packets as the source makes them, without numbers 3, 5 and 6; 8 before 7; 9 twice.
    let socket = UdpSocket::bind((LOOPBACK, 0)).unwrap();
    let tag: Vec<u8> = (0..8).map(|i| (0x11 * i) ^ (0x11 * (i + 8))).collect();
    for number in [0_u64, 1, 2, 4, 8, 7, 9, 9] {
        let mut packet = b"CVT\x01".to_vec();
        packet.extend(&tag);
        packet.extend(number.to_be_bytes());
        packet.extend([0; 8]);
        socket.send_to(&packet, (LOOPBACK, port)).unwrap();
    }
    let sink = agent.stop(1);
    assert_eq!(sink["packets"], 8, "{sink}");
    assert_eq!(sink["lost"], 3);
    assert_eq!(sink["reordered"], 1);
    assert_eq!(sink["duplicates"], 1);
    assert_eq!(sink["duplicate_bytes"], 28);
    // The first copy determines the delay.
    assert_eq!(sink["one_way"]["count"], 7);
    assert_eq!(sink["max_sequence"], 9);
}

#[test]
fn udp_strangers_are_counted_apart() {
    let mut agent = Agent::start();
    let port = udp_sink(&mut agent, 1);
    let stranger = UdpSocket::bind((LOOPBACK, 0)).unwrap();
    stranger.send_to(b"who am I?", (LOOPBACK, port)).unwrap();
    agent.ready(json!({
        "id": 2, "do": "udp_source", "to": LOOPBACK, "port": port, "token": OTHER_TOKEN,
        "payload_size": 100, "rate_pps": 1000, "duration_s": 0.01,
    }));
    let source = agent.done(2);
    let sink = agent.stop(1);
    assert_eq!(sink["packets"], 0);
    assert_eq!(
        sink["strangers"].as_u64().unwrap(),
        source["packets"].as_u64().unwrap() + 1
    );
}
