//! `udp_source`: sends numbered datagrams, paced or as fast as the sockets take them.

pub mod flow;
mod lane;

use crate::net::device::egress::{Chosen, Egress, Segmentation, Segmenter, choose};
use crate::net::socket::{self, Buffer};
use crate::packet::header::{HEADER_LENGTH, MAX_PAYLOAD};
use crate::packet::sizes::Sizes;
use crate::protocol::failure::{Failure, during};
use crate::protocol::values::{Canary, Rate, Seconds, Token};
use crate::results::latency::Latency;
use crate::tasks::context::{Context, Started};
use crate::timing::clock;
use crate::timing::frames::Frames;
use crate::timing::pace::{Arrivals, Pace, Spread};
use flow::{Batches, Counts, Flow, Pattern};
use lane::Lane;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr, UdpSocket};

pub const MAX_FLOWS: u16 = 256;
const MAX_THREADS: u16 = 64;
/// Packets further apart than this are sent one by one: nothing is won by cutting them.
const SEGMENTED_FROM_PPS: f64 = 50_000.0;
/// Each packet that the kernel cuts is charged to the socket with some 700 bytes of its own: with
/// the usual buffer the source would sleep at every third message. There is no queue behind it that
/// this could fill: the kernel cuts only where there is none.
pub const SEGMENTED_SEND_BUFFER: usize = 256 << 10;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    to: IpAddr,
    port: u16,
    bind: Option<IpAddr>,
    /// Of the first flow; the following flows use those behind it.
    #[serde(default)]
    bind_port: u16,
    token: Token,
    #[serde(default)]
    canary: Canary,
    /// Bytes of UDP payload, 28 to 65507.
    payload_size: Sizes,
    /// Packets per second of all flows; none: as fast as the sockets take them.
    rate_pps: Option<Rate>,
    /// In place of a rate: the packets of a video's frames, of one flow.
    frames: Option<Frames>,
    #[serde(default)]
    arrivals: Arrivals,
    /// Packets at once, for bursts.
    #[serde(default = "one")]
    burst: u16,
    #[serde(default)]
    seed: u64,
    /// Look at the clock without sleeping for so long before each packet.
    #[serde(default)]
    spin_us: u32,
    duration_s: Seconds,
    #[serde(default = "one")]
    flows: u16,
    #[serde(default = "one")]
    threads: u16,
    #[serde(default)]
    segmentation: Segmentation,
    #[serde(default = "yes")]
    connected: bool,
    /// Bytes; the kernel's default if not given, more where it cuts larger messages.
    send_buffer: Option<usize>,
}

fn yes() -> bool {
    true
}

fn one() -> u16 {
    1
}

/// `send_errors` by name of the error.
#[derive(Debug, Serialize)]
pub struct Sent {
    #[serde(flatten)]
    counts: Counts,
    /// Packets that the schedule held; the generator was too slow if it is more than `offered`.
    scheduled: Option<u64>,
    first_ns: u64,
    last_ns: u64,
    seconds: f64,
    late_p50_ns: Option<u64>,
    late_p99_ns: Option<u64>,
    late_max_ns: Option<u64>,
    source_port: u16,
    send_buffer_effective: usize,
    segmentation: Segmenter,
    segmentation_why: String,
    flows: Vec<FlowSent>,
}

#[derive(Debug, Serialize)]
struct FlowSent {
    flow: u16,
    source_port: u16,
    offered: u64,
    packets: u64,
    bytes: u64,
    send_errors: BTreeMap<String, u64>,
}

pub fn run(parameters: &Parameters, context: &Context) -> Result<Sent, Failure> {
    check(parameters)?;
    let to = SocketAddr::new(parameters.to, parameters.port);
    let mean_rate = parameters.frames.as_ref().map(Frames::mean_rate);
    let mut chosen = segmentation(
        parameters.segmentation,
        &parameters.payload_size,
        parameters.rate_pps.or(mean_rate),
        parameters.to,
    );
    let flows = make_flows(parameters, to, &mut chosen)?;
    let send_buffer_effective = Buffer::Send.size(flows[0].socket())?;
    let first_ns = clock::monotonic_ns();
    let mut lanes = deal(parameters, flows, first_ns);
    context.ready(Started {
        started_ns: first_ns,
    });
    let end_ns = first_ns + parameters.duration_s.ns();
    run_all(&mut lanes, end_ns, context)?;
    let last_ns = clock::monotonic_ns();
    let times = (first_ns, last_ns, end_ns);
    Ok(result(lanes, chosen, times, send_buffer_effective))
}

