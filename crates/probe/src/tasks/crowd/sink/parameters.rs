//! What a sink is to receive.

use super::super::Protocol;
use crate::protocol::values::{Canary, Seconds, Token};
use crate::results::forwarded::Offer;
use crate::results::one_way::Clock;
use serde::Deserialize;
use std::net::IpAddr;
use std::path::PathBuf;

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Member {
    pub netns: Option<PathBuf>,
    pub bind: IpAddr,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    pub protocol: Protocol,
    pub members: Vec<Member>,
    pub token: Token,
    /// Each payload is compared with it; of TCP the start of what each call reads.
    pub canary: Canary,
    #[serde(default = "one")]
    pub threads: u16,
    pub interval_ms: u32,
    pub duration_max_s: Seconds,
    /// After a request to end: go on until nothing has come for so long.
    #[serde(default)]
    pub quiet_ms: u32,
    #[serde(default)]
    pub clock: Clock,
    /// End by itself as soon as something has come from each member; of UDP.
    #[serde(default)]
    pub until_all: bool,
    /// Bytes that arrive in `[from, to)` after the beginning are `counted_bytes`, too. Without it all
    /// are.
    pub window_ns: Option<(u64, u64)>,
    /// That of each member: by it packets count as `forwarded`; of UDP.
    pub offer: Option<Offer>,
}

fn one() -> u16 {
    1
}
