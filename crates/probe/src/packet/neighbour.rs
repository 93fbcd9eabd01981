//! Messages to neighbours in the form of their standards: what carries data in another form is none.

use super::seen::{ETHERTYPE_ARP, IGMP, see_ip};

/// Ethernet and IPv4: kinds and lengths of addresses (RFC 826).
const ARP_BEGINS: [u8; 7] = [0, 1, 8, 0, 6, 4, 0];
const ARP: usize = 28;
/// What a frame of the shortest length has room for.
const PADDED: usize = 46;

/// Whether a packet that is `Sight::Neighbour` has the form of its standard, to the last byte.
pub fn is_standard(ethertype: u16, packet: &[u8]) -> bool {
    if ethertype == ETHERTYPE_ARP {
        return is_arp(packet);
    }
    let Some(seen) = see_ip(packet, packet.len()) else {
        return false;
    };
    // Behind the packet may be zeros, as behind ARP.
    let rest = packet.get(seen.length..).unwrap_or_default();
    let padded = rest.is_empty() || packet.len() <= PADDED && is_zero(rest);
    let message = seen.behind_ip;
    padded
        && !seen.fragment
        && if seen.protocol == IGMP {
            is_igmp(message)
        } else {
            is_of_icmpv6(message)
        }
}

fn is_arp(packet: &[u8]) -> bool {
    let operation = packet.get(7);
    packet.starts_with(&ARP_BEGINS)
        && matches!(operation, Some(1 | 2))
        && (ARP..=PADDED).contains(&packet.len())
        && is_zero(&packet[ARP..])
}

/// Versions 1 to 3 (RFC 1112, 2236, 3376).
fn is_igmp(message: &[u8]) -> bool {
    match message {
        [0x11, _, _, _, group @ ..] if message.len() >= 12 => {
            is_group_v4(group) && sources(message, 10, 4)
        }
        [0x11 | 0x12 | 0x16 | 0x17, _, _, _, group @ ..] => {
            message.len() == 8 && is_group_v4(group)
        }
        [0x22, 0, _, _, 0, 0, records @ ..] => reported(records, 4, is_group_v4),
        _ => false,
    }
}

/// Listeners (RFC 2710, 3810), routers and neighbours (RFC 4861).
fn is_of_icmpv6(message: &[u8]) -> bool {
    let (Some(kind), Some(0)) = (message.first(), message.get(1)) else {
        return false;
    };
    let group = |at: usize| message.get(at..).is_some_and(is_group_v6);
    match kind {
        130 if message.len() >= 28 => group(8) && sources(message, 26, 16),
        130..=132 => message.len() == 24 && group(8),
        143 => message.get(4..6) == Some(&[0, 0]) && reported(&message[6..], 16, is_group_v6),
        133 => are_options(message, 8),
        134 => are_options(message, 16),
        135 | 136 => are_options(message, 24),
        137 => are_options(message, 40),
        _ => false,
    }
}

/// A number of addresses at that place, and as many behind it.
fn sources(message: &[u8], at: usize, address: usize) -> bool {
    number(message, at).is_some_and(|count| message.len() == at + 2 + count * address)
}

/// A number of records, and as many: kind, no auxiliary data, number of sources, group, sources.
fn reported(mut rest: &[u8], address: usize, is_group: fn(&[u8]) -> bool) -> bool {
    let Some(count) = number(rest, 0) else {
        return false;
    };
    rest = &rest[2..];
    for _ in 0..count {
        let (Some([1..=6, 0]), Some(sources)) = (rest.first_chunk(), number(rest, 2)) else {
            return false;
        };
        let length = 4 + address + sources * address;
        if rest.len() < length || !is_group(&rest[4..]) {
            return false;
        }
        rest = &rest[length..];
    }
    rest.is_empty()
}

/// Options of the kinds that are known, each with its length in units of eight bytes.
fn are_options(message: &[u8], at: usize) -> bool {
    let Some(mut rest) = message.get(at..) else {
        return false;
    };
    while let [kind, units, ..] = *rest {
        let fits = match kind {
            1 | 2 | 5 | 14 => units == 1,
            3 => units == 4,
            24 => (1..=3).contains(&units),
            4 | 25 | 31 => units > 1,
            _ => false,
        };
        let length = usize::from(units) * 8;
        if !fits || rest.len() < length {
            return false;
        }
        rest = &rest[length..];
    }
    rest.is_empty()
}

fn number(bytes: &[u8], at: usize) -> Option<usize> {
    let pair = bytes.get(at..)?.first_chunk::<2>()?;
    Some(u16::from_be_bytes(*pair).into())
}

