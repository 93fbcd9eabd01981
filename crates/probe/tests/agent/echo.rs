//! Reflectors, and requests to them one by one.

use crate::LOOPBACK;
use crate::support::{Agent, TOKEN, echo};
use serde_json::json;
use std::net::UdpSocket;

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
fn without_a_port_the_kernel_is_asked() {
    let mut agent = Agent::start();
    let ask = |id: u64, bind: &str| {
        json!({
            "id": id, "do": "echo_once", "to": LOOPBACK, "bind": bind, "token": TOKEN,
            "payload_size": 1000, "df": true, "timeout_ms": 5000, "attempts": 1,
        })
    };
    agent.send(ask(1, LOOPBACK));
    let ready = agent.answer(Some(1));
    if ready["event"] == "error" {
        assert!(
            ready["remedy"].as_str().unwrap().contains("root"),
            "{ready}"
        );
        return;
    }
    let once = agent.done(1);
    assert_eq!(
        (&once["answered"], &once["attempts"]),
        (&json!(true), &json!(1))
    );
    // What cannot be sent is not answered.
    agent.ready(ask(2, "198.18.255.1"));
    let never = agent.done(2);
    assert_eq!(
        (&never["answered"], &never["error"]),
        (&json!(false), &json!("EADDRNOTAVAIL"))
    );
}
