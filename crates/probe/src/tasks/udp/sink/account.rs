//! The books of a sink: each flow's numbers, and the times of all.

use super::Received;
use crate::packet::header::{Header, PayloadCheck};
use crate::protocol::values::Canary;
use crate::results::extent::Extents;
use crate::results::forwarded::{Forwarding, Offer};
use crate::results::one_way::{Clock, OneWay, Transit};
use crate::results::runs::Runs;
use crate::results::sequence::{Arrival, Sequence};
use crate::tasks::context::Context;
use crate::timing::frames::{Completion, Frames};
use serde::Serialize;

/// Counts are of the interval. `lost` may be negative: late packets fill holes of earlier ones.
#[derive(Debug, Clone, Serialize)]
pub struct Interval {
    t_ns: u64,
    packets: u64,
    bytes: u64,
    socket_drops: Option<u32>,
    lost: i64,
    duplicates: u64,
    reordered: u64,
    transit_mean_ns: Option<f64>,
    transit_max_ns: Option<i64>,
    jitter_ns: Option<f64>,
}

#[derive(Debug, Serialize)]
pub struct FlowReceived {
    flow: u16,
    packets: u64,
    bytes: u64,
    max_sequence: Option<u64>,
    lost: u64,
    duplicates: u64,
    reordered: u64,
    jitter_ns: Option<f64>,
}

#[derive(Default)]
struct Flow {
    sequence: Sequence,
    transit: Transit,
    packets: u64,
    bytes: u64,
}

/// Totals so far.
#[derive(Clone, Copy, Default)]
struct Totals {
    packets: u64,
    bytes: u64,
    drops: u32,
    lost: u64,
    duplicates: u64,
    reordered: u64,
}

/// Transit times within an interval.
#[derive(Default)]
struct Transits {
    sum_ns: f64,
    max_ns: Option<i64>,
    count: u64,
}

/// The state of the socket at the end.
pub struct Heard {
    pub strangers: u64,
    pub socket_drops: Option<u32>,
    pub receive_buffer_effective: usize,
    /// Whether times of arrival are the kernel's.
    pub stamped: bool,
}

pub struct Sink {
    flows: Vec<Flow>,
    check: Option<PayloadCheck>,
    one_way: OneWay,
    completion: Option<Completion>,
    forwarding: Option<Forwarding>,
    corrupt: u64,
    duplicate_bytes: u64,
    first_ns: Option<u64>,
    last_ns: Option<u64>,
    within: Transits,
    /// The totals at the last boundary.
    before: Totals,
    intervals: Vec<Interval>,
}

impl Sink {
    pub fn new(
        flows: u16,
        canary: Option<&Canary>,
        clock: Clock,
        frames: Option<Frames>,
        offer: Option<Offer>,
    ) -> Sink {
        Sink {
            flows: (0..flows).map(|_| Flow::default()).collect(),
            check: canary.map(PayloadCheck::new),
            one_way: OneWay::new(clock),
            completion: frames.map(Completion::new),
            forwarding: offer.map(Forwarding::new),
            corrupt: 0,
            duplicate_bytes: 0,
            first_ns: None,
            last_ns: None,
            within: Transits::default(),
            before: Totals::default(),
            intervals: Vec::new(),
        }
    }

    /// A packet of the session; false if it does not belong here after all.
    pub fn packet(&mut self, header: &Header, payload: &[u8], arrived_ns: u64) -> bool {
        let Some(flow) = self.flows.get_mut(usize::from(header.flow)) else {
            return false;
        };
        flow.packets += 1;
        flow.bytes += payload.len() as u64;
        if flow.sequence.record(header.sequence) == Arrival::Duplicate {
            self.duplicate_bytes += payload.len() as u64;
        } else {
            if let Some(completion) = &mut self.completion {
                completion.record(header.sequence, arrived_ns);
            }
            if let Some(forwarding) = &mut self.forwarding {
                forwarding.record(header.time_ns, arrived_ns, payload.len() as u64);
            }
            // RFC 7679, 3.6: the first copy determines a packet's delay.
            let transit_ns = self.one_way.record(
                &mut flow.transit,
                header.sequence,
                header.time_ns,
                arrived_ns,
            );
            self.within.sum_ns += transit_ns as f64;
            self.within.max_ns = self.within.max_ns.max(Some(transit_ns));
            self.within.count += 1;
        }
        if let Some(check) = &self.check {
            self.corrupt += u64::from(!check.intact(payload));
        }
        self.first_ns.get_or_insert(arrived_ns);
        self.last_ns = Some(arrived_ns);
        true
    }

