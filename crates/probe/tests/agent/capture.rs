//! What a capture sees on the loopback.

use crate::LOOPBACK;
use crate::support::{Agent, CANARY, TOKEN, udp_sink};
use serde_json::json;

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
fn all_devices_together_are_one() {
    let mut agent = Agent::start();
    agent.send(json!({"id": 1, "do": "capture", "device": "any"}));
    let ready = agent.answer(Some(1));
    if ready["event"] == "error" {
        assert!(
            ready["remedy"].as_str().unwrap().contains("root"),
            "{ready}"
        );
        return;
    }
    assert_eq!(agent.stop(1)["device"], "any");
}

#[test]
fn a_sample_begins_in_a_flood_and_a_stop_ends_it() {
    let mut agent = Agent::start();
    let port = udp_sink(&mut agent, 1);
    let sample = json!({
        "flow": {"protocol": 17, "ports": [port]}, "canaries": ["0123456789abcdef"],
        "sample_one_in": 1000, "duration_max_s": 20,
    });
    if capture(&mut agent, 2, sample).is_none() {
        return;
    }
    agent.ready(json!({
        "id": 5, "do": "leaks", "device": "lo", "flow": {"protocol": 17, "ports": [port]},
        "duration_max_s": 60,
    }));
    let mut source = |id: u64, duration_s: f64| {
        agent.ready(json!({
            "id": id, "do": "udp_source", "to": LOOPBACK, "port": port, "token": TOKEN,
            "payload_size": 1400, "duration_s": duration_s, "flows": 2, "threads": 2,
            "rate_pps": null, "segmentation": "none",
        }));
    };
    source(3, 60.0);
    source(4, 0.5);
    agent.done(4);
    let seen = agent.stop(2);
    assert!(agent.stop(5)["tunnel_packets"].as_u64() > Some(0));
    agent.stop(3);
    // There is a count of the searched packets only if the sample began. How many were queued before
    // depends on how soon the reader ran.
    let searched = seen["searched"]["packets"].as_u64();
    assert!(seen["packets"].as_u64() < searched, "{seen}");
}
