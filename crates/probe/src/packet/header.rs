//! The format of the probe's own packets.
//!
//! ```text
//!   0        3      4        12          20         28
//!   | "CVT"  | kind | tag    | sequence  | time     | canary, repeated ...
//! ```
//! Integers are big-endian. The upper 16 bits of the sequence are the flow. The tag stands for the session's token; the time is CLOCK_MONOTONIC of
//! the sender in nanoseconds, shortly before the packet was handed to the kernel.

use crate::protocol::values::Canary;

pub const HEADER_LENGTH: usize = 28;
/// The largest payload of UDP over IPv4.
pub const MAX_PAYLOAD: usize = 65_507;
/// Where the flow starts in the number; no session counts so far.
const FLOW_SHIFT: u32 = 48;
const MAGIC: [u8; 3] = *b"CVT";

/// What a packet is for. A reflector answers requests only, so that two of them never talk for ever.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    Data = 1,
    Request = 2,
    Reply = 3,
}

impl Kind {
    fn read(byte: u8) -> Option<Kind> {
        [Kind::Data, Kind::Request, Kind::Reply]
            .into_iter()
            .find(|kind| *kind as u8 == byte)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    pub kind: Kind,
    pub tag: [u8; 8],
    /// Which of several streams of a session; 0 if there is but one.
    pub flow: u16,
    pub sequence: u64,
    pub time_ns: u64,
}

impl Header {
    /// Reads a packet of the session; None for a stranger's.
    pub fn read(payload: &[u8], tag: [u8; 8]) -> Option<Header> {
        let bytes: &[u8; HEADER_LENGTH] = payload.first_chunk()?;
        let (magic, rest) = bytes.split_first_chunk::<3>()?;
        let (kind, rest) = rest.split_first()?;
        let (found_tag, rest) = rest.split_first_chunk::<8>()?;
        let (sequence, rest) = rest.split_first_chunk::<8>()?;
        let number = u64::from_be_bytes(*sequence);
        let header = Header {
            kind: Kind::read(*kind)?,
            tag,
            flow: (number >> FLOW_SHIFT) as u16,
            sequence: number & ((1 << FLOW_SHIFT) - 1),
            time_ns: u64::from_be_bytes(*rest.first_chunk()?),
        };
        (*magic == MAGIC && *found_tag == tag).then_some(header)
    }

    /// Writes it to the front of a payload of at least `HEADER_LENGTH` bytes.
    pub fn write(&self, payload: &mut [u8]) {
        payload[..3].copy_from_slice(&MAGIC);
        payload[3] = self.kind as u8;
        payload[4..12].copy_from_slice(&self.tag);
        let number = u64::from(self.flow) << FLOW_SHIFT | self.sequence;
        payload[12..20].copy_from_slice(&number.to_be_bytes());
        payload[20..28].copy_from_slice(&self.time_ns.to_be_bytes());
    }
}

/// Turns a request into its reply, of the same length.
pub fn make_reply(payload: &mut [u8]) {
    payload[3] = Kind::Reply as u8;
}

/// A payload with room for the header in front and the canary behind it.
pub fn blank_payload(length: usize, canary: &Canary) -> Vec<u8> {
    let mut payload = vec![0; HEADER_LENGTH.min(length)];
    payload.extend(canary.repeated(length.saturating_sub(HEADER_LENGTH)));
    payload
}

/// Whether what follows the header is the canary, unharmed.
pub struct PayloadCheck {
    expected: Vec<u8>,
}

impl PayloadCheck {
    pub fn new(canary: &Canary) -> PayloadCheck {
        PayloadCheck {
            expected: canary.repeated(MAX_PAYLOAD),
        }
    }

    pub fn intact(&self, payload: &[u8]) -> bool {
        let body = payload.get(HEADER_LENGTH..).unwrap_or_default();
        self.expected.get(..body.len()) == Some(body)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TAG: [u8; 8] = [1, 2, 3, 4, 5, 6, 7, 8];

    fn header(flow: u16, sequence: u64, time_ns: u64) -> Header {
        Header {
            kind: Kind::Data,
            tag: TAG,
            flow,
            sequence,
            time_ns,
        }
    }

    proptest! {
        #[test]
        fn there_and_back(flow: u16, sequence in 0_u64..1 << 48, time_ns: u64, extra in 0_usize..100) {
            let mut payload = blank_payload(HEADER_LENGTH + extra, &Canary::default());
            let header = header(flow, sequence, time_ns);
            header.write(&mut payload);
            prop_assert_eq!(Header::read(&payload, TAG), Some(header));
            prop_assert!(PayloadCheck::new(&Canary::default()).intact(&payload));
        }

        #[test]
        fn any_bytes_are_read_without_harm(bytes: Vec<u8>) {
            prop_assert_eq!(Header::read(&bytes, TAG), None);
            PayloadCheck::new(&Canary::default()).intact(&bytes);
        }
    }

    #[test]
    fn another_token_makes_a_stranger() {
        let mut payload = [0; HEADER_LENGTH];
        header(0, 1, 2).write(&mut payload);
        assert!(Header::read(&payload, [0; 8]).is_none());
    }

    #[test]
    fn a_flipped_bit_is_seen() {
        let check = PayloadCheck::new(&Canary::default());
        let mut payload = blank_payload(1400, &Canary::default());
        payload[1399] ^= 1;
        assert!(!check.intact(&payload));
    }
}
