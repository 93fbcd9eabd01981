//! `crowd_source`: many clients send at once.

mod parameters;
mod sent;
mod streams;
mod talkers;

pub use parameters::Parameters;

use super::place::each_there;
use super::{MAX_MEMBERS, Protocol, check_members, deal, in_threads};
use crate::net::device::egress::{Chosen, Segmentation, Segmenter};
use crate::net::socket::{self, Buffer};
use crate::protocol::failure::{Failure, during};
use crate::protocol::values::Rate;
use crate::results::latency::Latency;
use crate::tasks::context::Context;
use crate::tasks::tcp::stream::check_write_size;
use crate::tasks::udp::source::flow::{Batches, Flow, Pattern};
use crate::tasks::udp::source::{SEGMENTED_SEND_BUFFER, segmentation};
use crate::timing::clock;
use crate::timing::on_off::OnOff;
use sent::MemberSent;
use serde::Serialize;
use std::net::SocketAddr;
use streams::Connection;
use talkers::Talker;

/// Datagrams for which all members together have room.
const ROOM: usize = 8192;

#[derive(Serialize)]
struct Opened {
    members: usize,
}

#[derive(Debug, Serialize)]
pub struct Sent {
    first_ns: u64,
    last_ns: u64,
    seconds: f64,
    late_p50_ns: Option<u64>,
    late_p99_ns: Option<u64>,
    segmentation: Segmenter,
    segmentation_why: String,
    members: Vec<MemberSent>,
}

pub fn run(parameters: &Parameters, context: &Context) -> Result<Sent, Failure> {
    check(parameters)?;
    match parameters.protocol {
        Protocol::Udp => udp(parameters, context),
        Protocol::Tcp => tcp(parameters, context),
    }
}

fn check(parameters: &Parameters) -> Result<(), Failure> {
    check_members(parameters.members.len(), parameters.threads)?;
    check_write_size(parameters.write_size)?;
    crate::tasks::udp::source::check_size(parameters.payload_size.largest())?;
    if parameters.on_off.is_some() && parameters.rate_pps.is_none() {
        return Err(Failure::new(
            "on_off",
            "without a rate there are no times of arrival",
            "give `rate_pps`",
        ));
    }
    if parameters.protocol == Protocol::Tcp && parameters.rate_pps.is_some() {
        return Err(Failure::new(
            "rate_pps",
            "TCP sends as fast as its congestion control permits",
            "leave it out, or use UDP",
        ));
    }
    Ok(())
}

fn udp(parameters: &Parameters, context: &Context) -> Result<Sent, Failure> {
    let members = &parameters.members;
    let namespaces: Vec<_> = members.iter().map(|one| one.netns.clone()).collect();
    let mut chosen = Chosen::none("there is no member");
    let flows = each_there(&namespaces, |number| {
        if number == 0 {
            chosen = segmentation(
                parameters.segmentation,
                &parameters.payload_size,
                parameters.rate_pps,
                members[0].to,
            );
        }
        make_flow(parameters, number, &mut chosen)
    })?;
    let begun_ns = begun(parameters, context);
    let end_ns = begun_ns + parameters.duration_s.ns();
    let lanes: Vec<Vec<Talker>> = deal(flows, parameters.threads)
        .into_iter()
        .map(|lane| {
            let talkers = lane.into_iter();
            talkers
                .map(|(number, flow)| Talker {
                    number,
                    flow,
                    times: parameters
                        .rate_pps
                        .map(|rate| times(parameters, rate, number, begun_ns)),
                    due: Vec::new(),
                    scheduled: 0,
                })
                .collect()
        })
        .collect();
    context.stop.wait_until(begun_ns);
    let done = in_threads(lanes, |mut lane| {
        talkers::run(&mut lane, end_ns, context)?;
        Ok(lane)
    })?;
    let last_ns = clock::monotonic_ns();
    let mut late = Latency::default();
    let mut sent = vec![MemberSent::default(); members.len()];
    for talker in done.into_iter().flatten() {
        late.add(&talker.flow.late);
        if let Some(error) = talker.flow.gave_up {
            chosen = Chosen::none(format!("the kernel can't: {error}"));
        }
        let counts = talker.flow.counts;
        sent[talker.number] = MemberSent {
            offered: counts.offered,
            packets: counts.packets,
            bytes: counts.bytes,
            send_errors: counts.send_errors,
            scheduled: parameters.rate_pps.map(|_| talker.scheduled),
            ..MemberSent::default()
        };
    }
    let quantile = |q| parameters.rate_pps.map(|_| late.quantile_ns(q));
    Ok(Sent {
        first_ns: begun_ns,
        last_ns,
        seconds: last_ns.saturating_sub(begun_ns) as f64 / 1e9,
        late_p50_ns: quantile(0.5),
        late_p99_ns: quantile(0.99),
        segmentation: chosen.by,
        segmentation_why: chosen.why,
        members: sent,
    })
}

