//! Where bytes of others come in. Each takes any bytes and must return: what is fuzzed.

use crate::agent::request::parse;
use crate::packet::header::{Header, PayloadCheck};
use crate::packet::icmp::reply_payload;
use crate::packet::message::{Message, judge};
use crate::packet::seen::{Sight, see};
use crate::protocol::requests::numbered;
use crate::protocol::values::{Canary, Token};
use crate::tasks::tcp::responder::Greeting;
use std::sync::LazyLock;

const TOKEN: Token = Token([0; 16]);
/// Made once: it holds the longest payload there is.
static CHECK: LazyLock<PayloadCheck> = LazyLock::new(|| PayloadCheck::new(&Canary::default()));

/// One line of the control stream.
pub fn request(line: &[u8]) {
    if let Err(failure) = numbered(line).and_then(|(_, fields)| parse(fields)) {
        assert!(!failure.remedy.is_empty());
    }
}

/// A datagram at a sink, and the first bytes at a responder. The tag of the token is zero, so that
/// bytes that are all zero behind the magic are of the session.
pub fn packet(payload: &[u8]) {
    if let Some(header) = Header::read(payload, TOKEN.tag()) {
        let mut copy = payload.to_vec();
        header.write(&mut copy);
        assert_eq!(copy, payload);
    }
    CHECK.intact(payload);
    if let Some(greeting) = payload
        .first_chunk()
        .and_then(|b| Greeting::read(b, &TOKEN))
    {
        assert!(greeting.request_size > 0 && greeting.response_size > 0);
    }
}

/// A packet at a capture: two bytes of EtherType, then what was captured of it.
pub fn captured(bytes: &[u8]) {
    let Some((ethertype, packet)) = bytes.split_first_chunk::<2>() else {
        return;
    };
    for wire_length in [packet.len(), packet.len() / 2, usize::MAX] {
        if let Sight::Ip(seen) = see(u16::from_be_bytes(*ethertype), packet, wire_length) {
            assert!(seen.payload.len() <= packet.len());
            let _ = (seen.to_string(), seen.announced_mss());
            let message = Message {
                fixed: vec![(3, 1, 0)],
                least: 32,
                step: 16,
                noise: Some((16, 16)),
                ..Message::default()
            };
            let _ = judge(&[], &seen, false);
            let _ = judge(&[message], &seen, wire_length > packet.len());
        }
    }
}

/// A packet at an ICMP socket.
pub fn icmp(packet: &[u8]) {
    for (ip_header, ipv6) in [(true, false), (false, false), (false, true)] {
        if let Some(payload) = reply_payload(packet, ip_header, ipv6) {
            assert!(payload.len() < packet.len());
        }
    }
}
