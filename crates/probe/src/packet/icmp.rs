//! ICMP echo messages, of both versions.

use etherparse::icmpv4::TYPE_ECHO_REPLY as V4_ECHO_REPLY;
use etherparse::icmpv6::{TYPE_ECHO_REPLY as V6_ECHO_REPLY, TYPE_ECHO_REQUEST as V6_ECHO_REQUEST};
use etherparse::{IcmpEchoHeader, Icmpv4Header, Icmpv4Type, Ipv4HeaderSlice};

/// Type, code, checksum, identifier and sequence number.
pub const ICMP_HEADER: usize = 8;

/// Writes an echo request into `message`: the header; the payload stays as it is.
///
/// The identifier is the kernel's on a ping socket; over IPv6 so is the checksum.
pub fn write_request(message: &mut [u8], identifier: u16, sequence: u16, ipv6: bool) {
    let echo = IcmpEchoHeader {
        id: identifier,
        seq: sequence,
    };
    let (header, payload) = message.split_at_mut(ICMP_HEADER);
    let v4 = Icmpv4Header::with_checksum(Icmpv4Type::EchoRequest(echo), payload);
    header.copy_from_slice(&v4.to_bytes());
    if ipv6 {
        header[0] = V6_ECHO_REQUEST;
    }
}

/// The payload of an echo reply; `ip_header` if the packet starts with that of IPv4.
pub fn reply_payload(packet: &[u8], ip_header: bool, ipv6: bool) -> Option<&[u8]> {
    let message = if ip_header {
        let header = Ipv4HeaderSlice::from_slice(packet).ok()?;
        packet.get(header.slice().len()..)?
    } else {
        packet
    };
    let wanted = if ipv6 { V6_ECHO_REPLY } else { V4_ECHO_REPLY };
    (*message.first()? == wanted).then(|| message.get(ICMP_HEADER..))?
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_bytes_are_read_without_harm(packet: Vec<u8>, ip_header: bool, ipv6: bool) {
            let _ = reply_payload(&packet, ip_header, ipv6);
        }

        #[test]
        fn the_checksum_is_right(payload: Vec<u8>, identifier: u16, sequence: u16) {
            let mut message = vec![0; ICMP_HEADER];
            message.extend(&payload);
            write_request(&mut message, identifier, sequence, false);
            // RFC 1071: the sum over a message with its right checksum is all ones.
            let sum: u64 = message
                .chunks(2)
                .map(|pair| u64::from(pair[0]) << 8 | u64::from(*pair.get(1).unwrap_or(&0)))
                .sum();
            let mut folded = sum;
            while folded > 0xffff {
                folded = (folded & 0xffff) + (folded >> 16);
            }
            prop_assert_eq!(folded, 0xffff);
        }
    }

    #[test]
    fn a_reply_is_told_from_a_request() {
        let mut message = vec![7; ICMP_HEADER + 4];
        write_request(&mut message, 1, 2, false);
        assert_eq!(reply_payload(&message, false, false), None);
        message[0] = V4_ECHO_REPLY;
        assert_eq!(reply_payload(&message, false, false), Some(&[7; 4][..]));
    }
}
