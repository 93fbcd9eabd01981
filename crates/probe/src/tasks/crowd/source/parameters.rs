//! What a source is to send.

use super::super::Protocol;
use crate::net::device::egress::Segmentation;
use crate::packet::sizes::Sizes;
use crate::protocol::values::{Canary, Rate, Seconds, Token};
use crate::timing::on_off::Periods;
use serde::Deserialize;
use std::net::IpAddr;
use std::path::PathBuf;

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Member {
    pub netns: Option<PathBuf>,
    pub bind: IpAddr,
    pub to: IpAddr,
    pub port: u16,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    pub protocol: Protocol,
    pub members: Vec<Member>,
    pub token: Token,
    #[serde(default)]
    pub canary: Canary,
    /// Bytes of UDP payload.
    #[serde(default = "smallest")]
    pub payload_size: Sizes,
    /// Packets per second of each member; none: as fast as its socket takes them. UDP only.
    pub rate_pps: Option<Rate>,
    /// Mean lengths of the times in which a member sends and does not, exponentially distributed;
    /// the rate is that of both together.
    pub on_off: Option<Periods>,
    /// The members' addresses and routes may come later: until then packets are `send_errors`. UDP
    /// only.
    #[serde(default)]
    pub early: bool,
    #[serde(default)]
    pub seed: u64,
    #[serde(default)]
    pub segmentation: Segmentation,
    /// Of TCP.
    #[serde(default = "cubic")]
    pub congestion_control: String,
    #[serde(default = "write_size")]
    pub write_size: usize,
    #[serde(default = "five_seconds")]
    pub connect_timeout_s: Seconds,
    #[serde(default = "one")]
    pub threads: u16,
    pub duration_s: Seconds,
}

fn smallest() -> Sizes {
    Sizes::one(crate::packet::header::HEADER_LENGTH)
}

fn cubic() -> String {
    "cubic".to_owned()
}

fn write_size() -> usize {
    1 << 17
}

fn five_seconds() -> Seconds {
    Seconds::new(5.0).expect("in range")
}

fn one() -> u16 {
    1
}
