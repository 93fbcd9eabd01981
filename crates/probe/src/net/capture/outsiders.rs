//! Passes each packet that is not the tunnel's, so that a capture that keeps a sample of the tunnel's
//! packets has all of the others: acknowledgements, fragments of another protocol, whatever a route
//! let through, with or without marks.

use super::bpf::{AD_PROTOCOL, ADDRESSES, IPV4, PORTS, PROTOCOL, WHOLE, step, unless_in};
use super::bpf::{JUMP, JUMP_IF_ANY, JUMP_IF_EQUAL, LOAD_BYTE, LOAD_HALF, LOAD_HALF_BEHIND};
use super::bpf::{LOAD_HEADER_LENGTH, LOAD_WORD, RETURN};
use crate::packet::flow::{Flow, Ports};
use crate::packet::scope::Scope;
use libc::sock_filter;

const IPV6: u32 = 0x86dd;

/// Offset in a header of IPv4, and the bits there that a first fragment does not have.
const FRAGMENT: u32 = 6;
const LATER_FRAGMENT: u32 = 0x1fff;
/// Offsets in a header of IPv6, and behind it.
const NEXT_HEADER: u32 = 6;
const NEXT_IS_FRAGMENT: u32 = 44;
const PORTS_V6: [u32; 2] = [40, 42];

/// A jump to the end of the program, where the next test begins; see `resolve`.
const ONWARD: u32 = u32::MAX;

/// Passes what is not of the flow, and falls through with what is. Where there is a scope, packets
/// beside it fall through too. Later fragments have no ports: they are of the flow, and so is what is
/// behind a fragment header of IPv6.
pub fn outsiders(flow: &Flow, scope: Option<&Scope>) -> Vec<sock_filter> {
    let protocols = flow.protocols();
    let four: Vec<_> = scope
        .into_iter()
        .flat_map(|scope| ADDRESSES.map(|at| unless_in(&scope.among, at, step(JUMP, ONWARD, 0, 0))))
        .flatten()
        .chain(of_version_4(&protocols))
        .collect();
    let mut program = vec![
        step(LOAD_WORD, AD_PROTOCOL, 0, 0),
        step(JUMP_IF_EQUAL, IPV4, 1, 0),
        step(JUMP, four.len() as u32, 0, 0),
    ];
    program.extend(four);
    // A scope is one of IPv4.
    if scope.is_some() {
        return resolve(program);
    }
    program.extend([
        step(JUMP_IF_EQUAL, IPV6, 1, 0),
        step(RETURN, WHOLE, 0, 0),
        step(LOAD_BYTE, NEXT_HEADER, 0, 0),
        step(JUMP_IF_EQUAL, NEXT_IS_FRAGMENT, 0, 1),
        step(JUMP, ONWARD, 0, 0),
    ]);
    for (protocol, ports) in &protocols {
        let inside = one_of(ports, LOAD_HALF, PORTS_V6);
        program.extend(if_protocol(*protocol, inside));
    }
    program.push(step(RETURN, WHOLE, 0, 0));
    resolve(program)
}

fn of_version_4(protocols: &[(u8, Ports)]) -> Vec<sock_filter> {
    let mut program = vec![step(LOAD_BYTE, PROTOCOL, 0, 0)];
    for (protocol, ports) in protocols {
        let mut inside = vec![
            step(LOAD_HALF, FRAGMENT, 0, 0),
            step(JUMP_IF_ANY, LATER_FRAGMENT, 0, 1),
            step(JUMP, ONWARD, 0, 0),
            step(LOAD_HEADER_LENGTH, 0, 0, 0),
        ];
        inside.extend(one_of(ports, LOAD_HALF_BEHIND, PORTS));
        program.extend(if_protocol(*protocol, inside));
    }
    program.push(step(RETURN, WHOLE, 0, 0));
    program
}

/// Runs the part for that protocol, which does not come back from it.
fn if_protocol(protocol: u8, part: Vec<sock_filter>) -> Vec<sock_filter> {
    let mut program = vec![
        step(JUMP_IF_EQUAL, u32::from(protocol), 1, 0),
        step(JUMP, part.len() as u32, 0, 0),
    ];
    program.extend(part);
    program
}

/// Goes onward if one of the ports is at one of the offsets, and passes the packet if not.
fn one_of(ports: &Ports, load: u16, offsets: [u32; 2]) -> Vec<sock_filter> {
    let Ports::Some(ports) = ports else {
        return vec![step(JUMP, ONWARD, 0, 0)];
    };
    let mut program = Vec::new();
    for offset in offsets {
        program.push(step(load, offset, 0, 0));
        for port in ports {
            program.push(step(JUMP_IF_EQUAL, u32::from(*port), 0, 1));
            program.push(step(JUMP, ONWARD, 0, 0));
        }
    }
    program.push(step(RETURN, WHOLE, 0, 0));
    program
}