/// A group; a general query has none.
fn is_group_v4(bytes: &[u8]) -> bool {
    bytes
        .first_chunk::<4>()
        .is_some_and(|group| group[0] >> 4 == 14 || is_zero(group))
}

fn is_group_v6(bytes: &[u8]) -> bool {
    bytes
        .first_chunk::<16>()
        .is_some_and(|group| group[0] == 0xff || is_zero(group))
}

fn is_zero(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| *byte == 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use etherparse::{IpNumber, PacketBuilder};
    use proptest::prelude::*;

    fn v4(message: &[u8]) -> Vec<u8> {
        let mut packet = Vec::new();
        PacketBuilder::ipv4([198, 18, 0, 1], [224, 0, 0, 22], 1)
            .write(&mut packet, IpNumber::IGMP, message)
            .unwrap();
        packet
    }

    fn v6(message: &[u8]) -> Vec<u8> {
        let mut packet = Vec::new();
        PacketBuilder::ipv6([1; 16], [0xff; 16], 255)
            .write(&mut packet, IpNumber::IPV6_ICMP, message)
            .unwrap();
        packet
    }

    fn arp() -> Vec<u8> {
        [&ARP_BEGINS[..], &[1], &[7; 20]].concat()
    }

    #[test]
    fn what_the_standards_have() {
        assert!(is_standard(ETHERTYPE_ARP, &arp()));
        assert!(is_standard(ETHERTYPE_ARP, &[arp(), vec![0; 18]].concat()));
        let group = [224, 0, 0, 251];
        for message in [
            [&[0x16, 0, 1, 2][..], &group].concat(),
            [&[0x11, 100, 1, 2][..], &[0; 4]].concat(),
            [&[0x11, 100, 1, 2][..], &group, &[2, 125, 0, 1], &[9; 4]].concat(),
            [&[0x22, 0, 1, 2, 0, 0, 0, 1][..], &[4, 0, 0, 0], &group].concat(),
            [
                &[0x22, 0, 1, 2, 0, 0, 0, 1][..],
                &[3, 0, 0, 1],
                &group,
                &[9; 4],
            ]
            .concat(),
        ] {
            assert!(is_standard(0x0800, &v4(&message)), "{message:?}");
        }
        let group = [0xff; 16];
        let link_layer = [1, 1, 2, 3, 4, 5, 6, 7];
        for message in [
            [&[131, 0, 1, 2, 0, 0, 0, 0][..], &group].concat(),
            [&[143, 0, 1, 2, 0, 0, 0, 1][..], &[4, 0, 0, 0], &group].concat(),
            [&[133, 0, 1, 2, 0, 0, 0, 0][..], &link_layer].concat(),
            [&[135, 0, 1, 2, 0, 0, 0, 0][..], &[9; 16], &link_layer].concat(),
            [&[136, 0, 1, 2, 96, 0, 0, 0][..], &[9; 16]].concat(),
        ] {
            assert!(is_standard(0x86dd, &v6(&message)), "{message:?}");
        }
    }

    #[test]
    fn text_in_another_form_is_none() {
        let text: Vec<u8> = (0..200).map(|at| b'a' ^ 0x5a ^ at).collect();
        assert!(!is_standard(ETHERTYPE_ARP, &text));
        assert!(!is_standard(
            ETHERTYPE_ARP,
            &[&arp()[..], &text[..18]].concat()
        ));
        assert!(!is_standard(
            ETHERTYPE_ARP,
            &[&arp()[..], &[0; 19]].concat()
        ));
        for kind in [0x11, 0x12, 0x16, 0x17, 0x22] {
            let message = [&[kind, 0, 1, 2, 0, 0, 0, 1][..], &text].concat();
            assert!(!is_standard(0x0800, &v4(&message)), "{kind:#x}");
        }
        for kind in (130..=137).chain([143]) {
            let message = [&[kind, 0, 1, 2, 0, 0, 0, 1][..], &text].concat();
            assert!(!is_standard(0x86dd, &v6(&message)), "{kind}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_harm(bytes: Vec<u8>, ethertype: u16, kind: u8) {
            is_standard(ethertype, &bytes);
            for ethertype in [ETHERTYPE_ARP, 0x0800, 0x86dd] {
                is_standard(ethertype, &bytes);
            }
            let message = [&[kind][..], &bytes].concat();
            is_igmp(&message);
            is_of_icmpv6(&message);
        }
    }
}
