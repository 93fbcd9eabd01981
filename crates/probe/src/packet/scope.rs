//! The packets of a trial, among all that a device carries: other traffic of a host, and the
//! controller's own connection to it, are beside them.

use super::seen::Seen;
use serde::{Deserialize, Deserializer, de::Error};
use std::net::{IpAddr, Ipv4Addr};

const TCP: u8 = 6;

/// An IPv4 network, such as 198.19.0.0/16.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Network {
    pub address: u32,
    pub mask: u32,
}

impl Network {
    fn has(&self, address: IpAddr) -> bool {
        matches!(address, IpAddr::V4(v4) if u32::from(v4) & self.mask == self.address)
    }

    fn parse(text: &str) -> Option<Network> {
        let (address, length) = text.split_once('/').unwrap_or((text, "32"));
        let address = u32::from(address.parse::<Ipv4Addr>().ok()?);
        let length: u32 = length.parse().ok().filter(|length| *length <= 32)?;
        let mask = u32::MAX.checked_shl(32 - length).unwrap_or(0);
        Some(Network {
            address: address & mask,
            mask,
        })
    }
}

impl<'de> Deserialize<'de> for Network {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Network, D::Error> {
        let text = String::deserialize(deserializer)?;
        Network::parse(&text).ok_or_else(|| {
            D::Error::custom(format!("'{}' is no IPv4 network", text.escape_debug()))
        })
    }
}

/// A TCP connection, by its ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct Endpoints(pub [(IpAddr, u16); 2]);

impl Endpoints {
    fn has(&self, seen: &Seen<'_>) -> bool {
        let from = (seen.source, seen.source_port);
        let to = (seen.destination, seen.destination_port);
        let [one, other] = self.0;
        seen.protocol == TCP && ((from, to) == (one, other) || (from, to) == (other, one))
    }
}

/// Packets from one of the networks to one of them, but of none of the connections.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scope {
    pub among: Vec<Network>,
    #[serde(default)]
    pub leave_out: Vec<Endpoints>,
}

impl Scope {
    pub fn has(&self, seen: &Seen<'_>) -> bool {
        let inside = |address| self.among.iter().any(|network| network.has(address));
        inside(seen.source)
            && inside(seen.destination)
            && !self.leave_out.iter().any(|connection| connection.has(seen))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::seen::{Sight, see};
    use etherparse::PacketBuilder;

    fn packet(source: [u8; 4], destination: [u8; 4], ports: (u16, u16)) -> Vec<u8> {
        let mut packet = Vec::new();
        PacketBuilder::ipv4(source, destination, 64)
            .tcp(ports.0, ports.1, 1, 1000)
            .write(&mut packet, b"payload")
            .unwrap();
        packet
    }

    fn has(scope: &Scope, packet: &[u8]) -> bool {
        let Sight::Ip(seen) = see(0x0800, packet, packet.len()) else {
            panic!("no IP packet")
        };
        scope.has(&seen)
    }

    #[test]
    fn packets_between_the_networks_but_not_the_connection() {
        let scope: Scope = serde_json::from_str(
            r#"{"among":["10.0.0.1/32","10.0.0.2","198.19.0.0/16"],
                "leave_out":[[["10.0.0.1",22],["10.0.0.2",5000]]]}"#,
        )
        .unwrap();
        let (a, b) = ([10, 0, 0, 1], [10, 0, 0, 2]);
        assert!(has(&scope, &packet(a, b, (22, 5001))));
        assert!(!has(&scope, &packet(a, b, (22, 5000))));
        assert!(!has(&scope, &packet(b, a, (5000, 22))));
        assert!(!has(&scope, &packet(a, [10, 0, 0, 3], (1, 2))));
        assert!(has(&scope, &packet([198, 19, 0, 1], b, (1, 2))));
    }

    #[test]
    fn what_is_no_network_is_refused() {
        for wrong in ["", "a", "10.0.0.1/33", "10.0.0.1/x", "::1"] {
            assert!(Network::parse(wrong).is_none(), "{wrong}");
        }
        assert_eq!(Network::parse("10.1.2.3/0").unwrap().mask, 0);
    }
}