fn resolve(mut program: Vec<sock_filter>) -> Vec<sock_filter> {
    let end = program.len();
    for (at, step) in program.iter_mut().enumerate() {
        if step.code == JUMP && step.k == ONWARD {
            step.k = (end - at - 1) as u32;
        }
    }
    program
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::capture::interpreter::{Given, passes};
    use crate::packet::seen::{Sight, see};
    use etherparse::PacketBuilder;
    use proptest::prelude::*;

    fn packet(six: bool, protocol: u8, ports: (u16, u16)) -> Vec<u8> {
        let mut packet = Vec::new();
        let payload = [7; 20];
        macro_rules! write {
            ($builder:expr) => {
                match protocol {
                    6 => $builder
                        .tcp(ports.0, ports.1, 1, 1)
                        .write(&mut packet, &payload),
                    17 => $builder.udp(ports.0, ports.1).write(&mut packet, &payload),
                    other => $builder.write(&mut packet, other.into(), &payload),
                }
            };
        }
        if six {
            write!(PacketBuilder::ipv6([1; 16], [2; 16], 64)).unwrap();
        } else {
            write!(PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64)).unwrap();
        }
        packet
    }

    /// What it passes, when nothing behind it does.
    fn passed(flow: &Flow, scope: Option<&Scope>, ethertype: u32, bytes: &[u8]) -> bool {
        let mut program = outsiders(flow, scope);
        program.push(step(RETURN, 0, 0, 0));
        let given = Given {
            bytes,
            ethertype,
            ..Given::default()
        };
        passes(&program, &given)
    }

    fn flow(text: &str) -> Flow {
        serde_json::from_str(text).unwrap()
    }

    fn any_flow() -> impl Strategy<Value = Flow> {
        let ports = prop::collection::vec(1_u16..6, 0..3);
        let part = (prop_oneof![Just(6_u8), Just(17), Just(50), Just(4)], ports).prop_map(
            |(protocol, ports)| Flow {
                protocol,
                ports,
                ..Flow::default()
            },
        );
        prop::collection::vec(part, 1..4).prop_map(|mut parts| {
            let mut flow = parts.pop().unwrap();
            flow.also = parts;
            flow
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(500))]

        #[test]
        fn it_passes_what_the_flow_does_not_have(
            flow in any_flow(), six: bool,
            protocol in prop_oneof![Just(6_u8), Just(17), Just(50), Just(47)],
            ports in (1_u16..6, 1_u16..6), later: bool,
        ) {
            let ethertype = if six { IPV6 } else { IPV4 };
            let mut bytes = packet(six, protocol, ports);
            if later && !six {
                bytes[7] = 9;
            }
            let Sight::Ip(seen) = see(ethertype as u16, &bytes, bytes.len()) else { panic!() };
            prop_assert_eq!(passed(&flow, None, ethertype, &bytes), !flow.has(&seen));
        }
    }

    #[test]
    fn other_protocols_pass_and_fragments_of_version_6_do_not() {
        let esp = flow(r#"{"protocol":50}"#);
        assert!(passed(&esp, None, 0x0806, &[0; 28]));
        let mut fragment = packet(true, 17, (1, 2));
        fragment[6] = NEXT_IS_FRAGMENT as u8;
        assert!(!passed(&esp, None, IPV6, &fragment));
    }

    #[test]
    fn beside_a_scope_nothing_passes() {
        let scope: Scope =
            serde_json::from_str(r#"{"among":["10.0.0.1","10.0.0.2","198.19.0.0/16"]}"#).unwrap();
        let esp = flow(r#"{"protocol":50}"#);
        let mut inside = packet(false, 17, (1, 2));
        assert!(passed(&esp, Some(&scope), IPV4, &inside));
        assert!(!passed(
            &esp,
            Some(&scope),
            IPV4,
            &packet(false, 50, (1, 2))
        ));
        inside[19] = 3;
        assert!(!passed(&esp, Some(&scope), IPV4, &inside));
        inside[16..18].copy_from_slice(&[198, 19]);
        assert!(passed(&esp, Some(&scope), IPV4, &inside));
        assert!(!passed(&esp, Some(&scope), IPV6, &packet(true, 17, (1, 2))));
        assert!(!passed(&esp, Some(&scope), 0x0806, &[0; 28]));
    }
}