    /// Packets so far, duplicates counted once.
    pub fn distinct(&self) -> u64 {
        self.flows.iter().map(|flow| flow.sequence.distinct).sum()
    }

    /// An interval is over; `socket_drops` so far.
    pub fn boundary(&mut self, t_ns: u64, socket_drops: Option<u32>, context: &Context) {
        let now = self.totals(socket_drops.unwrap_or(0));
        let before = std::mem::replace(&mut self.before, now);
        let within = std::mem::take(&mut self.within);
        let interval = Interval {
            t_ns,
            packets: now.packets - before.packets,
            bytes: now.bytes - before.bytes,
            socket_drops: socket_drops.map(|drops| drops.wrapping_sub(before.drops)),
            lost: now.lost.wrapping_sub(before.lost) as i64,
            duplicates: now.duplicates - before.duplicates,
            reordered: now.reordered - before.reordered,
            transit_mean_ns: (within.count > 0).then(|| within.sum_ns / within.count as f64),
            transit_max_ns: within.max_ns,
            jitter_ns: self.jitter_ns(),
        };
        context.interval(&interval);
        self.intervals.push(interval);
    }

    fn totals(&self, drops: u32) -> Totals {
        let mut totals = Totals {
            drops,
            ..Totals::default()
        };
        for flow in &self.flows {
            totals.packets += flow.packets;
            totals.bytes += flow.bytes;
            totals.lost += flow.sequence.lost();
            totals.duplicates += flow.sequence.duplicates;
            totals.reordered += flow.sequence.reordered;
        }
        totals
    }

    fn jitter_ns(&self) -> Option<f64> {
        let jitters = self
            .flows
            .iter()
            .filter_map(|flow| flow.transit.jitter_ns());
        jitters.max_by(f64::total_cmp)
    }

    pub fn result(self, heard: &Heard, clock: Clock) -> Received {
        let totals = self.totals(0);
        let mut runs = Runs::default();
        let mut extents = Extents::default();
        for flow in &self.flows {
            runs.add(&flow.sequence.loss_runs());
            extents.add(&flow.sequence.extents);
        }
        Received {
            packets: totals.packets,
            bytes: totals.bytes,
            first_ns: self.first_ns,
            last_ns: self.last_ns,
            max_sequence: self.flows.iter().filter_map(|f| f.sequence.highest()).max(),
            lost: totals.lost,
            duplicates: totals.duplicates,
            duplicate_bytes: self.duplicate_bytes,
            reordered: totals.reordered,
            too_old: self.flows.iter().map(|flow| flow.sequence.too_old).sum(),
            corrupt: self.corrupt,
            forwarded: self.forwarding.as_ref().map(Forwarding::result),
            strangers: heard.strangers,
            socket_drops: heard.socket_drops,
            receive_buffer_effective: heard.receive_buffer_effective,
            timestamps: if heard.stamped { "kernel" } else { "user" },
            clock,
            loss_runs: runs.summary(),
            reordering: extents.summary(),
            one_way: self.one_way.delay(),
            pdv: self.one_way.pdv(),
            ipdv: self.one_way.ipdv(),
            jitter_ns: self.jitter_ns(),
            flows: (0..)
                .zip(&self.flows)
                .map(|(n, flow)| flow.received(n))
                .collect(),
            frames: self.completion.map_or_else(Vec::new, Completion::times_ns),
            intervals: self.intervals,
        }
    }
}

impl Flow {
    fn received(&self, flow: u16) -> FlowReceived {
        FlowReceived {
            flow,
            packets: self.packets,
            bytes: self.bytes,
            max_sequence: self.sequence.highest(),
            lost: self.sequence.lost(),
            duplicates: self.sequence.duplicates,
            reordered: self.sequence.reordered,
            jitter_ns: self.transit.jitter_ns(),
        }
    }
}
