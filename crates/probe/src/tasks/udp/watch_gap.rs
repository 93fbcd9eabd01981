//! `watch_gap`: how long a paced stream was interrupted: by a rekey, a restart, a change of address.

use crate::packet::header::Header;
use crate::protocol::failure::Failure;
use crate::protocol::values::{Rate, Seconds, Token};
use crate::results::gaps::{Gap, Gaps};
use crate::results::sequence::Sequence;
use crate::tasks::context::Context;
use crate::tasks::udp::reception::{Account, Listen, receive};
use serde::{Deserialize, Serialize};
use std::net::IpAddr;

/// The default bound: so many gaps of the schedule, and at least so long.
const DEFAULT_GAPS: f64 = 5.0;
const DEFAULT_LEAST_NS: u64 = 1_000_000;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    bind: IpAddr,
    #[serde(default)]
    port: u16,
    token: Token,
    /// Of the source: constant arrivals.
    rate_pps: Rate,
    /// Shorter silences at which nothing is lost are no gaps.
    gap_min_us: Option<u32>,
    duration_max_s: Seconds,
    receive_buffer: Option<usize>,
    #[serde(default)]
    quiet_ms: u32,
}

/// Times of arrival and what was lost; each gap has its own.
#[derive(Debug, Serialize)]
pub struct Watched {
    packets: u64,
    first_ns: Option<u64>,
    last_ns: Option<u64>,
    max_sequence: Option<u64>,
    lost: u64,
    duplicates: u64,
    reordered: u64,
    /// `lost` over the offered rate.
    blocked_ns: u64,
    gap_min_ns: u64,
    gap_count: u64,
    longest: Option<Gap>,
    costliest: Option<Gap>,
    gaps: Vec<Gap>,
    strangers: u64,
    socket_drops: Option<u32>,
    timestamps: &'static str,
}

pub fn run(parameters: &Parameters, context: &Context) -> Result<Watched, Failure> {
    let listen = Listen {
        bind: parameters.bind,
        port: parameters.port,
        token: &parameters.token,
        receive_buffer: parameters.receive_buffer,
        interval_ms: 100,
        duration_max_s: parameters.duration_max_s,
        quiet_ms: parameters.quiet_ms,
        // Joined datagrams share one time of arrival.
        coalesced: false,
    };
    let rate_pps = parameters.rate_pps.per_second();
    let by_default = ((DEFAULT_GAPS * 1e9 / rate_pps) as u64).max(DEFAULT_LEAST_NS);
    let requested_ns = parameters.gap_min_us.map(|us| u64::from(us) * 1000);
    let gap_min_ns = requested_ns.unwrap_or(by_default);
    let mut watch = Watch {
        gaps: Gaps::new(rate_pps, gap_min_ns),
        sequence: Sequence::default(),
        packets: 0,
        first_ns: None,
        last_ns: None,
    };
    let heard = receive(&listen, &mut watch, context)?;
    let lost = watch.sequence.lost();
    Ok(Watched {
        packets: watch.packets,
        first_ns: watch.first_ns,
        last_ns: watch.last_ns,
        max_sequence: watch.sequence.highest(),
        lost,
        duplicates: watch.sequence.duplicates,
        reordered: watch.sequence.reordered,
        blocked_ns: watch.gaps.blocked_ns(lost),
        gap_min_ns,
        gap_count: watch.gaps.count,
        longest: watch.gaps.longest,
        costliest: watch.gaps.costliest,
        gaps: watch.gaps.kept(),
        strangers: heard.strangers,
        socket_drops: heard.socket_drops,
        timestamps: if heard.stamped { "kernel" } else { "user" },
    })
}

struct Watch {
    gaps: Gaps,
    sequence: Sequence,
    packets: u64,
    first_ns: Option<u64>,
    last_ns: Option<u64>,
}

impl Account for Watch {
    fn packet(&mut self, header: &Header, _payload: &[u8], arrived_ns: u64) -> bool {
        if header.flow != 0 {
            return false;
        }
        self.packets += 1;
        self.sequence.record(header.sequence);
        self.gaps
            .packet(header.sequence, header.time_ns, arrived_ns);
        self.first_ns.get_or_insert(arrived_ns);
        self.last_ns = Some(arrived_ns);
        true
    }

    fn distinct(&self) -> u64 {
        self.sequence.distinct
    }

    /// Gaps need no intervals; the reception looks at its clock at each.
    fn boundary(&mut self, _t_ns: u64, _socket_drops: Option<u32>, _context: &Context) {}
}
