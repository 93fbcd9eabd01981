//! Packets as a capture sees them. Whatever the bytes are, reading them does no harm.

use super::syn::announced_mss;
use etherparse::{LaxNetSlice, LaxSlicedPacket};
use std::net::IpAddr;

const ETHERTYPE_IPV4: u16 = 0x0800;
pub const ETHERTYPE_ARP: u16 = 0x0806;
const ETHERTYPE_IPV6: u16 = 0x86dd;

const ICMP: u8 = 1;
pub const IGMP: u8 = 2;
const TCP: u8 = 6;
const UDP: u8 = 17;
const ICMPV6: u8 = 58;
const UDP_HEADER: usize = 8;
const ICMP_HEADER: usize = 8;

/// The role of a packet in the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sight<'a> {
    Ip(Seen<'a>),
    /// Messages to neighbours: ARP, IPv6 neighbour discovery, MLD, IGMP.
    Neighbour,
    /// Neither; the EtherType.
    Unknown(u16),
}

/// An IP packet. Ports are 0 where there are none (other protocols, later fragments).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seen<'a> {
    pub source: IpAddr,
    pub destination: IpAddr,
    pub protocol: u8,
    pub source_port: u16,
    pub destination_port: u16,
    /// Bytes of the whole IP packet, also of what was not captured.
    pub length: usize,
    pub fragment: bool,
    pub later_fragment: bool,
    /// What was captured behind the IP header.
    pub behind_ip: &'a [u8],
    /// What was captured behind the UDP or TCP header, for other protocols behind the IP header.
    pub payload: &'a [u8],
    /// Bytes of the payload, also of what was not captured.
    pub payload_length: usize,
}

/// Reads a packet from its network layer on; `wire_length` is its length before any cut.
pub fn see(ethertype: u16, packet: &[u8], wire_length: usize) -> Sight<'_> {
    match ethertype {
        ETHERTYPE_ARP => Sight::Neighbour,
        ETHERTYPE_IPV4 | ETHERTYPE_IPV6 => match see_ip(packet, wire_length) {
            Some(seen) if is_of_neighbours(&seen) => Sight::Neighbour,
            Some(seen) => Sight::Ip(seen),
            None => Sight::Unknown(ethertype),
        },
        _ => Sight::Unknown(ethertype),
    }
}

pub(super) fn see_ip(packet: &[u8], wire_length: usize) -> Option<Seen<'_>> {
    let parsed = LaxSlicedPacket::from_ip(packet).ok()?;
    let net = parsed.net?;
    let (source, destination, protocol, told_length, later_fragment) = match &net {
        LaxNetSlice::Ipv4(v4) => {
            let header = v4.header();
            (
                IpAddr::V4(header.source_addr()),
                IpAddr::V4(header.destination_addr()),
                header.protocol().0,
                usize::from(header.total_len()),
                header.fragments_offset().value() > 0,
            )
        }
        LaxNetSlice::Ipv6(v6) => {
            let header = v6.header();
            let payload_length = usize::from(header.payload_length());
            (
                IpAddr::V6(header.source_addr()),
                IpAddr::V6(header.destination_addr()),
                v6.payload().ip_number.0,
                // 0 stands for a packet of more than 64 kB.
                if payload_length == 0 {
                    0
                } else {
                    payload_length + 40
                },
                v6.is_payload_fragmented() && is_later_v6_fragment(packet),
            )
        }
        LaxNetSlice::Arp(_) => return None,
    };
    let payload = net.ip_payload_ref()?;
    let behind_ip = payload.payload;
    // Short frames are padded: the header's length is right, if it has one.
    let length = if (1..=wire_length).contains(&told_length) {
        told_length
    } else {
        wire_length
    };
    let transport = if later_fragment {
        Transport::none(behind_ip)
    } else {
        Transport::read(protocol, behind_ip)
    };
    let headers = (behind_ip.as_ptr() as usize).saturating_sub(packet.as_ptr() as usize)
        + (behind_ip.len() - transport.payload.len());
    Some(Seen {
        source,
        destination,
        protocol,
        source_port: transport.source_port,
        destination_port: transport.destination_port,
        length,
        fragment: payload.fragmented,
        later_fragment,
        behind_ip,
        payload: transport.payload,
        payload_length: length.saturating_sub(headers),
    })
}

