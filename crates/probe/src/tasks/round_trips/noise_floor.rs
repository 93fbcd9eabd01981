//! `noise_floor`: what round trips cost without a network: over the node's own loopback, to an
//! echo in this process. No path measured here can be faster.

use crate::net::echo_channel::EchoChannel;
use crate::net::socket::{self, Buffer};
use crate::packet::header::blank_payload;
use crate::protocol::failure::{Failure, during};
use crate::protocol::values::{Canary, Rate, Token};
use crate::results::latency::Summary;
use crate::tasks::context::{Context, Started};
use crate::tasks::round_trips::echo::reflect;
use crate::tasks::round_trips::rtt::engine::{Engine, Outcome};
use crate::tasks::round_trips::rtt::tally::Expected;
use crate::tasks::round_trips::rtt::{LEAD_NS, RECEIVE_BUFFER};
use crate::tasks::udp::source::check_size;
use crate::timing::clock;
use crate::timing::stop::Stop;
use crate::timing::timetable::{Sampling, Timetable};
use serde::{Deserialize, Serialize};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

const TIMEOUT_NS: u64 = 1_000_000_000;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    token: Token,
    #[serde(default)]
    canary: Canary,
    rate_pps: Rate,
    /// At a phase that follows from the token, which is random.
    #[serde(default)]
    sampling: Sampling,
    count: u64,
    /// Bytes of UDP payload.
    payload_size: usize,
    #[serde(default)]
    spin_us: u32,
}

/// Times from when a request was sent, as nothing but the probe itself can delay them.
#[derive(Debug, Serialize)]
pub struct Floor {
    sent: u64,
    received: u64,
    #[serde(flatten)]
    times: Option<Summary>,
    schedule_error_p99_ns: u64,
}

pub fn run(parameters: &Parameters, context: &Context) -> Result<Floor, Failure> {
    check_size(parameters.payload_size)?;
    let loopback = IpAddr::from(Ipv4Addr::LOCALHOST);
    let reflector = socket::bind_udp(loopback, 0)?;
    Buffer::Receive.set(&reflector, RECEIVE_BUFFER)?;
    let to = SocketAddr::new(loopback, socket::local_port(&reflector)?);
    let channel = EchoChannel::udp(None, to)?;
    Buffer::Receive.set(channel.socket(), RECEIVE_BUFFER)?;
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
            timeout_ns: TIMEOUT_NS,
            payload: blank_payload(parameters.payload_size, &parameters.canary),
        },
        spin_ns: u64::from(parameters.spin_us) * 1000,
        stop: &context.stop,
    };
    let enough = Stop::new().map_err(during("noise_floor"))?;
    let outcome = std::thread::scope(|scope| -> Result<Outcome, Failure> {
        let echo = scope.spawn(|| reflect(&reflector, &parameters.token, u64::MAX, &enough));
        let outcome = engine.run();
        enough.request();
        echo.join().expect("the echo does not panic")?;
        outcome
    })?;
    Ok(Floor {
        sent: outcome.sent,
        received: outcome.tally.received,
        times: outcome.tally.actual.summary(),
        schedule_error_p99_ns: outcome.schedule_error.quantile_ns(0.99),
    })
}
