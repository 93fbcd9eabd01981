//! Options that several commands have.

use clap::{Args, ValueEnum};
use culvert_probe::packet::header::HEADER_LENGTH;
use culvert_probe::protocol::failure::Failure;
use std::net::IpAddr;

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

/// Bytes behind the headers of a packet of `size` bytes to that address.
pub fn payload(size: u64, to: IpAddr) -> Result<u64, Failure> {
    // Of IP, and of UDP or ICMP.
    let headers = if to.is_ipv4() { 28 } else { 48 };
    size.checked_sub(headers).ok_or_else(|| {
        Failure::new(
            format!("size {size}"),
            "is less than the headers of a packet",
            format!("give {} bytes or more", headers + HEADER_LENGTH as u64),
        )
    })
}

/// As it is written in a request.
pub fn name(value: impl ValueEnum) -> String {
    let known = value.to_possible_value();
    known.map_or_else(String::new, |value| value.get_name().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{Ipv4Addr, Ipv6Addr};

    #[test]
    fn a_packets_headers_are_those_of_its_version() {
        assert_eq!(payload(84, Ipv4Addr::LOCALHOST.into()).unwrap(), 56);
        assert_eq!(payload(104, Ipv6Addr::LOCALHOST.into()).unwrap(), 56);
        let refused = payload(40, Ipv6Addr::LOCALHOST.into()).unwrap_err();
        assert_eq!(refused.remedy, "give 76 bytes or more");
    }
}
