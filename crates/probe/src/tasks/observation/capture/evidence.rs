//! The results of a capture.

use crate::packet::bytes::Randomness;
use crate::packet::counts::{Count, PerDirection};
use serde::Serialize;

#[derive(Debug, Default, Serialize)]
pub struct Other {
    pub packets: u64,
    pub bytes: u64,
    pub examples: Vec<String>,
}

#[derive(Debug, Default, Serialize)]
pub struct Found {
    pub packets: u64,
    pub example: Option<String>,
}

/// Packets of the flow, and the first of them.
#[derive(Debug, Default, Serialize)]
pub struct Doubtful {
    pub packets: u64,
    pub recorded: Vec<Recorded>,
}

/// What the ciphertexts of a random sample of the flow's packets have in common.
#[derive(Debug, Default, Serialize)]
pub struct InCommon {
    /// The sample.
    pub packets: usize,
    /// Those that have bytes in a row of an earlier one.
    pub sharing: Doubtful,
    /// Offsets in a kind of message at which the bytes of all its packets were judged.
    pub columns: usize,
    /// Those, in the ciphertext, at which they have structure.
    pub structured: Vec<usize>,
}

#[derive(Debug, Serialize)]
pub struct Recorded {
    pub realtime_ns: Option<u64>,
    pub outgoing: bool,
    pub protocol: u8,
    pub source_port: u16,
    pub destination_port: u16,
    pub length: usize,
    /// Of a SYN or SYN-ACK.
    pub mss: Option<u16>,
    pub payload: String,
}

/// A search in all packets, also in those that were not copied.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Searched {
    /// A super-packet is one. Without those that a full queue of the kernel lost.
    pub packets: u64,
    /// So many bytes of a canary in a row are found, wherever they are in a packet of 1,500 bytes.
    pub least_bytes: u32,
}

/// Bytes are those of IP packets.
#[derive(Debug, Default, Serialize)]
pub struct Evidence {
    pub device: String,
    pub mtu: u32,
    pub sample_one_in: u32,
    pub packets: u64,
    pub bytes: u64,
    pub directions: PerDirection,
    pub matching: PerDirection,
    /// Beside the scope, and in no other count.
    pub beside: PerDirection,
    /// ICMP errors that quote a packet of the flow.
    pub about_flow: Count,
    pub other: Other,
    pub neighbour: u64,
    pub decrypted: u64,
    pub fragments: u64,
    /// Packets longer than the MTU: no packet on a wire is.
    pub gso_packets: u64,
    /// None: what was captured was searched, and no other packet.
    pub searched: Option<Searched>,
    pub canary_hits: u64,
    pub canary_example: Option<String>,
    /// With source and destination of an inner header.
    pub inner_ends: Found,
    /// None of the flow's messages.
    pub strangers: Doubtful,
    /// With structure where ciphertext must be.
    pub structured: Doubtful,
    /// Messages that may be clear text, such as a handshake's.
    pub readable: Doubtful,
    pub in_common: InCommon,
    pub randomness: Option<Randomness>,
    pub kernel_drops: u32,
    pub recorded: Vec<Recorded>,
    pub seconds: f64,
}
