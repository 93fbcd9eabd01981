//! What a VPN's messages look like, and whether a packet of its flow is one.

use super::noise::has_structure;
use super::seen::Seen;
use serde::Deserialize;

const TCP: u8 = 6;
/// Without declared messages: bytes behind the IP header that may be headers.
const HEADERS: usize = 64;
/// The most bytes of a message that are neither fixed nor ciphertext, in front and behind together: as
/// many as a fragment of IKE on the port of ESP has. In more a driver could declare inner headers.
const MOST_HEADER: usize = 48;
/// In more than these it is a handshake's, of which a tunnel sends few: data through a relay of Nebula
/// have 28, ESP 16.
const MOST_OF_DATA: usize = 28;
/// The least of ciphertext: a short authentication tag.
const LEAST_CIPHERTEXT: usize = 8;
/// What may be clear text counts from this length on: keepalives are shorter.
const LEAST_READABLE: usize = 16;
/// Of a super-packet the first message's bytes are judged; further messages have headers too.
pub const OF_A_SUPER_PACKET: usize = 64;

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
    /// A message that may be clear text, such as a handshake's.
    Readable,
}

/// What one packet is, and its ciphertext, to be compared with that of others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Judged<'a> {
    pub verdict: Verdict,
    /// The number of the message; none: the bytes have no known place in one.
    pub message: Option<usize>,
    /// Empty where the message may be clear text.
    pub ciphertext: &'a [u8],
}

/// Of the payload of a packet that may be a super-packet. A TCP segment may begin anywhere in a
/// message: it is not judged.
pub fn judge<'a>(messages: &[Message], seen: &Seen<'a>, super_packet: bool) -> Judged<'a> {
    let verdict = |verdict| Judged {
        verdict,
        message: None,
        ciphertext: &[],
    };
    if seen.protocol == TCP {
        return verdict(Verdict::Fits);
    }
    if seen.later_fragment || messages.is_empty() {
        let from = if seen.later_fragment { 0 } else { HEADERS };
        let bytes = first(seen.behind_ip.get(from..).unwrap_or_default(), super_packet);
        return Judged {
            ciphertext: bytes,
            ..verdict(of_noise(bytes))
        };
    }
    let mut found = verdict(Verdict::Stranger);
    let fitting = messages.iter().enumerate();
    for (number, message) in fitting.filter(|(_, each)| each.fits(seen, super_packet)) {
        let Some((from, behind)) = message.noise else {
            let short = seen.payload_length < LEAST_READABLE;
            found = verdict(if short {
                Verdict::Fits
            } else {
                Verdict::Readable
            });
            break;
        };
        let end = seen.payload_length.saturating_sub(behind);
        let end = end.min(seen.payload.len());
        let bytes = first(
            seen.payload.get(from..end).unwrap_or_default(),
            super_packet,
        );
        let judged = match of_noise(bytes) {
            Verdict::Fits if message.open_bytes() > MOST_OF_DATA => Verdict::Readable,
            judged => judged,
        };
        found = Judged {
            verdict: judged,
            message: Some(number),
            ciphertext: bytes,
        };
        if found.verdict != Verdict::Structured {
            break;
        }
    }
    found
}

fn first(bytes: &[u8], super_packet: bool) -> &[u8] {
    let most = if super_packet {
        OF_A_SUPER_PACKET
    } else {
        usize::MAX
    };
    &bytes[..bytes.len().min(most)]
}

fn of_noise(bytes: &[u8]) -> Verdict {
    if has_structure(bytes) {
        Verdict::Structured
    } else {
        Verdict::Fits
    }
}

impl Message {
    /// Bytes that are neither fixed nor ciphertext.
    fn open_bytes(&self) -> usize {
        let (from, behind) = self.noise.unwrap_or_default();
        let fixed = |at: &usize| {
            let mut of_it = self.fixed.iter().filter(|(place, _, _)| place == at);
            of_it.any(|(_, mask, _)| *mask == u8::MAX)
        };
        (0..from).filter(|at| !fixed(at)).count() + behind
    }

    fn fits(&self, seen: &Seen<'_>, super_packet: bool) -> bool {
        let length = seen.payload_length;
        let as_long = length >= self.least
            && self.most.is_none_or(|most| length <= most)
            && (length - self.least).is_multiple_of(self.step.max(1));
        let part_or_several = seen.fragment || super_packet;
        let has_ciphertext = self.noise.is_none_or(|(from, behind)| {
            let header = from.saturating_add(behind);
            header <= MOST_HEADER && (part_or_several || length >= header + LEAST_CIPHERTEXT)
        });
        // What was not captured is not compared.
        (part_or_several || as_long)
            && has_ciphertext
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
        judge(messages, &seen, super_packet).verdict
    }

    fn data() -> Vec<Message> {
        let json = r#"[{"fixed":[[0,255,4],[1,255,0]],"least":32,"step":16,"noise":[16,0]},
                       {"fixed":[[0,255,1],[1,255,0]],"least":148,"most":148,"noise":[4,16]},
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
        let behind = [&[1, 0, 0, 0][..], &noise(128), &[0; 16]].concat();
        assert_eq!(
            judge(&behind),
            Verdict::Fits,
            "zeros where there is no ciphertext"
        );
        let before = [&[1, 0, 0, 0][..], &[0; 32], &noise(112)].concat();
        assert_eq!(judge(&before), Verdict::Structured);
        for handshake in [&[&[2][..], &noise(500)].concat()[..], &[2; 100]] {
            assert_eq!(judge(handshake), Verdict::Readable);
        }
    }

    #[test]
    fn a_message_has_ciphertext_behind_a_short_header() {
        let judge = |from: usize, behind: usize, bytes: usize| {
            let message = Message {
                noise: Some((from, behind)),
                ..Message::default()
            };
            of(&[message], &udp(&noise(bytes)), usize::MAX, false)
        };
        assert_eq!(judge(48, 0, 56), Verdict::Readable);
        assert_eq!(judge(32, 16, 56), Verdict::Readable);
        assert_eq!(judge(12, 16, 36), Verdict::Fits);
        assert_eq!(judge(48, 0, 55), Verdict::Stranger, "it has no tag");
        assert_eq!(judge(49, 0, 1000), Verdict::Stranger, "a long header");
        assert_eq!(judge(0, 49, 1000), Verdict::Stranger);
        assert_eq!(judge(2000, 0, 1000), Verdict::Stranger, "behind its end");
        assert_eq!(judge(usize::MAX, 1, 1000), Verdict::Stranger);
    }

    #[test]
    fn a_long_header_is_a_handshakes() {
        let judge = |from: usize, fixed: usize| {
            let message = Message {
                fixed: (0..fixed).map(|at| (at, 0xff, 7)).collect(),
                noise: Some((from, 0)),
                ..Message::default()
            };
            let packet = udp(&[&[7; 48][..], &noise(500)].concat()[48 - from..]);
            of(&[message], &packet, usize::MAX, false)
        };
        assert_eq!(judge(28, 0), Verdict::Fits);
        assert_eq!(judge(29, 0), Verdict::Readable);
        assert_eq!(judge(29, 1), Verdict::Fits);
        assert_eq!(judge(48, 20), Verdict::Fits);
        assert_eq!(judge(48, 19), Verdict::Readable);
    }

    #[test]
    fn a_keepalive_is_no_handshake() {
        let any = [Message::default()];
        for (bytes, expected) in [
            (1, Verdict::Fits),
            (15, Verdict::Fits),
            (16, Verdict::Readable),
        ] {
            assert_eq!(of(&any, &udp(&noise(bytes)), usize::MAX, false), expected);
        }
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