fn result(
    lanes: Vec<Lane>,
    mut chosen: Chosen,
    times: (u64, u64, u64),
    send_buffer_effective: usize,
) -> Sent {
    let (first_ns, last_ns, end_ns) = times;
    let mut counts = Counts::default();
    let mut late = Latency::default();
    let mut flows = Vec::new();
    let mut scheduled = None;
    for lane in lanes {
        if let Some(pace) = lane.pace {
            let due = pace.count_before(end_ns.min(last_ns));
            scheduled = Some(scheduled.unwrap_or(0) + due);
        }
        for flow in lane.flows {
            counts.add(&flow.counts);
            late.add(&flow.late);
            if let Some(error) = flow.gave_up {
                chosen = Chosen::none(format!("the kernel can't: {error}"));
            }
            flows.push(FlowSent {
                flow: flow.number,
                source_port: flow.source_port,
                offered: flow.counts.offered,
                packets: flow.counts.packets,
                bytes: flow.counts.bytes,
                send_errors: flow.counts.send_errors,
            });
        }
    }
    flows.sort_by_key(|flow| flow.flow);
    let quantile_ns = |quantile| scheduled.map(|_| late.quantile_ns(quantile));
    Sent {
        scheduled,
        first_ns,
        last_ns,
        seconds: (last_ns - first_ns) as f64 / 1e9,
        late_p50_ns: quantile_ns(0.5),
        late_p99_ns: quantile_ns(0.99),
        late_max_ns: quantile_ns(1.0),
        source_port: flows[0].source_port,
        send_buffer_effective,
        counts,
        segmentation: chosen.by,
        segmentation_why: chosen.why,
        flows,
    }
}

/// Refuses payloads that can't hold the header, or that UDP can't hold.
pub fn check_size(payload_size: usize) -> Result<(), Failure> {
    if (HEADER_LENGTH..=MAX_PAYLOAD).contains(&payload_size) {
        return Ok(());
    }
    Err(Failure::new(
        format!("payload_size {payload_size}"),
        "a packet must hold the probe's header and fit into UDP",
        format!("give {HEADER_LENGTH} to {MAX_PAYLOAD} bytes"),
    ))
}

fn check(parameters: &Parameters) -> Result<(), Failure> {
    let (flows, threads) = (parameters.flows, parameters.threads);
    if !(1..=MAX_FLOWS).contains(&flows) || !(1..=MAX_THREADS).contains(&threads) {
        return Err(Failure::new(
            format!("flows {flows}, threads {threads}"),
            "out of range",
            format!("give 1 to {MAX_FLOWS} flows and 1 to {MAX_THREADS} threads"),
        ));
    }
    if threads > flows {
        return Err(Failure::new(
            format!("threads {threads}"),
            format!("there are only {flows} flows to share out"),
            "give at least as many flows as threads",
        ));
    }
    if parameters.bind_port.checked_add(flows - 1).is_none() {
        return Err(Failure::new(
            format!("bind_port {}", parameters.bind_port),
            format!("there are not {flows} ports from there on"),
            "give a lower port",
        ));
    }
    if parameters.frames.is_some() && (flows > 1 || parameters.rate_pps.is_some()) {
        return Err(Failure::new(
            "frames",
            "they are the times of one flow",
            "give neither `flows` nor `rate_pps`",
        ));
    }
    let paced = parameters.rate_pps.is_some();
    if !paced && parameters.arrivals != Arrivals::Constant {
        return Err(Failure::new(
            "arrivals",
            "without a rate there are no times of arrival",
            "give `rate_pps`",
        ));
    }
    if parameters.burst == 0 || (parameters.burst > 1 && parameters.arrivals != Arrivals::Burst) {
        return Err(Failure::new(
            format!("burst {}", parameters.burst),
            "must be 1 or more, and is for arrivals in bursts only",
            "set `arrivals` to \"burst\"",
        ));
    }
    Ok(())
}

/// The lane that makes the packets, by the rule of [`choose`] unless the request names one.
pub fn segmentation(
    requested: Segmentation,
    sizes: &Sizes,
    rate: Option<Rate>,
    to: IpAddr,
) -> Chosen {
    match requested {
        Segmentation::None => Chosen::none("asked"),
        _ if sizes.uniform().is_none() => Chosen::none("the kernel cuts one size only"),
        Segmentation::Kernel => Chosen::kernel("asked"),
        Segmentation::Auto => match rate {
            Some(rate) if rate.per_second() < SEGMENTED_FROM_PPS => {
                Chosen::none(format!("less than {SEGMENTED_FROM_PPS} packets a second"))
            }
            _ => by_egress(sizes, to),
        },
    }
}

