//! The tunnel's packets: what is none of them is recorded whole.

use serde::Deserialize;

use crate::packet::layout::{self, Carried};

/// An IP protocol and, if it has ports, those that the tunnel has at either end; none: all.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Protocol {
    pub protocol: u8,
    #[serde(default)]
    pub ports: Vec<u16>,
}

/// Whether a frame is of one of the protocols. Fragments behind the first have no ports: they are.
pub fn has(flow: &[Protocol], frame: &[u8]) -> bool {
    let Some(Carried { protocol, ports }) = layout::carried(frame) else {
        return false;
    };
    flow.iter()
        .filter(|one| one.protocol == protocol)
        .any(|one| {
            one.ports.is_empty()
                || ports.is_none_or(|both| both.iter().any(|port| one.ports.contains(port)))
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn frame(six: bool, protocol: u8, ports: [u16; 2], later: bool) -> Vec<u8> {
        let mut frame = vec![0; 12];
        if six {
            frame.extend([0x86, 0xdd, 0x60, 0, 0, 0, 0, 16, protocol, 64]);
            frame.extend([0; 32]);
        } else {
            frame.extend([8, 0, 0x45, 0, 0, 36, 0, 0, 0, u8::from(later)]);
            frame.extend([64, protocol, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
        }
        frame.extend(ports.iter().flat_map(|port| port.to_be_bytes()));
        frame.extend([0; 12]);
        frame
    }

    proptest! {
        #[test]
        fn a_protocol_and_one_of_its_ports(
            six: bool, protocol in 16..19_u8, ports in [1..5_u16, 1..5_u16],
            wanted in prop::collection::vec(1..5_u16, 0..3), later: bool,
        ) {
            let flow = [Protocol { protocol: 17, ports: wanted.clone() }];
            let later = later && !six;
            let by_ports = wanted.is_empty() || later || ports.iter().any(|one| wanted.contains(one));
            let frame = frame(six, protocol, ports, later);
            prop_assert_eq!(has(&flow, &frame), protocol == 17 && by_ports);
        }

        #[test]
        fn any_bytes_are_read_without_harm(bytes: Vec<u8>) {
            let _ = has(&[Protocol { protocol: 17, ports: vec![1] }], &bytes);
        }
    }

    #[test]
    fn what_is_no_ip_packet_is_not_of_the_flow() {
        let arp = [vec![0; 12], vec![8, 6], vec![0; 28]].concat();
        assert!(!has(
            &[Protocol {
                protocol: 17,
                ports: vec![]
            }],
            &arp
        ));
    }
}
