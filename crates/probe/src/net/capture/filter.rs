//! Programs that the kernel runs on each packet before it is queued to a capture (classic BPF).
//!
//! Reference: the kernel's Documentation/networking/filter.rst.

use super::bpf::*;
use super::search::Search;
use crate::packet::scope::Scope;
use libc::sock_filter;
use serde::Deserialize;

/// Which way packets go, as seen from the node of the capture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    Both,
    In,
    Out,
}

/// What a sample has beside its random packets.
#[derive(Debug, Clone, Default)]
pub struct Look {
    /// Passes packets, or falls through.
    pub outsiders: Vec<sock_filter>,
    pub search: Option<Search>,
}

impl Look {
    pub fn is_nothing(&self) -> bool {
        self.outsiders.is_empty() && self.search.is_none()
    }
}

/// Passes packets that go the wanted way: of those a random one in `sample_one_in`, and each that the
/// look finds.
pub fn program(direction: Direction, sample_one_in: u32, look: &Look) -> Vec<sock_filter> {
    // Each test drops the packet or falls through to the next.
    let mut program = match direction {
        Direction::Both => vec![],
        Direction::Out => vec![
            step(LOAD_WORD, AD_PACKET_TYPE, 0, 0),
            step(JUMP_IF_EQUAL, u32::from(libc::PACKET_OUTGOING), 1, 0),
            step(RETURN, 0, 0, 0),
        ],
        Direction::In => vec![
            step(LOAD_WORD, AD_PACKET_TYPE, 0, 0),
            step(JUMP_IF_EQUAL, u32::from(libc::PACKET_OUTGOING), 0, 1),
            step(RETURN, 0, 0, 0),
        ],
    };
    if sample_one_in > 1 {
        program.extend(&look.outsiders);
        program.extend([
            step(LOAD_WORD, AD_RANDOM, 0, 0),
            step(MODULO, sample_one_in, 0, 0),
            step(JUMP_IF_EQUAL, 0, 0, 1),
            step(RETURN, WHOLE, 0, 0),
        ]);
        match &look.search {
            Some(search) => program.extend(search.program()),
            None => program.push(step(RETURN, 0, 0, 0)),
        }
    } else {
        program.push(step(RETURN, WHOLE, 0, 0));
    }
    program
}

/// Passes no packet.
pub fn nothing() -> Vec<sock_filter> {
    vec![step(RETURN, 0, 0, 0)]
}

/// Passes what is beside a scope. Of connections it compares the ports alone: whoever receives the
/// packets compares their addresses.
pub fn beside(scope: &Scope) -> Vec<sock_filter> {
    let mut program = vec![
        step(LOAD_WORD, AD_PROTOCOL, 0, 0),
        step(JUMP_IF_EQUAL, IPV4, 1, 0),
        step(RETURN, WHOLE, 0, 0),
    ];
    for address in ADDRESSES {
        program.extend(unless_in(&scope.among, address, step(RETURN, WHOLE, 0, 0)));
    }
    program.extend([
        step(LOAD_BYTE, PROTOCOL, 0, 0),
        step(JUMP_IF_EQUAL, TCP, 1, 0),
        step(RETURN, 0, 0, 0),
        step(LOAD_HEADER_LENGTH, 0, 0, 0),
    ]);
    for connection in &scope.leave_out {
        let [(_, one), (_, other)] = connection.0;
        for (from, to) in [(one, other), (other, one)] {
            program.extend([
                step(LOAD_HALF_BEHIND, PORTS[0], 0, 0),
                step(JUMP_IF_EQUAL, u32::from(from), 0, 3),
                step(LOAD_HALF_BEHIND, PORTS[1], 0, 0),
                step(JUMP_IF_EQUAL, u32::from(to), 0, 1),
                step(RETURN, WHOLE, 0, 0),
            ]);
        }
    }
    program.push(step(RETURN, 0, 0, 0));
    program
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::capture::interpreter::{Given, passes};

    #[test]
    fn what_is_beside_a_scope_is_the_opposite_of_what_is_in_it() {
        use crate::packet::seen::{Sight, see};
        use etherparse::PacketBuilder;
        let scope: Scope = serde_json::from_str(
            r#"{"among":["10.0.0.1","10.0.0.2","198.19.0.0/16"],
                "leave_out":[[["10.0.0.1",22],["10.0.0.2",5000]]]}"#,
        )
        .unwrap();
        let program = beside(&scope);
        let hosts = [[10, 0, 0, 1], [10, 0, 0, 2], [10, 0, 0, 3], [198, 19, 7, 7]];
        let mut sides = [0, 0];
        for (source, destination) in hosts.iter().flat_map(|a| hosts.iter().map(move |b| (a, b))) {
            for (from, to) in [(22, 5000), (5000, 22), (22, 5001), (1, 2)] {
                let mut packet = Vec::new();
                let builder = PacketBuilder::ipv4(*source, *destination, 64);
                builder.tcp(from, to, 1, 1).write(&mut packet, b"").unwrap();
                let Sight::Ip(seen) = see(0x0800, &packet, packet.len()) else {
                    panic!()
                };
                let of_connection = (from, to) == (22, 5000) || (from, to) == (5000, 22);
                if scope.has(&seen) && of_connection {
                    continue; // between other hosts: the ports alone do not decide
                }
                let given = Given {
                    bytes: &packet,
                    ethertype: IPV4,
                    ..Given::default()
                };
                assert_eq!(passes(&program, &given), !scope.has(&seen), "{seen}");
                sides[usize::from(scope.has(&seen))] += 1;
            }
        }
        assert!(sides.iter().all(|count| *count > 5), "{sides:?}");
        let of_version_6 = Given {
            ethertype: 0x86dd,
            ..Given::default()
        };
        assert!(passes(&program, &of_version_6));
    }

    #[test]
    fn each_of_many_networks_is_in_the_scope() {
        let among: Vec<String> = (0..200).map(|n| format!("10.0.{n}.0/24")).collect();
        let scope: Scope = serde_json::from_value(serde_json::json!({ "among": among })).unwrap();
        let program = beside(&scope);
        let is_beside = |third: u8| {
            let mut packet = [0; 20];
            packet[0] = 0x45;
            packet[12..20].copy_from_slice(&[10, 0, third, 1, 10, 0, third, 2]);
            let given = Given {
                bytes: &packet,
                ethertype: IPV4,
                ..Given::default()
            };
            passes(&program, &given)
        };
        assert!((0..200).all(|third| !is_beside(third)));
        assert!((200..=255).all(is_beside));
    }

    #[test]
    fn directions_and_samples() {
        for sample in [1, 10] {
            for random in [0, 3, 10, 4_000_000_007] {
                let chosen = sample == 1 || random % sample == 0;
                for outgoing in [true, false] {
                    let given = Given {
                        outgoing,
                        random,
                        ..Given::default()
                    };
                    let passes =
                        |direction| passes(&program(direction, sample, &Look::default()), &given);
                    assert_eq!(passes(Direction::Both), chosen);
                    assert_eq!(passes(Direction::Out), chosen && outgoing);
                    assert_eq!(passes(Direction::In), chosen && !outgoing);
                }
            }
        }
    }
}
