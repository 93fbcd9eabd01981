//! ICMP echo messages, of both versions.

use etherparse::Ipv4HeaderSlice;
use etherparse::checksum::Sum16BitWords;
use etherparse::icmpv4::{TYPE_ECHO_REPLY as V4_ECHO_REPLY, TYPE_ECHO_REQUEST as V4_ECHO_REQUEST};
use etherparse::icmpv6::{TYPE_ECHO_REPLY as V6_ECHO_REPLY, TYPE_ECHO_REQUEST as V6_ECHO_REQUEST};
use std::ops::Range;

/// Type, code, checksum, identifier and sequence number.
pub const ICMP_HEADER: usize = 8;
const CHECKSUM: Range<usize> = 2..4;
const IDENTIFIER: Range<usize> = 4..6;
const SEQUENCE: Range<usize> = 6..8;

/// An echo request of which all is made beforehand but what differs from one to the next.
///
/// To sum up 65,000 bytes takes longer than they need on a fast link, and would count as its time.
pub struct EchoRequest {
    message: Vec<u8>,
    /// Bytes in front that differ: the header and the start of the payload.
    front: usize,
    /// Of what is behind them (RFC 1071).
    sum_behind: Sum16BitWords,
}

impl EchoRequest {
    /// `differing` bytes at the start of the payload, an even number, are written for each request.
    ///
    /// The identifier is the kernel's on a ping socket; over IPv6 so is the checksum.
    pub fn new(payload: &[u8], differing: usize, identifier: u16, ipv6: bool) -> EchoRequest {
        let mut message = vec![0; ICMP_HEADER];
        message[0] = if ipv6 {
            V6_ECHO_REQUEST
        } else {
            V4_ECHO_REQUEST
        };
        message[IDENTIFIER].copy_from_slice(&identifier.to_be_bytes());
        message.extend(payload);
        let front = ICMP_HEADER + differing;
        EchoRequest {
            sum_behind: Sum16BitWords::new().add_slice(&message[front..]),
            message,
            front,
        }
    }

    /// The request of that number, its payload's start written by `write`.
    pub fn numbered(&mut self, sequence: u16, write: impl FnOnce(&mut [u8])) -> &[u8] {
        let front = &mut self.message[..self.front];
        front[CHECKSUM].fill(0);
        front[SEQUENCE].copy_from_slice(&sequence.to_be_bytes());
        write(&mut front[ICMP_HEADER..]);
        let sum = self.sum_behind.clone().add_slice(front);
        front[CHECKSUM].copy_from_slice(&sum.ones_complement().to_ne_bytes());
        &self.message
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

    /// RFC 1071: the sum over a message with its right checksum is all ones.
    fn folded_sum(message: &[u8]) -> u64 {
        let mut sum: u64 = message
            .chunks(2)
            .map(|pair| u64::from(pair[0]) << 8 | u64::from(*pair.get(1).unwrap_or(&0)))
            .sum();
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        sum
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_harm(packet: Vec<u8>, ip_header: bool, ipv6: bool) {
            let _ = reply_payload(&packet, ip_header, ipv6);
        }

        #[test]
        fn the_checksum_of_each_request_is_right(
            payload in prop::collection::vec(any::<u8>(), 8..3000),
            identifier: u16,
            requests: Vec<(u16, [u8; 8])>,
        ) {
            let mut request = EchoRequest::new(&payload, 8, identifier, false);
            for (sequence, start) in requests {
                let message = request.numbered(sequence, |front| front.copy_from_slice(&start));
                prop_assert_eq!(folded_sum(message), 0xffff);
                prop_assert_eq!(&message[..2], &[8, 0]);
                prop_assert_eq!(&message[IDENTIFIER], &identifier.to_be_bytes());
                prop_assert_eq!(&message[SEQUENCE], &sequence.to_be_bytes());
                prop_assert_eq!(&message[ICMP_HEADER..ICMP_HEADER + 8], &start);
                prop_assert_eq!(&message[ICMP_HEADER + 8..], &payload[8..]);
            }
        }
    }

    #[test]
    fn a_reply_is_told_from_a_request() {
        let mut request = EchoRequest::new(&[7; 4], 0, 1, false);
        let mut message = request.numbered(2, |_| {}).to_vec();
        assert_eq!(reply_payload(&message, false, false), None);
        message[0] = V4_ECHO_REPLY;
        assert_eq!(reply_payload(&message, false, false), Some(&[7; 4][..]));
    }
}