/// Reports that the sockets are there, and returns when to begin: not before it is requested.
fn begun(parameters: &Parameters, context: &Context) -> u64 {
    context.ready(Opened {
        members: parameters.members.len(),
    });
    let begins_ns = context.stop.wait_for_begin().unwrap_or(0);
    begins_ns.max(clock::monotonic_ns())
}

/// Members take turns, so that together they are as even as one.
fn times(parameters: &Parameters, rate: Rate, number: usize, begun_ns: u64) -> OnOff {
    let gap_ns = 1e9 / rate.per_second();
    let share = number as f64 / parameters.members.len() as f64;
    let start_ns = begun_ns + (gap_ns * share) as u64;
    let seed = parameters.seed.wrapping_add(number as u64);
    OnOff::new(start_ns, rate, parameters.on_off, seed)
}

fn make_flow(parameters: &Parameters, number: usize, chosen: &mut Chosen) -> Result<Flow, Failure> {
    let member = &parameters.members[number];
    let room = ROOM / parameters.members.len().min(MAX_MEMBERS);
    let usual = Batches::default();
    let pattern = Pattern {
        sizes: &parameters.payload_size,
        canary: &parameters.canary,
        tag: parameters.token.tag(),
        to: parameters
            .early
            .then(|| SocketAddr::new(member.to, member.port).into()),
        batches: Batches {
            made: room.clamp(8, usual.made),
            cut: room.clamp(1, usual.cut),
        },
        waits: false,
    };
    let flow_number = u16::try_from(number).expect("there are at most MAX_MEMBERS");
    loop {
        let segmented = chosen.by == Segmenter::Kernel;
        let to = SocketAddr::new(member.to, member.port);
        let socket = if parameters.early {
            socket::bind_udp_early(member.bind)?
        } else {
            socket::connect_udp(Some(member.bind), 0, to)
                .map_err(during(format!("member {number}: connect UDP to {to}")))?
        };
        if segmented {
            Buffer::Send.set(&socket, SEGMENTED_SEND_BUFFER)?;
        }
        socket::report_local_drops(&socket, member.to)?;
        match Flow::new(flow_number, socket, &pattern, segmented) {
            Err(error) if segmented && parameters.segmentation == Segmentation::Auto => {
                *chosen = Chosen::none(format!("the kernel can't: {error}"));
            }
            made => return made.map_err(during("crowd_source: UDP_SEGMENT")),
        }
    }
}

fn tcp(parameters: &Parameters, context: &Context) -> Result<Sent, Failure> {
    let members = &parameters.members;
    let namespaces: Vec<_> = members.iter().map(|one| one.netns.clone()).collect();
    let connections = each_there(&namespaces, |number| {
        let member = &members[number];
        Connection::begin(parameters, number, member.bind)
    })?;
    let connections = streams::connected(connections, parameters, context)?;
    let begun_ns = begun(parameters, context);
    let end_ns = begun_ns + parameters.duration_s.ns();
    context.stop.wait_until(begun_ns);
    let done = in_threads(deal(connections, parameters.threads), |lane| {
        streams::write(lane, parameters, end_ns, context)
    })?;
    let last_ns = clock::monotonic_ns();
    let mut sent = vec![MemberSent::default(); members.len()];
    for (number, member) in done.into_iter().flatten() {
        sent[number] = member;
    }
    Ok(Sent {
        first_ns: begun_ns,
        last_ns,
        seconds: last_ns.saturating_sub(begun_ns) as f64 / 1e9,
        late_p50_ns: None,
        late_p99_ns: None,
        segmentation: Segmenter::None,
        segmentation_why: "TCP".to_owned(),
        members: sent,
    })
}
