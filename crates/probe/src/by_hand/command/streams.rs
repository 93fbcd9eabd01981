//! Sources of streams.

use super::shared::{INTERVAL_MS, Target, name, payload};
use clap::{Args, ValueEnum};
use culvert_probe::protocol::failure::Failure;
use serde_json::{Value, json};

#[derive(Args)]
pub struct UdpSend {
    #[command(flatten)]
    pub target: Target,
    /// Bytes of each IP packet.
    #[arg(long, default_value_t = 64)]
    size: u64,
    /// An IMIX genome of RFC 6985 instead of one size, such as 7a4d1g.
    #[arg(long, conflicts_with = "size")]
    imix: Option<String>,
    /// Packets per second; without it: as fast as the socket takes them.
    #[arg(long)]
    rate: Option<f64>,
    #[arg(long, value_enum, default_value_t = Arrivals::Constant)]
    arrivals: Arrivals,
    /// Packets at once, with arrivals in bursts.
    #[arg(long, default_value_t = 1)]
    burst: u16,
    #[arg(long, default_value_t = 1)]
    flows: u16,
    #[arg(long, default_value_t = 1)]
    threads: u16,
    #[arg(long, value_enum, default_value_t = Segmentation::Auto)]
    segmentation: Segmentation,
}

#[derive(Clone, Copy, ValueEnum)]
enum Arrivals {
    Constant,
    Poisson,
    Burst,
}

#[derive(Clone, Copy, ValueEnum)]
enum Segmentation {
    Auto,
    None,
    Kernel,
}

#[derive(Args)]
pub struct TcpSend {
    #[command(flatten)]
    pub target: Target,
    #[arg(long, default_value_t = 1)]
    streams: u16,
    /// Without it: the node's own.
    #[arg(long)]
    congestion_control: Option<String>,
    /// Bytes per call.
    #[arg(long, default_value_t = 131_072)]
    write_size: u32,
    /// Without Nagle's algorithm.
    #[arg(long)]
    nodelay: bool,
}

impl UdpSend {
    pub fn request(&self) -> Result<Value, Failure> {
        let sizes = match &self.imix {
            Some(genome) => json!({"imix": genome}),
            None => json!(payload(self.size, self.target.address)?),
        };
        Ok(json!({
            "do": "udp_source", "to": self.target.address, "port": self.target.port,
            "payload_size": sizes, "rate_pps": self.rate, "duration_s": self.target.duration,
            "arrivals": name(self.arrivals), "burst": self.burst, "flows": self.flows,
            "threads": self.threads, "segmentation": name(self.segmentation),
        }))
    }
}

impl TcpSend {
    pub fn request(&self) -> Result<Value, Failure> {
        let congestion_control = match &self.congestion_control {
            Some(name) => name.clone(),
            None => own_congestion_control()?,
        };
        Ok(json!({
            "do": "tcp_source", "connect": self.target.address, "port": self.target.port,
            "duration_s": self.target.duration, "congestion_control": congestion_control,
            "write_size": self.write_size, "nodelay": self.nodelay, "interval_ms": INTERVAL_MS,
            "streams": self.streams,
        }))
    }
}

fn own_congestion_control() -> Result<String, Failure> {
    const FILE: &str = "/proc/sys/net/ipv4/tcp_congestion_control";
    let name = std::fs::read_to_string(FILE);
    let name =
        name.map_err(|error| Failure::new(FILE, error.to_string(), "give --congestion-control"))?;
    Ok(name.trim().to_owned())
}
