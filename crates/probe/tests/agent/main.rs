//! The agent as Culvert uses it: JSON lines to the program, traffic over loopback.

mod support;
mod tcp;
mod udp;

use serde_json::json;
use std::net::{TcpStream, UdpSocket};
use support::{Agent, CANARY, TOKEN};

pub const OTHER_TOKEN: &str = "ffffffffffffffffffffffffffffffff";
pub const LOOPBACK: &str = "127.0.0.1";

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
fn every_tcp_byte_is_counted_and_acknowledged() {
    let mut agent = Agent::start();
    let port = agent.ready(json!({
        "id": 1, "do": "tcp_sink", "bind": LOOPBACK, "token": TOKEN, "canary": CANARY,
        "duration_max_s": 20, "interval_ms": 50,
    }))["port"]
        .clone();
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

#[test]
fn another_canary_is_corruption() {
    let mut agent = Agent::start();
    let port = agent.ready(json!({
        "id": 1, "do": "tcp_sink", "bind": LOOPBACK, "token": TOKEN, "canary": CANARY,
        "duration_max_s": 20, "interval_ms": 50,
    }))["port"]
        .clone();
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

fn udp_sink_with_buffer(agent: &mut Agent, id: u64, receive_buffer: usize) -> u16 {
    let ready = agent.ready(json!({
        "id": id, "do": "udp_sink", "bind": LOOPBACK, "token": TOKEN, "canary": CANARY,
        "receive_buffer": receive_buffer, "interval_ms": 50, "duration_max_s": 20,
    }));
    ready["port"].as_u64().unwrap() as u16
}

fn udp_sink(agent: &mut Agent, id: u64) -> u16 {
    udp_sink_with_buffer(agent, id, 8 << 20)
}

#[test]
fn paced_udp_is_counted_exactly() {
    let mut agent = Agent::start();
    let port = udp_sink(&mut agent, 1);
    agent.ready(json!({
        "id": 2, "do": "udp_source", "to": LOOPBACK, "port": port, "token": TOKEN,
        "canary": CANARY, "payload_size": 200, "rate_pps": 2000, "duration_s": 0.25,
    }));
    let source = agent.done(2);
    let sink = agent.stop(1);
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
    assert_eq!(sink["max_sequence"], 9);
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

fn echo(agent: &mut Agent, id: u64, idle_s: f64) -> u16 {
    let ready = agent.ready(json!({
        "id": id, "do": "echo", "bind": LOOPBACK, "token": TOKEN, "idle_s": idle_s,
    }));
    ready["port"].as_u64().unwrap() as u16
}

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
fn a_reflector_answers_requests_only_and_never_with_more() {
    let mut agent = Agent::start();
    let port = echo(&mut agent, 1, 10.0);
    // Data packets of the right session are not echoed: two reflectors would never end.
    agent.ready(json!({
        "id": 2, "do": "udp_source", "to": LOOPBACK, "port": port, "token": TOKEN,
        "payload_size": 100, "rate_pps": 1000, "duration_s": 0.01,
    }));
    let sent = agent.done(2)["packets"].as_u64().unwrap();
    agent.ready(json!({
        "id": 3, "do": "echo_once", "to": LOOPBACK, "port": port, "token": TOKEN,
        "payload_size": 1000, "df": true, "timeout_ms": 5000, "attempts": 1,
    }));
    let once = agent.done(3);
    assert_eq!(once["answered"], true, "{once}");
    let echoed = agent.stop(1);
    assert_eq!(echoed["strangers"].as_u64().unwrap(), sent);
    assert_eq!(
        (&echoed["packets"], &echoed["bytes"]),
        (&json!(1), &json!(1000))
    );
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
fn a_reflector_ends_by_itself() {
    let mut agent = Agent::start();
    echo(&mut agent, 1, 0.01);
    assert_eq!(agent.done(1)["packets"], 0);
}

#[test]
fn the_first_answer_is_found_when_the_other_end_comes_late() {
    let mut agent = Agent::start();
    let reserved = UdpSocket::bind((LOOPBACK, 0)).unwrap();
    let port = reserved.local_addr().unwrap().port();
    drop(reserved);
    agent.ready(json!({
        "id": 1, "do": "first_answer", "to": LOOPBACK, "port": port, "token": TOKEN,
        "interval_us": 500, "deadline_s": 20,
    }));
    agent.ready(json!({
        "id": 2, "do": "echo", "bind": LOOPBACK, "port": port, "token": TOKEN, "idle_s": 20,
    }));
    let answer = agent.done(1);
    assert!(answer["answered_ns"].as_u64() > answer["first_sent_ns"].as_u64());
    assert_eq!(answer["kernel_timestamp"], true);
    agent.stop(2);
}

#[test]
fn an_address_that_never_comes_is_an_error_with_the_reason() {
    let mut agent = Agent::start();
    agent.ready(json!({
        "id": 1, "do": "first_answer", "to": LOOPBACK, "port": 9, "bind": "198.18.255.1",
        "token": TOKEN, "interval_us": 1000, "deadline_s": 0.02,
    }));
    let error = agent.error(Some(1));
    assert!(
        error["why"].as_str().unwrap().contains("EADDRNOTAVAIL"),
        "{error}"
    );
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
    // Once a task has said that it is done, its id and its port are free.
    agent.ready(json!({
        "id": 1, "do": "echo", "bind": LOOPBACK, "port": port, "token": TOKEN, "idle_s": 5,
    }));
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

/// A capture needs CAP_NET_RAW; None where the machine does not give it.
fn capture(agent: &mut Agent, id: u64, fields: serde_json::Value) -> Option<()> {
    let mut request = json!({"id": id, "do": "capture", "device": "lo"});
    let object = request.as_object_mut().unwrap();
    object.extend(fields.as_object().unwrap().clone());
    agent.send(request);
    let answer = agent.answer(Some(id));
    if answer["event"] == "error" {
        assert!(
            answer["remedy"].as_str().unwrap().contains("root"),
            "{answer}"
        );
        return None;
    }
    assert_eq!(answer["event"], "ready", "{answer}");
    Some(())
}

#[test]
fn a_capture_sees_every_packet_of_a_flow_and_its_canary() {
    let mut agent = Agent::start();
    let port = udp_sink(&mut agent, 1);
    let flow = json!({
        "flow": {"protocol": 17, "ports": [port]}, "canaries": [&CANARY[..32], "0123456789abcdef"],
        "record": 3, "snaplen_record": 4, "direction": "out",
    });
    if capture(&mut agent, 2, flow).is_none() {
        return;
    }
    agent.ready(json!({
        "id": 3, "do": "udp_source", "to": LOOPBACK, "port": port, "token": TOKEN,
        "canary": CANARY, "payload_size": 500, "rate_pps": 2000, "duration_s": 0.1,
    }));
    let sent = agent.done(3)["packets"].clone();
    let seen = agent.stop(2);
    assert_eq!(seen["matching"]["out"]["packets"], sent, "{seen}");
    assert_eq!(
        seen["matching"]["out"]["bytes"].as_u64().unwrap(),
        sent.as_u64().unwrap() * 528
    );
    assert_eq!(seen["matching"]["in"]["packets"], 0);
    assert_eq!(seen["canary_hits"], sent);
    assert!(
        seen["canary_example"].as_str().unwrap().contains("udp"),
        "{seen}"
    );
    assert_eq!(seen["kernel_drops"], 0);
    let recorded = seen["recorded"].as_array().unwrap();
    assert_eq!(recorded.len(), 3);
    assert_eq!(recorded[0]["payload"], "43565401");
    assert_eq!(recorded[0]["length"], 528);
    assert!(recorded[0]["realtime_ns"].as_u64() <= recorded[2]["realtime_ns"].as_u64());
    // A canary repeats 32 bytes: far from noise.
    assert!(
        seen["randomness"]["bits_per_byte"].as_f64().unwrap() < 5.1,
        "{seen}"
    );
    agent.stop(1);
}

#[test]
fn a_capture_tells_what_is_not_of_the_flow_by_example() {
    let mut agent = Agent::start();
    let port = udp_sink(&mut agent, 1);
    if capture(&mut agent, 2, json!({"flow": {"protocol": 50}})).is_none() {
        return;
    }
    agent.ready(json!({
        "id": 3, "do": "udp_source", "to": LOOPBACK, "port": port, "token": TOKEN,
        "payload_size": 36, "rate_pps": 1000, "duration_s": 0.02,
    }));
    let sent = agent.done(3)["packets"].as_u64().unwrap();
    let seen = agent.stop(2);
    assert_eq!(seen["matching"]["out"]["packets"], 0);
    // On the loopback each packet is seen going out and coming in.
    assert!(
        seen["other"]["packets"].as_u64().unwrap() >= 2 * sent,
        "{seen}"
    );
    assert!(!seen["other"]["examples"].as_array().unwrap().is_empty());
    assert_eq!(seen["canary_hits"], 0);
}

#[test]
fn a_device_that_is_not_there_is_an_error_with_those_that_are() {
    let mut agent = Agent::start();
    agent.send(json!({"id": 1, "do": "capture", "device": "nonesuch"}));
    assert!(
        agent.error(Some(1))["remedy"]
            .as_str()
            .unwrap()
            .contains("lo")
    );
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
