//! What a VPN's messages look like, and whether a packet of its flow is one.

use super::noise::has_structure;
use super::seen::Seen;
use serde::Deserialize;

const TCP: u8 = 6;
/// Without declared messages: bytes behind the IP header that may be headers.
const HEADERS: usize = 64;
/// Of a super-packet the first message's bytes are judged; further messages have headers too.
const OF_A_SUPER_PACKET: usize = 64;

/// A kind of message, by the payload behind the UDP header; for other protocols behind that of IP.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Message {
    /// `[at, mask, value]`: a byte's bits under the mask.
    #[serde(default)]
    pub fixed: Vec<(usize, u8, u8)>,
    pub least: usize,
    pub most: Option<usize>,
    /// Lengths are `least` and so many bytes more, any number of times; 0 and 1: any length.
    #[serde(default)]
    pub step: usize,
    /// Where ciphertext begins, and how many bytes behind it are none; none: it may be clear text.
    pub noise: Option<(usize, usize)>,
}

/// What a packet of a flow is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Fits,
    /// None of the declared messages.
    Stranger,
    /// Its ciphertext is none.
    Structured,
    /// A message that may be clear text, such as a handshake's, and has some.
    Readable,
}

/// Of the payload of a packet that may be a super-packet. A TCP segment may begin anywhere in a
/// message: it is not judged.
pub fn verdict(messages: &[Message], seen: &Seen<'_>, super_packet: bool) -> Verdict {
    if seen.protocol == TCP {
        return Verdict::Fits;
    }
    if seen.later_fragment || messages.is_empty() {
        let from = if seen.later_fragment { 0 } else { HEADERS };
        return of_noise(seen.behind_ip.get(from..).unwrap_or_default(), super_packet);
    }
    let mut found = Verdict::Stranger;
    for message in messages.iter().filter(|each| each.fits(seen, super_packet)) {
        let (from, behind) = message.noise.unwrap_or_default();
        let end = seen.payload_length.saturating_sub(behind);
        let end = end.min(seen.payload.len());
        let bytes = seen.payload.get(from..end).unwrap_or_default();
        found = match (of_noise(bytes, super_packet), message.noise) {
            (Verdict::Structured, None) => Verdict::Readable,
            (verdict, _) => verdict,
        };
        if matches!(found, Verdict::Fits | Verdict::Readable) {
            break;
        }
    }
    found
}

fn of_noise(bytes: &[u8], super_packet: bool) -> Verdict {
    let most = if super_packet {
        OF_A_SUPER_PACKET
    } else {
        usize::MAX
    };
    if has_structure(&bytes[..bytes.len().min(most)]) {
        Verdict::Structured
    } else {
        Verdict::Fits
    }
}

