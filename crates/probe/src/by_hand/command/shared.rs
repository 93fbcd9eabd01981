//! Options that several commands have.

use clap::{Args, ValueEnum};
use culvert_probe::protocol::failure::Failure;
use std::net::IpAddr;

/// Of IPv4 and UDP or ICMP.
const HEADERS: u64 = 28;
pub const INTERVAL_MS: u32 = 1000;

#[derive(Args)]
pub struct Common {
    /// Print events and the result as JSON lines.
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
pub struct Target {
    /// Of the other end.
    pub address: IpAddr,
    #[arg(long)]
    pub port: u16,
    /// Seconds.
    #[arg(long, default_value_t = 10.0)]
    pub duration: f64,
    #[command(flatten)]
    pub common: Common,
}

/// Bytes behind the headers of a packet of `size` bytes.
pub fn payload(size: u64) -> Result<u64, Failure> {
    size.checked_sub(HEADERS).ok_or_else(|| {
        Failure::new(
            format!("size {size}"),
            "is less than the headers of a packet",
            "give 56 bytes or more",
        )
    })
}

/// As it is written in a request.
pub fn name(value: impl ValueEnum) -> String {
    let known = value.to_possible_value();
    known.map_or_else(String::new, |value| value.get_name().to_owned())
}
