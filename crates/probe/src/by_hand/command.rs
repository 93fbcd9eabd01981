//! Options of the commands by hand, and the requests they stand for.

use clap::{Args, Subcommand, ValueEnum};
use culvert_probe::failure::Failure;
use serde_json::{Value, json};
use std::net::{IpAddr, Ipv4Addr};

/// Of IPv4 and UDP or ICMP.
const HEADERS: u64 = 28;
const INTERVAL_MS: u32 = 1000;

#[derive(Subcommand)]
pub enum Command {
    /// Send numbered UDP packets, paced or not.
    UdpSend(UdpSend),
    /// Receive them: loss, reordering, delay.
    UdpReceive(Receive),
    /// Send TCP streams.
    TcpSend(TcpSend),
    /// Receive them.
    TcpReceive(Receive),
    /// Measure round-trip times.
    Rtt(Rtt),
    /// Measure what round trips cost the probe itself, over the loopback.
    NoiseFloor(NoiseFloor),
    /// Answer round trips over UDP.
    Echo(Answer),
    /// Answer over TCP: round trips, transactions.
    TcpEcho(Answer),
    /// Requests and responses over one TCP connection.
    TcpRr(Transactions),
    /// Requests and responses over a TCP connection each.
    TcpCrr(Transactions),
}

#[derive(Args)]
pub struct Common {
    /// Print events and the result as JSON lines.
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
pub struct Target {
    /// Of the other end.
    address: IpAddr,
    #[arg(long)]
    port: u16,
    /// Seconds.
    #[arg(long, default_value_t = 10.0)]
    duration: f64,
    #[command(flatten)]
    common: Common,
}

#[derive(Args)]
pub struct UdpSend {
    #[command(flatten)]
    target: Target,
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
    common: Common,
}

#[derive(Args)]
pub struct TcpSend {
    #[command(flatten)]
    target: Target,
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

#[derive(Args)]
pub struct Rtt {
    address: IpAddr,
    /// Of the other end; not for ICMP.
    #[arg(long)]
    port: Option<u16>,
    #[arg(long, value_enum, default_value_t = Protocol::Icmp)]
    protocol: Protocol,
    #[command(flatten)]
    probing: Probing,
    #[command(flatten)]
    common: Common,
}

#[derive(Args)]
pub struct NoiseFloor {
    #[command(flatten)]
    probing: Probing,
    #[command(flatten)]
    common: Common,
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
    /// Microseconds before each probe in which the processor does not sleep.
    #[arg(long, default_value_t = 0)]
    spin: u32,
}

impl Probing {
    fn request(&self, what: &str) -> Result<Value, Failure> {
        Ok(json!({
            "do": what, "rate_pps": self.rate, "count": self.count,
            "payload_size": payload(self.size)?, "spin_us": self.spin,
        }))
    }
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Protocol {
    Icmp,
    Udp,
    Tcp,
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
    common: Common,
}

#[derive(Args)]
pub struct Transactions {
    #[command(flatten)]
    target: Target,
    /// Bytes.
    #[arg(long, default_value_t = 1)]
    request_size: u32,
    /// Bytes.
    #[arg(long, default_value_t = 1)]
    response_size: u32,
}

impl Command {
    pub fn json(&self) -> bool {
        let common = match self {
            Command::UdpSend(args) => &args.target.common,
            Command::TcpSend(args) => &args.target.common,
            Command::TcpRr(args) | Command::TcpCrr(args) => &args.target.common,
            Command::UdpReceive(args) | Command::TcpReceive(args) => &args.common,
            Command::Echo(args) | Command::TcpEcho(args) => &args.common,
            Command::Rtt(args) => &args.common,
            Command::NoiseFloor(args) => &args.common,
        };
        common.json
    }

    /// Whether it calls somebody who listens for a token.
    pub fn needs_token(&self) -> bool {
        match self {
            Command::Rtt(args) => args.protocol != Protocol::Icmp,
            Command::NoiseFloor(_) => false,
            _ => self.counterpart().is_none(),
        }
    }

    /// For who listens: the command of the other end.
    pub fn counterpart(&self) -> Option<&'static str> {
        match self {
            Command::UdpReceive(_) => Some("udp-send"),
            Command::TcpReceive(_) => Some("tcp-send"),
            Command::Echo(_) => Some("rtt --protocol udp"),
            Command::TcpEcho(_) => Some("tcp-rr"),
            _ => None,
        }
    }

    /// As the agent would be asked.
    pub fn request(&self, token: &str) -> Result<Value, Failure> {
        let mut request = match self {
            Command::UdpSend(args) => args.request()?,
            Command::TcpSend(args) => args.request()?,
            Command::Rtt(args) => args.request()?,
            Command::NoiseFloor(args) => args.probing.request("noise_floor")?,
            Command::UdpReceive(args) => args.request("udp_sink", "flows"),
            Command::TcpReceive(args) => args.request("tcp_sink", "streams"),
            Command::Echo(args) => args.request("echo"),
            Command::TcpEcho(args) => args.request("tcp_responder"),
            Command::TcpRr(args) => args.request("tcp_rr"),
            Command::TcpCrr(args) => args.request("tcp_crr"),
        };
        request["id"] = json!(1);
        request["token"] = json!(token);
        Ok(request)
    }
}

fn payload(size: u64) -> Result<u64, Failure> {
    size.checked_sub(HEADERS).ok_or_else(|| {
        Failure::new(
            format!("size {size}"),
            "is less than the headers of a packet",
            "give 56 bytes or more",
        )
    })
}

fn name(value: impl ValueEnum) -> String {
    let known = value.to_possible_value();
    known.map_or_else(String::new, |value| value.get_name().to_owned())
}

impl UdpSend {
    fn request(&self) -> Result<Value, Failure> {
        let sizes = match &self.imix {
            Some(genome) => json!({"imix": genome}),
            None => json!(payload(self.size)?),
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
    fn request(&self) -> Result<Value, Failure> {
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

impl Rtt {
    fn request(&self) -> Result<Value, Failure> {
        let mut request = self.probing.request("rtt")?;
        request["protocol"] = json!(name(self.protocol));
        request["to"] = json!(self.address);
        request["timeout_ms"] = json!(1000);
        if let Some(port) = self.port {
            request["port"] = json!(port);
        }
        Ok(request)
    }
}

impl Receive {
    fn request(&self, what: &str, flows: &str) -> Value {
        json!({
            "do": what, "bind": self.bind, "port": self.port, "interval_ms": INTERVAL_MS,
            "duration_max_s": self.duration, flows: self.flows,
        })
    }
}

impl Answer {
    fn request(&self, what: &str) -> Value {
        json!({"do": what, "bind": self.bind, "port": self.port, "idle_s": self.idle})
    }
}

impl Transactions {
    fn request(&self, what: &str) -> Value {
        json!({
            "do": what, "connect": self.target.address, "port": self.target.port,
            "duration_s": self.target.duration, "request_size": self.request_size,
            "response_size": self.response_size,
        })
    }
}
