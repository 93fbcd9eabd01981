//! `udp_sink`: receives numbered datagrams and accounts for each.

mod account;
mod reception;

use crate::protocol::failure::Failure;
use crate::protocol::values::{Canary, Seconds, Token};
use crate::results::extent::Reordering;
use crate::results::forwarded::{Forwarded, Offer};
use crate::results::latency::Summary;
use crate::results::one_way::{Clock, Ipdv, Pdv};
use crate::results::runs::LossRuns;
use crate::tasks::context::Context;
use crate::tasks::udp::source::MAX_FLOWS;
use crate::timing::frames::Frames;
use account::{FlowReceived, Interval, Sink};
use reception::receive;
use serde::{Deserialize, Serialize};
use std::net::IpAddr;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    bind: IpAddr,
    #[serde(default)]
    port: u16,
    token: Token,
    /// Bytes; 16 MiB if not given.
    receive_buffer: Option<usize>,
    interval_ms: u32,
    duration_max_s: Seconds,
    /// If given, every payload is compared with it and differences count as `corrupt`.
    canary: Option<Canary>,
    /// After a request to end: go on until nothing has come for so long.
    #[serde(default)]
    quiet_ms: u32,
    /// Flows of the source; packets of others are strangers.
    #[serde(default = "one")]
    flows: u16,
    #[serde(default)]
    clock: Clock,
    /// Those of the source: when each has arrived is part of the result.
    frames: Option<Frames>,
    /// That of the source: by it packets count as `forwarded`.
    offer: Option<Offer>,
}

fn one() -> u16 {
    1
}

#[derive(Debug, Serialize)]
pub struct Received {
    packets: u64,
    bytes: u64,
    first_ns: Option<u64>,
    last_ns: Option<u64>,
    max_sequence: Option<u64>,
    lost: u64,
    duplicates: u64,
    duplicate_bytes: u64,
    reordered: u64,
    too_old: u64,
    corrupt: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    forwarded: Option<Forwarded>,
    strangers: u64,
    socket_drops: Option<u32>,
    receive_buffer_effective: usize,
    timestamps: &'static str,
    clock: Clock,
    loss_runs: LossRuns,
    reordering: Reordering,
    one_way: Option<Summary>,
    pdv: Option<Pdv>,
    ipdv: Option<Ipdv>,
    /// Of RFC 3550, as after the last packet; the largest of all flows.
    jitter_ns: Option<f64>,
    flows: Vec<FlowReceived>,
    /// When each frame had arrived with its last packet; None of one that is not whole.
    frames: Vec<Option<u64>>,
    intervals: Vec<Interval>,
}

pub fn run(parameters: &Parameters, context: &Context) -> Result<Received, Failure> {
    if !(1..=MAX_FLOWS).contains(&parameters.flows) {
        return Err(Failure::new(
            format!("flows {}", parameters.flows),
            "out of range",
            format!("give 1 to {MAX_FLOWS}"),
        ));
    }
    let canary = parameters.canary.as_ref();
    let frames = parameters.frames.clone();
    let mut sink = Sink::new(
        parameters.flows,
        canary,
        parameters.clock,
        frames,
        parameters.offer,
    );
    let heard = receive(parameters, &mut sink, context)?;
    Ok(sink.result(&heard, parameters.clock))
}
