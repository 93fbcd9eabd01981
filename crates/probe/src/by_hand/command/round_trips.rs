//! Round trips on a schedule.

use super::shared::{Common, name, payload};
use clap::{Args, ValueEnum};
use culvert_probe::protocol::failure::Failure;
use serde_json::{Value, json};
use std::net::IpAddr;

#[derive(Args)]
pub struct Rtt {
    address: IpAddr,
    /// Of the other end; not for ICMP.
    #[arg(long)]
    port: Option<u16>,
    #[arg(long, value_enum, default_value_t = Protocol::Icmp)]
    pub protocol: Protocol,
    #[command(flatten)]
    pub probing: Probing,
    #[command(flatten)]
    pub common: Common,
}

#[derive(Args)]
pub struct NoiseFloor {
    #[command(flatten)]
    pub probing: Probing,
    #[command(flatten)]
    pub common: Common,
}

/// How echo requests are sent.
#[derive(Args)]
pub struct Probing {
    /// Probes per second.
    #[arg(long, default_value_t = 100.0)]
    rate: f64,
    #[arg(long, default_value_t = 1000)]
    count: u64,
    /// Bytes of each IP packet.
    #[arg(long, default_value_t = 84)]
    size: u64,
    /// How probes are spread; the mean rate is the same in each.
    #[arg(long, value_enum, default_value_t = Sampling::Scattered)]
    sampling: Sampling,
    /// Microseconds before each probe in which the processor does not sleep.
    #[arg(long, default_value_t = 0)]
    spin: u32,
}

impl Probing {
    pub fn request(&self, what: &str, to: IpAddr) -> Result<Value, Failure> {
        Ok(json!({
            "do": what, "rate_pps": self.rate, "count": self.count,
            "payload_size": payload(self.size, to)?, "spin_us": self.spin,
            "sampling": name(self.sampling),
        }))
    }
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Sampling {
    /// One in each period, at a place that moves by the golden ratio: all phases equally often.
    Scattered,
    /// Even gaps from a random start (RFC 3432).
    Periodic,
    /// Exponential gaps (RFC 2330).
    Poisson,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
pub enum Protocol {
    Icmp,
    Udp,
    Tcp,
}

impl Rtt {
    pub fn request(&self) -> Result<Value, Failure> {
        let mut request = self.probing.request("rtt", self.address)?;
        request["protocol"] = json!(name(self.protocol));
        request["to"] = json!(self.address);
        request["timeout_ms"] = json!(1000);
        if let Some(port) = self.port {
            request["port"] = json!(port);
        }
        Ok(request)
    }
}
