//! `leaks`: each packet that arrives at a device and is not the tunnel's, with its time and kind.
//!
//! Messages to neighbours (ARP, neighbour discovery, multicast listeners) never leave the link, and
//! an ICMP error about the tunnel's own packets quotes ciphertext: neither is a leak.

use crate::net::capture::filter::Direction;
use crate::net::capture::packet_socket::{Captured, PacketSocket};
use crate::net::device::netlink::Link;
use crate::packet::flow::Flow;
use crate::packet::marks::Marks;
use crate::packet::seen::{Seen, Sight, see};
use crate::protocol::failure::{Failure, during};
use crate::protocol::values::{Canary, Seconds};
use crate::tasks::context::{Context, Started};
use crate::tasks::observation::capture::find_link;
use crate::timing::clock;
use serde::{Deserialize, Serialize};
use std::os::fd::AsFd;

/// Whole packets are searched for marks, super-packets too.
const SNAPLEN: usize = 1 << 16;
const RECEIVE_BUFFER: usize = 64 << 20;
/// More of them prove nothing more; they are counted.
const MOST_LISTED: usize = 200_000;
const EXAMPLES: usize = 5;
const DNS: u16 = 53;
const ICMP: u8 = 1;
const TCP: u8 = 6;
const UDP: u8 = 17;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    device: String,
    /// The tunnel's packets; without it each IP packet is a leak.
    flow: Option<Flow>,
    /// A packet of the flow that has marks is a leak, too.
    #[serde(default)]
    canaries: Vec<Canary>,
    duration_max_s: Seconds,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// To or from port 53, of either version of IP.
    Dns,
    Tcp,
    Udp,
    Icmp,
    /// Of any protocol.
    Ipv6,
    Other,
}

#[derive(Debug, Serialize)]
pub struct Leaked {
    kind: Kind,
    /// CLOCK_REALTIME, by the kernel.
    realtime_ns: u64,
    /// Of the IP packet.
    bytes: usize,
    marked: bool,
}

#[derive(Debug, Default, Serialize)]
pub struct Evidence {
    /// Of the tunnel.
    tunnel_packets: u64,
    tunnel_bytes: u64,
    leaked: Vec<Leaked>,
    /// Leaked packets that are not in the list.
    more_leaked: u64,
    examples: Vec<String>,
    /// Packets that the kernel had no room for.
    kernel_drops: u32,
}

pub fn run(parameters: &Parameters, context: &Context) -> Result<Evidence, Failure> {
    let link: Link = find_link(&parameters.device)?;
    let mut socket = PacketSocket::open(&link, Direction::In, SNAPLEN, RECEIVE_BUFFER)?;
    let marks = Marks::new(&parameters.canaries);
    let mut evidence = Evidence::default();
    let started_ns = clock::monotonic_ns();
    context.ready(Started { started_ns });
    let deadline_ns = started_ns + parameters.duration_max_s.ns();
    let mut take = |socket: &mut PacketSocket| -> Result<usize, Failure> {
        let taken = socket.receive_now().map_err(during("leaks: receive"))?;
        for packet in socket.packets() {
            evidence.count(parameters, marks.as_ref(), &packet);
        }
        Ok(taken)
    };
    while !context.stop.requested() && clock::monotonic_ns() < deadline_ns {
        if take(&mut socket)? == 0 {
            context.stop.wait_readable(socket.as_fd(), deadline_ns);
        }
    }
    // Packets may come faster than they are read.
    socket.close()?;
    while take(&mut socket)? > 0 {}
    evidence.kernel_drops = socket.kernel_drops()?;
    Ok(evidence)
}

impl Evidence {
    fn count(&mut self, parameters: &Parameters, marks: Option<&Marks>, packet: &Captured<'_>) {
        let marked = marks.is_some_and(|marks| marks.are_in(packet.bytes));
        let flow = parameters.flow.as_ref();
        let of_tunnel = |seen: &Seen<'_>| flow.is_some_and(|flow| flow.has(seen));
        let (kind, bytes, text) = match see(packet.ethertype, packet.bytes, packet.wire_length) {
            Sight::Neighbour if !marked => return,
            Sight::Ip(seen) if !marked && of_tunnel(&seen) => {
                self.tunnel_packets += 1;
                self.tunnel_bytes += seen.length as u64;
                return;
            }
            Sight::Ip(seen) if !marked && seen.quoted().is_some_and(|it| of_tunnel(&it)) => return,
            Sight::Ip(seen) => (kind_of(&seen), seen.length, seen.to_string()),
            Sight::Neighbour | Sight::Unknown(_) => (
                Kind::Other,
                packet.wire_length,
                format!("EtherType {:#06x}", packet.ethertype),
            ),
        };
        if self.examples.len() < EXAMPLES {
            self.examples.push(text);
        }
        if self.leaked.len() >= MOST_LISTED {
            self.more_leaked += 1;
            return;
        }
        self.leaked.push(Leaked {
            kind,
            realtime_ns: packet.realtime_ns.unwrap_or_else(clock::realtime_ns),
            bytes,
            marked,
        });
    }
}