fn by_egress(sizes: &Sizes, to: IpAddr) -> Chosen {
    let headers = if to.is_ipv4() { 28 } else { 48 };
    match Egress::to(to) {
        Ok(Some(egress)) => choose(&egress, sizes.largest() + headers),
        Ok(None) => Chosen::none("there is no route to look at"),
        Err(error) => Chosen::none(format!("the route could not be looked up: {error}")),
    }
}

/// Falls back on packets made by the source where the kernel can't cut them.
fn make_flows(
    parameters: &Parameters,
    to: SocketAddr,
    chosen: &mut Chosen,
) -> Result<Vec<Flow>, Failure> {
    let pattern = Pattern {
        sizes: &parameters.payload_size,
        canary: &parameters.canary,
        tag: parameters.token.tag(),
        to: (!parameters.connected).then(|| to.into()),
        batches: Batches::default(),
        waits: true,
    };
    let mut flows = Vec::new();
    for number in 0..parameters.flows {
        let segmented = chosen.by == Segmenter::Kernel;
        let socket = make_socket(parameters, number, to, segmented)?;
        let copy = socket.try_clone().map_err(during("udp_source"))?;
        let flow = match Flow::new(number, copy, &pattern, segmented) {
            Err(error) if segmented && parameters.segmentation == Segmentation::Auto => {
                *chosen = Chosen::none(format!("the kernel can't: {error}"));
                Flow::new(number, socket, &pattern, false)
            }
            other => other,
        };
        flows.push(flow.map_err(during("udp_source: UDP_SEGMENT"))?);
    }
    Ok(flows)
}

fn make_socket(
    parameters: &Parameters,
    number: u16,
    to: SocketAddr,
    segmented: bool,
) -> Result<UdpSocket, Failure> {
    let from = parameters.bind.unwrap_or(socket::any(parameters.to));
    let port = match parameters.bind_port {
        0 => 0,
        first => first + number,
    };
    let socket = socket::bind_udp(from, port)?;
    if parameters.connected {
        socket
            .connect(to)
            .map_err(during(format!("connect UDP to {to}")))?;
    }
    let wanted = segmented.then_some(SEGMENTED_SEND_BUFFER);
    if let Some(bytes) = parameters.send_buffer.or(wanted) {
        Buffer::Send.set(&socket, bytes)?;
    }
    socket::report_local_drops(&socket, parameters.to)?;
    Ok(socket)
}

/// Deals the flows to the threads, each with its share of the rate.
fn deal(parameters: &Parameters, flows: Vec<Flow>, first_ns: u64) -> Vec<Lane> {
    let threads = usize::from(parameters.threads);
    let of_all = flows.len() as f64;
    let mut lanes: Vec<Lane> = (0..threads)
        .map(|_| Lane {
            flows: Vec::new(),
            pace: None,
            spin_ns: u64::from(parameters.spin_us) * 1000,
        })
        .collect();
    for (i, flow) in flows.into_iter().enumerate() {
        lanes[i % threads].flows.push(flow);
    }
    if let Some(frames) = &parameters.frames {
        lanes[0].pace = Some(Pace::framed(first_ns, frames.clone()));
    }
    let Some(rate) = parameters.rate_pps else {
        return lanes;
    };
    let gap_ns = 1e9 / rate.per_second();
    for (i, lane) in lanes.iter_mut().enumerate() {
        let share = rate.per_second() * lane.flows.len() as f64 / of_all;
        let rate = Rate::new(share).expect("a share of a rate is a rate");
        let spread = Spread {
            arrivals: parameters.arrivals,
            rate,
            burst: u64::from(parameters.burst),
            // Neighbouring seeds of SplitMix64 give streams that have nothing in common.
            seed: parameters.seed.wrapping_add(i as u64),
        };
        // Threads take turns, so that together they are as even as one.
        let start_ns = first_ns + (gap_ns * i as f64) as u64;
        lane.pace = Some(Pace::new(start_ns, spread));
    }
    lanes
}

fn run_all(lanes: &mut [Lane], end_ns: u64, context: &Context) -> Result<(), Failure> {
    let [first, rest @ ..] = lanes else {
        return Ok(());
    };
    std::thread::scope(|scope| {
        let others: Vec<_> = rest
            .iter_mut()
            .map(|lane| scope.spawn(move || lane.run(end_ns, context)))
            .collect();
        let mut outcome = first.run(end_ns, context);
        for other in others {
            // A panic of a lane is a bug; the task's thread ends with it.
            outcome = outcome.and(other.join().expect("a lane does not panic"));
        }
        outcome
    })
}
