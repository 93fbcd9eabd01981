//! Where things are in an Ethernet frame: the IP header, the TCP or UDP header, the payload.

/// IPv4 or IPv6, with where its header starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Network {
    V4 { at: usize },
    V6 { at: usize },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transport {
    Tcp,
    Udp,
}

/// A TCP segment or UDP datagram that is no fragment. All places are inside of the frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    pub network: Network,
    pub transport: Transport,
    pub transport_at: usize,
    pub payload_at: usize,
}

const ETHERNET_BYTES: usize = 14;
const VLAN_BYTES: usize = 4;
const MOST_TAGS: usize = 2;
/// RFC 8200 knows no more kinds than these may be; a longer chain is no traffic of ours.
const MOST_EXTENSIONS: usize = 6;

const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;
const VLAN: u16 = 0x8100;
const SERVICE_VLAN: u16 = 0x88a8;
const TCP: u8 = 6;
const UDP: u8 = 17;
const FRAGMENT: u8 = 44;

/// Where the link header ends, and the EtherType behind it.
fn network_at(frame: &[u8]) -> Option<(usize, u16)> {
    let mut at = ETHERNET_BYTES;
    for _ in 0..=MOST_TAGS {
        let kind = word(frame, at - 2)?;
        if !matches!(kind, VLAN | SERVICE_VLAN) {
            return Some((at, kind));
        }
        at += VLAN_BYTES;
    }
    None
}

/// Bytes of the link header: Ethernet and VLAN tags.
pub fn link_header_bytes(frame: &[u8]) -> usize {
    network_at(frame).map_or(ETHERNET_BYTES, |(at, _)| at)
}

/// Whether it is UDP, fragments included: all that a filter looks at.
pub fn is_udp(frame: &[u8]) -> bool {
    match network_at(frame) {
        Some((at, IPV4)) => frame.get(at + 9) == Some(&UDP),
        Some((at, IPV6)) => v6_transport(frame, at).is_some_and(|(protocol, _)| protocol == UDP),
        _ => false,
    }
}

/// Whether it is a fragment of an IP packet, the first and the last included.
pub fn is_fragment(frame: &[u8]) -> bool {
    match network_at(frame) {
        Some((at, IPV4)) => word(frame, at + 6).is_some_and(|field| field & 0x3fff != 0),
        Some((at, IPV6)) => {
            v6_transport(frame, at).is_some_and(|(protocol, _)| protocol == FRAGMENT)
        }
        _ => false,
    }
}

impl Layout {
    /// None for all that is neither TCP nor UDP, is a fragment, or is not whole.
    pub fn of(frame: &[u8]) -> Option<Self> {
        let (at, kind) = network_at(frame)?;
        let (network, protocol, transport_at) = match kind {
            IPV4 => {
                let first = *frame.get(at)?;
                let header_bytes = usize::from(first & 0x0f) * 4;
                let fragment = word(frame, at + 6)? & 0x3fff;
                if first >> 4 != 4 || header_bytes < 20 || fragment != 0 {
                    return None;
                }
                let protocol = *frame.get(at + 9)?;
                (Network::V4 { at }, protocol, at + header_bytes)
            }
            IPV6 => {
                let (protocol, transport_at) = v6_transport(frame, at)?;
                (Network::V6 { at }, protocol, transport_at)
            }
            _ => return None,
        };
        let (transport, header_bytes) = match protocol {
            TCP => {
                let offset = usize::from(*frame.get(transport_at + 12)? >> 4) * 4;
                (Transport::Tcp, Some(offset).filter(|bytes| *bytes >= 20)?)
            }
            UDP => (Transport::Udp, 8),
            _ => return None,
        };
        let payload_at = transport_at + header_bytes;
        (payload_at <= frame.len()).then_some(Self {
            network,
            transport,
            transport_at,
            payload_at,
        })
    }
}

fn v6_transport(frame: &[u8], at: usize) -> Option<(u8, usize)> {
    if *frame.get(at)? >> 4 != 6 {
        return None;
    }
    let mut next = *frame.get(at + 6)?;
    let mut here = at + 40;
    for _ in 0..MOST_EXTENSIONS {
        match next {
            // hop-by-hop, routing, destination options: length in units of 8 bytes beyond the first
            0 | 43 | 60 => {
                next = *frame.get(here)?;
                here += (usize::from(*frame.get(here + 1)?) + 1) * 8;
            }
            _ => return Some((next, here)),
        }
    }
    None
}

pub fn word(frame: &[u8], at: usize) -> Option<u16> {
    let bytes = frame.get(at..at.checked_add(2)?)?;
    Some(u16::from_be_bytes([bytes[0], bytes[1]]))
}
