//! Pages over HTTP, streams over QUIC.

use crate::support::{Agent, CANARY, TOKEN};
use crate::{LOOPBACK, OTHER_TOKEN};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::{TcpStream, UdpSocket};

fn http_server(agent: &mut Agent, id: u64, version: &str) -> Value {
    agent.ready(json!({
        "id": id, "do": "http_server", "version": version, "bind": LOOPBACK, "token": TOKEN,
        "canary": CANARY, "duration_max_s": 60,
    }))
}

fn http_client(id: u64, version: &str, server: &Value, token: &str, fresh: bool) -> Value {
    json!({
        "id": id, "do": "http_client", "version": version, "to": LOOPBACK, "port": server["port"],
        "token": token, "certificate": server["certificate"], "objects": [1, 5000, 300_000],
        "fresh": fresh, "duration_s": 0.2, "page_timeout_s": 60,
    })
}

#[test]
fn pages_arrive_whole_on_fresh_and_on_one_connection() {
    for (version, fresh) in [("2", true), ("2", false), ("3", true), ("3", false)] {
        let mut agent = Agent::start();
        let server = http_server(&mut agent, 1, version);
        agent.ready(http_client(2, version, &server, TOKEN, fresh));
        let loaded = agent.done(2);
        let served = agent.stop(1);
        let pages = loaded["pages"].as_array().unwrap().len() as u64;
        assert!(pages > 0 && loaded["errors"] == json!({}), "{loaded}");
        assert_eq!(loaded["objects"], json!(3 * pages));
        assert_eq!(loaded["bytes"], json!(305_001 * pages));
        assert_eq!(loaded["connections"], json!(if fresh { pages } else { 1 }));
        assert_eq!(loaded["connections"], served["connections"]);
        assert_eq!(
            (&served["strangers"], &served["objects"]),
            (&json!(0), &loaded["objects"])
        );
        for (time, count) in [("page", pages), ("first_byte", 3 * pages)] {
            assert_eq!(loaded[time]["count"], json!(count));
        }
        let whole = loaded["bytes"].as_u64().unwrap();
        if version == "2" {
            let received = loaded["tcp_info"]["bytes_received"].as_u64();
            assert!(received.unwrap() > whole);
            // The last bytes of TLS may come when the client has closed, and the kernel counts a FIN
            // as a byte that was received, not as one that was sent.
            let sent = served["tcp_info"]["bytes_sent"].as_u64().unwrap();
            let fins = served["connections"].as_u64().unwrap();
            assert!(sent + fins >= received.unwrap(), "{sent} {received:?}");
        } else {
            assert!(loaded["udp"]["received_bytes"].as_u64().unwrap() > whole);
            assert!(served["udp"]["sent"].as_u64() >= loaded["udp"]["received"].as_u64());
        }
    }
}

#[test]
fn a_client_without_the_token_gets_nothing() {
    for version in ["2", "3"] {
        let mut agent = Agent::start();
        let server = http_server(&mut agent, 1, version);
        agent.ready(http_client(2, version, &server, OTHER_TOKEN, true));
        let loaded = agent.done(2);
        assert_eq!(
            (&loaded["objects"], &loaded["page"]),
            (&json!(0), &Value::Null)
        );
        assert_ne!(loaded["errors"], json!({}));
        let served = agent.stop(1);
        assert_eq!(served["objects"], json!(0));
        assert!(served["strangers"].as_u64().unwrap() > 0);
    }
}

#[test]
fn any_bytes_to_a_server_are_a_strangers() {
    let mut agent = Agent::start();
    let two = http_server(&mut agent, 1, "2");
    let three = http_server(&mut agent, 2, "3");
    let address = |server: &Value| {
        let port = u16::try_from(server["port"].as_u64().unwrap()).unwrap();
        (LOOPBACK, port)
    };
    let mut stranger = TcpStream::connect(address(&two)).unwrap();
    stranger.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    // The server ends it, by an alert of TLS or without a word.
    let _ = stranger.read_to_end(&mut Vec::new());
    let datagram = UdpSocket::bind((LOOPBACK, 0)).unwrap();
    datagram.send_to(&[0xc0; 1200], address(&three)).unwrap();
    agent.ready(http_client(3, "2", &two, TOKEN, true));
    agent.ready(http_client(4, "3", &three, TOKEN, true));
    assert_eq!(
        (&agent.done(3)["errors"], &agent.done(4)["errors"]),
        (&json!({}), &json!({}))
    );
    assert_eq!(agent.stop(1)["strangers"], json!(1));
}

#[test]
fn streams_of_quic_arrive_whole_with_and_without_segmentation() {
    for segmentation in [true, false] {
        let mut agent = Agent::start();
        let sink = agent.ready(json!({
            "id": 1, "do": "quic_sink", "bind": LOOPBACK, "token": TOKEN,
            "segmentation": segmentation, "interval_ms": 50, "duration_max_s": 60,
        }));
        let source = |id: u64, token: &str| {
            json!({
                "id": id, "do": "quic_source", "to": LOOPBACK, "port": sink["port"], "token": token,
                "canary": CANARY, "certificate": sink["certificate"], "segmentation": segmentation,
                "streams": 3, "handshakes": 4, "connect_timeout_s": 60, "duration_s": 0.2,
            })
        };
        agent.ready(source(2, TOKEN));
        let sent = agent.done(2);
        // A source without the token is a stranger, and does no harm.
        agent.ready(source(3, OTHER_TOKEN));
        agent.answer(Some(3));
        let received = agent.stop(1);
        assert_eq!(
            (&sent["handshake"]["count"], &sent["connections"]),
            (&json!(5), &json!(5))
        );
        assert_eq!(
            (&sent["failed_handshakes"], &received["connections"]),
            (&json!(0), &json!(5))
        );
        assert!(received["strangers"].as_u64().unwrap() > 0);
        // What was in its buffer at the end may not have left; a write that was cut short is not counted.
        let (written, read) = (
            sent["bytes"].as_u64().unwrap(),
            received["bytes"].as_u64().unwrap(),
        );
        assert!(
            0 < read && read <= written + 3 * 65_536,
            "{sent} {received}"
        );
        let of_intervals = received["intervals"].as_array().unwrap().iter();
        let of_intervals: u64 = of_intervals.map(|one| one["bytes"].as_u64().unwrap()).sum();
        assert_eq!(json!(of_intervals), received["bytes"]);
        let (datagrams, calls) = (sent["datagrams"].as_u64(), sent["calls"].as_u64());
        assert_eq!(datagrams > calls, segmentation, "{sent}");
    }
}