fn kind_of(seen: &Seen<'_>) -> Kind {
    let has_ports = matches!(seen.protocol, TCP | UDP);
    match seen.protocol {
        _ if has_ports && [seen.source_port, seen.destination_port].contains(&DNS) => Kind::Dns,
        _ if seen.destination.is_ipv6() => Kind::Ipv6,
        TCP => Kind::Tcp,
        UDP => Kind::Udp,
        ICMP => Kind::Icmp,
        _ => Kind::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use etherparse::PacketBuilder;

    const ALICE: [u8; 4] = [198, 18, 0, 1];
    const BOB: [u8; 4] = [198, 18, 1, 1];
    const CANARY: [u8; 32] = [
        0x51, 0x5a, 0x53, 0x5f, 0x50, 0x57, 0x5e, 0x52, 0x54, 0x5b, 0x58, 0x5d, 0x56, 0x59, 0x5c,
        0x55, 0x5a, 0x51, 0x5f, 0x53, 0x57, 0x50, 0x52, 0x5e, 0x5b, 0x54, 0x5d, 0x58, 0x59, 0x56,
        0x55, 0x5c,
    ];

    fn udp(port: u16, payload: &[u8]) -> Vec<u8> {
        let mut packet = Vec::new();
        PacketBuilder::ipv4(ALICE, BOB, 64)
            .udp(40_000, port)
            .write(&mut packet, payload)
            .unwrap();
        packet
    }

    fn counted(packets: &[(u16, Vec<u8>)]) -> Evidence {
        let parameters = Parameters {
            device: String::new(),
            flow: Some(Flow {
                protocol: UDP,
                ports: vec![51_820],
                ..Flow::default()
            }),
            canaries: vec![Canary::new(CANARY.to_vec()).unwrap()],
            duration_max_s: Seconds::new(1.0).unwrap(),
        };
        let marks = Marks::new(&parameters.canaries);
        let mut evidence = Evidence::default();
        for (ethertype, bytes) in packets {
            let packet = Captured {
                ethertype: *ethertype,
                outgoing: false,
                wire_length: bytes.len(),
                realtime_ns: Some(7),
                bytes,
            };
            evidence.count(&parameters, marks.as_ref(), &packet);
        }
        evidence
    }

    fn kinds(evidence: &Evidence) -> Vec<Kind> {
        evidence.leaked.iter().map(|leaked| leaked.kind).collect()
    }

    #[test]
    fn the_tunnels_packets_are_no_leak() {
        let evidence = counted(&[(0x0800, udp(51_820, b"ciphertext"))]);
        assert_eq!((evidence.tunnel_packets, evidence.leaked.len()), (1, 0));
    }

    #[test]
    fn a_marked_packet_in_the_tunnels_flow_is_one() {
        let evidence = counted(&[(0x0800, udp(51_820, &CANARY))]);
        assert_eq!(kinds(&evidence), [Kind::Udp]);
        assert!(evidence.leaked[0].marked);
    }

    #[test]
    fn each_kind_is_told_apart() {
        let mut six = Vec::new();
        PacketBuilder::ipv6([1; 16], [2; 16], 64)
            .tcp(1, 443, 0, 0)
            .write(&mut six, b"")
            .unwrap();
        let mut ping = Vec::new();
        PacketBuilder::ipv4(ALICE, BOB, 64)
            .icmpv4_echo_request(1, 1)
            .write(&mut ping, b"hello")
            .unwrap();
        let evidence = counted(&[
            (0x0800, udp(53, b"")),
            (0x0800, udp(54, b"")),
            (0x86dd, six),
            (0x0800, ping),
            (0x88cc, vec![0; 20]),
        ]);
        let expected = [Kind::Dns, Kind::Udp, Kind::Ipv6, Kind::Icmp, Kind::Other];
        assert_eq!(kinds(&evidence), expected);
        assert_eq!(evidence.examples.len(), 5);
    }

    #[test]
    fn messages_to_neighbours_are_no_leak() {
        assert!(counted(&[(0x0806, vec![0; 28])]).leaked.is_empty());
    }
}
