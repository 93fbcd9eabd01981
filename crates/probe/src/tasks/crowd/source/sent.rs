//! What members sent.

use serde::Serialize;
use std::collections::BTreeMap;

/// What one member sent; `offered` and `send_errors` are packets of UDP, `retransmits` segments of
/// TCP. `bytes` of TCP are those that were acknowledged at the end.
#[derive(Debug, Clone, Default, Serialize)]
pub struct MemberSent {
    pub offered: u64,
    pub packets: u64,
    pub bytes: u64,
    /// Those that were sent again included; of TCP.
    pub bytes_sent: u64,
    pub send_errors: BTreeMap<String, u64>,
    pub retransmits: u32,
    pub segments: u32,
    pub segments_back: u32,
    pub mss: u32,
    /// In the schedule; more than `offered` if the generator was too slow, or the tunnel did not
    /// take them.
    pub scheduled: Option<u64>,
}

/// What a thread's members sent, by number.
pub type Numbered = Vec<(usize, MemberSent)>;
