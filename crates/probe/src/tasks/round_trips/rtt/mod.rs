//! `rtt`: round-trip times on an open-loop schedule.
//!
//! A request is sent when it is due, answered or not, and its time of record counts from when it
//! was due: a stall makes all requests late that fell into it, instead of hiding them ("coordinated
//! omission").

pub mod engine;
pub mod tally;

use crate::net::echo_channel::EchoChannel;
use crate::net::socket::Buffer;
use crate::net::tcp_info::TcpInfo;
use crate::packet::header::blank_payload;
use crate::protocol::failure::{Failure, during};
use crate::protocol::values::{Canary, Rate, Token};
use crate::results::latency::Summary;
use crate::tasks::context::{Context, Started};
use crate::tasks::tcp::responder::Greeting;
use crate::tasks::udp::source::check_size;
use crate::timing::clock;
use crate::timing::timetable::{Sampling, Timetable};
use engine::Engine;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;
use tally::Expected;

/// A schedule that starts at once would find its first request late.
pub const LEAD_NS: u64 = 1_000_000;
/// Answers must not be lost in our own socket.
pub const RECEIVE_BUFFER: usize = 4 << 20;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
enum Protocol {
    Udp,
    Icmp,
    Tcp,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    protocol: Protocol,
    to: IpAddr,
    /// Of the echo task, or of the tcp_responder; not for ICMP.
    port: Option<u16>,
    bind: Option<IpAddr>,
    token: Token,
    #[serde(default)]
    canary: Canary,
    rate_pps: Rate,
    /// At a phase that follows from the token, which is random.
    #[serde(default)]
    sampling: Sampling,
    count: u64,
    /// Bytes behind the UDP or ICMP header: an inner IPv4 packet is 28 longer.
    payload_size: usize,
    timeout_ms: u32,
    /// Look at the clock without sleeping for so long before each request: more exact sending for
    /// more processor time.
    #[serde(default)]
    spin_us: u32,
}

/// `overdue` requests went when the next one was due as well: the schedule was not kept.
/// `histogram` counts from when a request was due, `histogram_actual` from when it was sent.
#[derive(Debug, Serialize)]
pub struct Measured {
    protocol: Protocol,
    sent: u64,
    overdue: u64,
    received: u64,
    lost: u64,
    duplicates: u64,
    late: u64,
    strangers: u64,
    corrupt: u64,
    send_errors: BTreeMap<String, u64>,
    started_ns: u64,
    seconds: f64,
    #[serde(flatten)]
    due: Option<Summary>,
    histogram_actual: Option<String>,
    p50_actual_ns: Option<u64>,
    p99_actual_ns: Option<u64>,
    mean_actual_ns: Option<f64>,
    schedule_error_p50_ns: u64,
    schedule_error_p99_ns: u64,
    schedule_error_max_ns: u64,
    timestamps: &'static str,
    /// Of TCP, at the end.
    tcp_info: Option<TcpInfo>,
}

pub fn run(parameters: &Parameters, context: &Context) -> Result<Measured, Failure> {
    let channel = open(parameters)?;
    Buffer::Receive.set(channel.socket(), RECEIVE_BUFFER)?;
    let _interrupt = context
        .stop
        .interrupts(channel.socket())
        .map_err(during("rtt"))?;
    let started_ns = clock::monotonic_ns() + LEAD_NS;
    context.ready(Started { started_ns });
    let engine = Engine {
        channel: &channel,
        schedule: Timetable::new(
            started_ns,
            parameters.sampling,
            parameters.rate_pps,
            parameters.count,
            parameters.token.seed(),
        ),
        expected: Expected {
            tag: parameters.token.tag(),
            count: parameters.count,
            timeout_ns: u64::from(parameters.timeout_ms) * 1_000_000,
            payload: blank_payload(parameters.payload_size, &parameters.canary),
        },
        spin_ns: u64::from(parameters.spin_us) * 1000,
        stop: &context.stop,
    };
    let outcome = engine.run()?;
    let tally = outcome.tally;
    let actual = tally.actual.summary();
    Ok(Measured {
        protocol: parameters.protocol,
        sent: outcome.sent,
        overdue: outcome.overdue,
        received: tally.received,
        lost: outcome.sent.saturating_sub(tally.answered()),
        duplicates: tally.sequence.duplicates,
        late: tally.late,
        strangers: tally.strangers,
        corrupt: tally.corrupt,
        send_errors: outcome.errors,
        started_ns,
        seconds: clock::seconds_since(started_ns),
        due: tally.due.summary(),
        p50_actual_ns: actual.as_ref().map(|actual| actual.p50_ns),
        p99_actual_ns: actual.as_ref().map(|actual| actual.p99_ns),
        mean_actual_ns: actual.as_ref().map(|actual| actual.mean_ns),
        histogram_actual: actual.map(|actual| actual.histogram),
        schedule_error_p50_ns: outcome.schedule_error.quantile_ns(0.5),
        schedule_error_p99_ns: outcome.schedule_error.quantile_ns(0.99),
        schedule_error_max_ns: outcome.schedule_error.quantile_ns(1.0),
        timestamps: if outcome.by_kernel { "kernel" } else { "user" },
        tcp_info: match parameters.protocol {
            Protocol::Tcp => TcpInfo::of(channel.socket()).ok(),
            _ => None,
        },
    })
}

fn open(parameters: &Parameters) -> Result<EchoChannel, Failure> {
    check_size(parameters.payload_size)?;
    match (parameters.protocol, parameters.port) {
        (Protocol::Udp, Some(port)) => {
            EchoChannel::udp(parameters.bind, SocketAddr::new(parameters.to, port))
        }
        (Protocol::Icmp, None) => EchoChannel::icmp(parameters.bind, parameters.to),
        (Protocol::Tcp, Some(port)) => {
            let size = parameters.payload_size as u32;
            let greeting = Greeting {
                request_size: size,
                response_size: size,
                once: false,
            };
            EchoChannel::tcp(
                parameters.bind,
                SocketAddr::new(parameters.to, port),
                CONNECT_TIMEOUT,
                &greeting.bytes(&parameters.token),
            )
        }
        (Protocol::Udp | Protocol::Tcp, None) => Err(Failure::new(
            "rtt",
            "`port` is missing",
            "give the port of an echo task, or of a tcp_responder",
        )),
        (Protocol::Icmp, Some(_)) => {
            Err(Failure::new("rtt", "ICMP has no ports", "leave `port` out"))
        }
    }
}