/// Whether the fragment header, first behind that of IPv6 in what Linux sends, has an offset.
fn is_later_v6_fragment(packet: &[u8]) -> bool {
    const FRAGMENT: u8 = 44;
    let offset = packet
        .get(42..44)
        .map_or(0, |bytes| u16::from_be_bytes([bytes[0], bytes[1]]) & !0b111);
    packet.get(6) == Some(&FRAGMENT) && offset > 0
}

struct Transport<'a> {
    source_port: u16,
    destination_port: u16,
    payload: &'a [u8],
}

impl<'a> Transport<'a> {
    fn none(behind_ip: &'a [u8]) -> Transport<'a> {
        Transport {
            source_port: 0,
            destination_port: 0,
            payload: behind_ip,
        }
    }

    fn read(protocol: u8, behind_ip: &'a [u8]) -> Transport<'a> {
        let header = match protocol {
            UDP => Some(UDP_HEADER),
            // The upper half of the 13th byte counts the words of the header.
            TCP => behind_ip.get(12).map(|byte| usize::from(byte >> 4) * 4),
            _ => None,
        };
        let (Some(header), [a, b, c, d, ..]) = (header, behind_ip) else {
            return Transport::none(behind_ip);
        };
        Transport {
            source_port: u16::from_be_bytes([*a, *b]),
            destination_port: u16::from_be_bytes([*c, *d]),
            payload: behind_ip.get(header..).unwrap_or_default(),
        }
    }
}

impl<'a> Seen<'a> {
    /// The packet, as far as it is quoted, that an ICMP error is about (RFC 792, RFC 4443).
    pub fn quoted(&self) -> Option<Seen<'a>> {
        let kind = *self.behind_ip.first()?;
        let error = match self.protocol {
            ICMP => matches!(kind, 3 | 5 | 11 | 12),
            ICMPV6 => matches!(kind, 1..=4),
            _ => false,
        };
        let quote = self.behind_ip.get(ICMP_HEADER..)?;
        (error && !self.later_fragment)
            .then(|| see_ip(quote, quote.len()))
            .flatten()
    }

    /// The MSS that a SYN announces.
    pub fn announced_mss(&self) -> Option<u16> {
        let whole = self.protocol == TCP && !self.later_fragment;
        whole.then(|| announced_mss(self.behind_ip)).flatten()
    }
}

/// RFC 4861 and 2710/3810: router and neighbour messages, multicast listeners; and IGMP.
fn is_of_neighbours(seen: &Seen<'_>) -> bool {
    let kind = seen.behind_ip.first().copied().unwrap_or(0);
    seen.protocol == IGMP
        || (seen.protocol == ICMPV6 && matches!(kind, 130..=137 | 143) && !seen.later_fragment)
}

/// One line for people: `198.18.0.1 > 198.18.0.2 udp 5000>6000 len 64`.
impl std::fmt::Display for Seen<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} > {} ", self.source, self.destination)?;
        match self.protocol {
            TCP => write!(f, "tcp {}>{}", self.source_port, self.destination_port)?,
            UDP => write!(f, "udp {}>{}", self.source_port, self.destination_port)?,
            ICMP => write!(f, "icmp")?,
            ICMPV6 => write!(f, "icmpv6")?,
            other => write!(f, "protocol {other}")?,
        }
        write!(f, " len {}", self.length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::flow::Flow;
    use etherparse::PacketBuilder;
    use proptest::prelude::*;

    fn udp(payload: &[u8]) -> Vec<u8> {
        let mut packet = Vec::new();
        PacketBuilder::ipv4([198, 18, 0, 1], [198, 18, 0, 2], 64)
            .udp(5000, 6000)
            .write(&mut packet, payload)
            .unwrap();
        packet
    }

    fn ip(packet: &[u8], wire_length: usize) -> Seen<'_> {
        match see(ETHERTYPE_IPV4, packet, wire_length) {
            Sight::Ip(seen) => seen,
            other => panic!("{other:?}"),
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_harm(bytes: Vec<u8>, ethertype: u16, wire_length: usize) {
            for ethertype in [ethertype, ETHERTYPE_IPV4, ETHERTYPE_IPV6] {
                if let Sight::Ip(seen) = see(ethertype, &bytes, wire_length) {
                    let _ = (seen.to_string(), seen.quoted());
                }
            }
        }

        #[test]
        fn any_change_and_cut_of_a_packet_is_survived(
            payload: Vec<u8>, index: usize, byte: u8, cut: usize, six: bool,
        ) {
            let mut packet = udp(&payload);
            if six {
                packet.clear();
                PacketBuilder::ipv6([1; 16], [2; 16], 64)
                    .tcp(1, 2, 3, 4)
                    .write(&mut packet, &payload)
                    .unwrap();
            }
            let index = index % packet.len();
            packet[index] = byte;
            let cut = cut % (packet.len() + 1);
            let ethertype = if six { ETHERTYPE_IPV6 } else { ETHERTYPE_IPV4 };
            let _ = see(ethertype, &packet[..cut], packet.len());
        }

        #[test]
        fn a_cut_packet_keeps_its_length(payload in prop::collection::vec(any::<u8>(), 0..1000), cut in 28_usize..100) {
            let packet = udp(&payload);
            let cut = cut.min(packet.len());
            let seen = ip(&packet[..cut], packet.len());
            prop_assert_eq!(seen.length, packet.len());
            prop_assert_eq!((seen.source_port, seen.destination_port), (5000, 6000));
            prop_assert_eq!(seen.payload, &payload[..cut - 28]);
        }
    }

    #[test]
    fn padding_is_not_counted() {
        let mut packet = udp(b"hello");
        packet.resize(46, 0);
        let seen = ip(&packet, 46);
        assert_eq!(seen.length, 33);
        assert_eq!(seen.payload, b"hello");
        assert_eq!(
            seen.to_string(),
            "198.18.0.1 > 198.18.0.2 udp 5000>6000 len 33"
        );
    }

    #[test]
    fn a_later_fragment_has_no_ports_and_is_of_the_flow() {
        let mut packet = udp(&[7; 100]);
        packet[7] = 10;
        let seen = ip(&packet, packet.len());
        assert!(seen.fragment && seen.later_fragment);
        assert_eq!(seen.source_port, 0);
        let flow = |ports: &[u16]| Flow {
            protocol: UDP,
            ports: ports.to_vec(),
            ..Flow::default()
        };
        assert!(flow(&[1]).has(&seen));
        packet[7] = 0;
        assert!(!flow(&[1]).has(&ip(&packet, packet.len())));
        assert!(flow(&[6000]).has(&ip(&packet, packet.len())));
    }

    #[test]
    fn an_icmp_error_tells_what_it_is_about() {
        let about = |kind: u8, quote: &[u8]| {
            let mut packet = Vec::new();
            PacketBuilder::ipv4([198, 18, 0, 2], [198, 18, 0, 1], 64)
                .icmpv4_raw(kind, 3, [0; 4])
                .write(&mut packet, quote)
                .unwrap();
            let seen = ip(&packet, packet.len());
            seen.quoted()
                .map(|quoted| (quoted.source_port, quoted.destination_port))
        };
        let refused = udp(&[7; 100]);
        assert_eq!(about(3, &refused), Some((5000, 6000)));
        assert_eq!(about(3, &refused[..28]), Some((5000, 6000)));
        assert_eq!(about(8, &refused), None);
        assert_eq!(about(3, &[]), None);
    }

    #[test]
    fn neighbours_are_told_apart() {
        assert_eq!(see(ETHERTYPE_ARP, &[], 28), Sight::Neighbour);
        let mut solicitation = Vec::new();
        PacketBuilder::ipv6([1; 16], [2; 16], 255)
            .icmpv6_raw(135, 0, [0; 4])
            .write(&mut solicitation, &[0; 16])
            .unwrap();
        let sight = see(ETHERTYPE_IPV6, &solicitation, solicitation.len());
        assert_eq!(sight, Sight::Neighbour);
        assert_eq!(see(0x88cc, &[1, 2], 2), Sight::Unknown(0x88cc));
    }
}
