//! The commands by hand, and the requests they stand for.

mod listen;
mod round_trips;
mod shared;
mod streams;
mod transactions;

use clap::Subcommand;
use culvert_probe::protocol::failure::Failure;
use listen::{Answer, Receive};
use round_trips::{NoiseFloor, Protocol, Rtt};
use serde_json::{Value, json};
use std::net::Ipv4Addr;
use streams::{TcpSend, UdpSend};
use transactions::Transactions;

#[derive(Subcommand)]
pub enum Command {
    /// Send numbered UDP packets, paced or not.
    UdpSend(UdpSend),
    /// Receive UDP packets; report loss, reordering and delay.
    UdpReceive(Receive),
    /// Send TCP streams.
    TcpSend(TcpSend),
    /// Receive TCP streams; report goodput.
    TcpReceive(Receive),
    /// Measure round-trip times.
    Rtt(Rtt),
    /// Measure what round trips cost the probe itself, over the loopback.
    NoiseFloor(NoiseFloor),
    /// Answer round trips over UDP.
    Echo(Answer),
    /// Answer round trips and transactions over TCP.
    TcpEcho(Answer),
    /// Measure requests and responses over one TCP connection.
    TcpRr(Transactions),
    /// Measure requests and responses over a TCP connection each.
    TcpCrr(Transactions),
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

    /// Whether it connects to a listener with a token.
    pub fn needs_token(&self) -> bool {
        match self {
            Command::Rtt(args) => args.protocol != Protocol::Icmp,
            Command::NoiseFloor(_) => false,
            _ => self.counterpart().is_none(),
        }
    }

    /// For a listener: the command of the other end.
    pub fn counterpart(&self) -> Option<&'static str> {
        match self {
            Command::UdpReceive(_) => Some("udp-send"),
            Command::TcpReceive(_) => Some("tcp-send"),
            Command::Echo(_) => Some("rtt --protocol udp"),
            Command::TcpEcho(_) => Some("tcp-rr"),
            _ => None,
        }
    }

    /// The request as the agent would get it.
    pub fn request(&self, token: &str) -> Result<Value, Failure> {
        let mut request = match self {
            Command::UdpSend(args) => args.request()?,
            Command::TcpSend(args) => args.request()?,
            Command::Rtt(args) => args.request()?,
            Command::NoiseFloor(args) => args
                .probing
                .request("noise_floor", Ipv4Addr::LOCALHOST.into())?,
            Command::UdpReceive(args) => args.request("udp_sink", "flows"),
            Command::TcpReceive(args) => args.request("tcp_sink", "streams"),
            Command::Echo(args) => args.request("echo"),
            Command::TcpEcho(args) => args.request("tcp_responder"),
            Command::TcpRr(args) => args.request("tcp_rr"),
            Command::TcpCrr(args) => args.request("tcp_crr"),
        };
        request["token"] = json!(token);
        Ok(request)
    }
}