impl Message {
    fn fits(&self, seen: &Seen<'_>, super_packet: bool) -> bool {
        let length = seen.payload_length;
        let as_long = length >= self.least
            && self.most.is_none_or(|most| length <= most)
            && (length - self.least).is_multiple_of(self.step.max(1));
        let part_or_several = seen.fragment || super_packet;
        // What was not captured is not compared.
        (part_or_several || as_long)
            && self.fixed.iter().all(|(at, mask, value)| {
                let byte = seen.payload.get(*at);
                byte.map_or(*at < length, |byte| byte & mask == *value)
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::seen::{Sight, see};
    use crate::timing::random;
    use etherparse::PacketBuilder;

    fn udp(payload: &[u8]) -> Vec<u8> {
        let mut packet = Vec::new();
        PacketBuilder::ipv4([198, 18, 0, 1], [198, 18, 0, 2], 64)
            .udp(5000, 6000)
            .write(&mut packet, payload)
            .unwrap();
        packet
    }

    fn noise(length: usize) -> Vec<u8> {
        let mut state = 3;
        (0..length)
            .map(|_| (random::next(&mut state) >> 56) as u8)
            .collect()
    }

    fn of(messages: &[Message], packet: &[u8], captured: usize, super_packet: bool) -> Verdict {
        let Sight::Ip(seen) = see(0x0800, &packet[..captured.min(packet.len())], packet.len())
        else {
            panic!("no IP packet")
        };
        verdict(messages, &seen, super_packet)
    }

    fn data() -> Vec<Message> {
        let json = r#"[{"fixed":[[0,255,4],[1,255,0]],"least":32,"step":16,"noise":[16,0]},
                       {"fixed":[[0,255,1],[1,255,0]],"least":148,"most":148,"noise":[4,32]},
                       {"fixed":[[0,255,2]],"least":64}]"#;
        serde_json::from_str(json).unwrap()
    }

    fn message(kind: u8, noise_bytes: usize) -> Vec<u8> {
        [&[kind, 0, 0, 0][..], &[0; 12], &noise(noise_bytes)].concat()
    }

    #[test]
    fn a_packet_is_a_message_by_its_bytes_length_and_ciphertext() {
        let judge = |payload: &[u8]| of(&data(), &udp(payload), usize::MAX, false);
        assert_eq!(judge(&message(4, 1008)), Verdict::Fits);
        assert_eq!(
            judge(&message(4, 1007)),
            Verdict::Stranger,
            "another length"
        );
        assert_eq!(judge(&message(5, 1008)), Verdict::Stranger, "another type");
        assert_eq!(judge(&noise(1024)), Verdict::Stranger);
        assert_eq!(judge(&[b'x'; 16]), Verdict::Stranger, "too short");
        assert_eq!(judge(&[]), Verdict::Stranger);
        let clear = [&message(4, 0)[..], &[b'x'; 1008]].concat();
        assert_eq!(judge(&clear), Verdict::Structured);
        let behind = [&[1, 0, 0, 0][..], &noise(112), &[0; 32]].concat();
        assert_eq!(
            judge(&behind),
            Verdict::Fits,
            "zeros where there is no ciphertext"
        );
        let before = [&[1, 0, 0, 0][..], &[0; 32], &noise(112)].concat();
        assert_eq!(judge(&before), Verdict::Structured);
        assert_eq!(judge(&[&[2][..], &noise(500)].concat()), Verdict::Fits);
        assert_eq!(judge(&[2; 100]), Verdict::Readable, "a handshake's");
    }

    #[test]
    fn what_was_not_captured_is_not_compared() {
        let packet = udp(&message(4, 1008));
        for captured in [28, 29, 44, 60, 500] {
            assert_eq!(
                of(&data(), &packet, captured, false),
                Verdict::Fits,
                "{captured}"
            );
        }
        let clear = udp(&[&message(4, 0)[..], &[b'x'; 1008]].concat());
        assert_eq!(of(&data(), &clear, 500, false), Verdict::Structured);
    }

    #[test]
    fn messages_joined_by_an_offload_are_judged_by_the_first() {
        let joined = [message(4, 80), message(4, 80), message(4, 77)].concat();
        assert_eq!(of(&data(), &udp(&joined), usize::MAX, true), Verdict::Fits);
        let clear = [&message(4, 0)[..], &[b'x'; 80], &message(4, 77)].concat();
        assert_eq!(
            of(&data(), &udp(&clear), usize::MAX, true),
            Verdict::Structured
        );
        assert_eq!(
            of(&data(), &udp(&[b'x'; 300]), usize::MAX, true),
            Verdict::Stranger
        );
    }

    #[test]
    fn without_declared_messages_all_must_be_noise_behind_the_headers() {
        assert_eq!(of(&[], &udp(&noise(500)), usize::MAX, false), Verdict::Fits);
        assert_eq!(
            of(&[], &udp(&[b'x'; 500]), usize::MAX, false),
            Verdict::Structured
        );
        assert_eq!(
            of(&[], &udp(&[b'x'; 50]), usize::MAX, false),
            Verdict::Fits,
            "headers"
        );
    }

    #[test]
    fn a_fragment_has_a_part_of_a_message_and_a_segment_begins_anywhere() {
        let mut first = udp(&message(4, 1007));
        first[6] = 0x20;
        assert_eq!(of(&data(), &first, usize::MAX, false), Verdict::Fits);
        let mut fragment = udp(&noise(500));
        fragment[7] = 10;
        assert_eq!(of(&data(), &fragment, usize::MAX, false), Verdict::Fits);
        let mut clear = udp(&[b'x'; 500]);
        clear[7] = 10;
        assert_eq!(of(&data(), &clear, usize::MAX, false), Verdict::Structured);
        let mut segment = Vec::new();
        PacketBuilder::ipv4([198, 18, 0, 1], [198, 18, 0, 2], 64)
            .tcp(1, 2, 3, 4)
            .write(&mut segment, &[b'x'; 500])
            .unwrap();
        assert_eq!(of(&data(), &segment, usize::MAX, false), Verdict::Fits);
    }
}
