//! Commands that wait for the other end.

use super::shared::{Common, INTERVAL_MS};
use clap::Args;
use serde_json::{Value, json};
use std::net::{IpAddr, Ipv4Addr};

#[derive(Args)]
pub struct Receive {
    #[arg(long, default_value_t = IpAddr::V4(Ipv4Addr::UNSPECIFIED))]
    bind: IpAddr,
    /// 0: any free one.
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// Seconds; Ctrl-C ends it earlier.
    #[arg(long, default_value_t = 3600.0)]
    duration: f64,
    /// UDP flows or TCP streams of the other end.
    #[arg(long, default_value_t = 1)]
    flows: u16,
    #[command(flatten)]
    pub common: Common,
}

#[derive(Args)]
pub struct Answer {
    #[arg(long, default_value_t = IpAddr::V4(Ipv4Addr::UNSPECIFIED))]
    bind: IpAddr,
    /// 0: any free one.
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// Ends after so many seconds without a request.
    #[arg(long, default_value_t = 3600.0)]
    idle: f64,
    #[command(flatten)]
    pub common: Common,
}

impl Receive {
    pub fn request(&self, what: &str, flows: &str) -> Value {
        json!({
            "do": what, "bind": self.bind, "port": self.port, "interval_ms": INTERVAL_MS,
            "duration_max_s": self.duration, flows: self.flows,
        })
    }
}

impl Answer {
    pub fn request(&self, what: &str) -> Value {
        json!({"do": what, "bind": self.bind, "port": self.port, "idle_s": self.idle})
    }
}
