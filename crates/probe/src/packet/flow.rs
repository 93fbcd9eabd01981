//! Which packets are the tunnel's.

use super::message::Message;
use super::seen::Seen;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};

/// Which packets are meant: an IP protocol and, if it has ports, one of these at either end; and
/// those of other flows that belong to it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Flow {
    pub protocol: u8,
    #[serde(default)]
    pub ports: Vec<u16>,
    #[serde(default)]
    pub also: Vec<Flow>,
    /// What its packets look like; none: any, with ciphertext behind the headers.
    #[serde(default)]
    pub messages: Vec<Message>,
}

impl Flow {
    pub fn has(&self, seen: &Seen<'_>) -> bool {
        self.part_with(seen).is_some()
    }

    /// This flow or one of the others, whichever has the packet. Later fragments have no ports;
    /// those of the protocol are taken to be of the flow.
    pub fn part_with(&self, seen: &Seen<'_>) -> Option<&Flow> {
        let own = self.protocol == seen.protocol
            && (self.ports.is_empty()
                || seen.later_fragment
                || self.ports.contains(&seen.source_port)
                || self.ports.contains(&seen.destination_port));
        if own {
            return Some(self);
        }
        self.also.iter().find_map(|flow| flow.part_with(seen))
    }

    /// Its protocols and those of the others, each once.
    pub fn protocols(&self) -> Vec<(u8, Ports)> {
        let mut found = BTreeMap::new();
        self.add_to(&mut found);
        found.into_iter().collect()
    }

    fn add_to(&self, found: &mut BTreeMap<u8, Ports>) {
        let known = found
            .entry(self.protocol)
            .or_insert_with(|| Ports::Some(BTreeSet::new()));
        match known {
            Ports::Some(ports) if !self.ports.is_empty() => ports.extend(&self.ports),
            _ => *known = Ports::All,
        }
        for flow in &self.also {
            flow.add_to(found);
        }
    }
}

/// Ports of a protocol, at either end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ports {
    All,
    Some(BTreeSet<u16>),
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::seen::{Sight, see};
    use etherparse::PacketBuilder;

    const UDP: u8 = 17;

    #[test]
    fn a_flow_can_have_several_protocols() {
        let mut packet = Vec::new();
        PacketBuilder::ipv4([198, 18, 0, 1], [198, 18, 0, 2], 64)
            .udp(5000, 6000)
            .write(&mut packet, b"hello")
            .unwrap();
        let Sight::Ip(seen) = see(0x0800, &packet, packet.len()) else {
            panic!()
        };
        let esp_and = |ports: &[u16]| Flow {
            protocol: 50,
            also: vec![Flow {
                protocol: UDP,
                ports: ports.to_vec(),
                ..Flow::default()
            }],
            ..Flow::default()
        };
        assert!(esp_and(&[5000]).has(&seen));
        assert!(!esp_and(&[500, 4500]).has(&seen));
    }
}
