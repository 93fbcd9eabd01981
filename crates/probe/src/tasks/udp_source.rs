//! `udp_source`: sends numbered datagrams, paced or as fast as the socket takes them.

use crate::clock;
use crate::context::{Context, Started};
use crate::failure::{Failure, during, errno_name};
use crate::latency::Latency;
use crate::net::batch::SendBatch;
use crate::net::socket;
use crate::packet::header::{HEADER_LENGTH, Header, Kind, MAX_PAYLOAD, blank_payload};
use crate::schedule::Schedule;
use crate::values::{Canary, Rate, Seconds, Token};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr, UdpSocket};

const BATCH: usize = 64;
/// Packets that were due before the end may still go out for so long: a thread that woke up late
/// at the very end is no slow generator.
const GRACE_NS: u64 = 100_000_000;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    to: IpAddr,
    port: u16,
    bind: Option<IpAddr>,
    #[serde(default)]
    bind_port: u16,
    token: Token,
    #[serde(default)]
    canary: Canary,
    /// Bytes of UDP payload, 28 to 65507.
    payload_size: usize,
    /// Packets per second; none: as fast as the socket takes them.
    rate_pps: Option<Rate>,
    duration_s: Seconds,
    #[serde(default = "yes")]
    connected: bool,
    send_buffer: Option<usize>,
}

fn yes() -> bool {
    true
}

/// `send_errors` by name of the error. A packet that the kernel refused has used up its number and
/// its place in the schedule: trying again would turn a full queue into back-pressure, and hide that
/// it loses.
#[derive(Debug, Serialize)]
pub struct Sent {
    /// Numbers used: `packets` and those of `send_errors`.
    offered: u64,
    /// Taken by the kernel.
    packets: u64,
    bytes: u64,
    /// Packets that the schedule held; the generator was too slow if it is more than `offered`.
    scheduled: Option<u64>,
    first_ns: u64,
    last_ns: u64,
    seconds: f64,
    send_errors: BTreeMap<String, u64>,
    late_p50_ns: Option<u64>,
    late_p99_ns: Option<u64>,
    late_max_ns: Option<u64>,
    source_port: u16,
}

pub fn run(parameters: &Parameters, context: &Context) -> Result<Sent, Failure> {
    check_size(parameters.payload_size)?;
    let to = SocketAddr::new(parameters.to, parameters.port);
    let socket = make_socket(parameters, to)?;
    let name = (!parameters.connected).then(|| to.into());
    let payload = blank_payload(parameters.payload_size, &parameters.canary);
    let mut source = Source {
        batch: SendBatch::new(BATCH, &payload, name),
        tag: parameters.token.tag(),
        offered: 0,
        packets: 0,
        errors: BTreeMap::new(),
        late: Latency::default(),
    };
    let source_port = socket::local_port(&socket)?;
    clock::use_exact_timers();
    let first_ns = clock::monotonic_ns();
    context.ready(Started {
        started_ns: first_ns,
    });
    let end_ns = first_ns + parameters.duration_s.ns();
    let schedule = parameters
        .rate_pps
        .map(|rate| Schedule::new(first_ns, rate));
    match schedule {
        None => source.flood(&socket, end_ns, context)?,
        Some(schedule) => source.pace(&socket, &schedule, end_ns, context)?,
    }
    let last_ns = clock::monotonic_ns();
    Ok(Sent {
        offered: source.offered,
        packets: source.packets,
        bytes: source.packets * parameters.payload_size as u64,
        scheduled: schedule.map(|schedule| schedule.count_before(end_ns.min(last_ns))),
        first_ns,
        last_ns,
        seconds: (last_ns - first_ns) as f64 / 1e9,
        send_errors: source.errors,
        late_p50_ns: schedule.map(|_| source.late.quantile_ns(0.5)),
        late_p99_ns: schedule.map(|_| source.late.quantile_ns(0.99)),
        late_max_ns: schedule.map(|_| source.late.quantile_ns(1.0)),
        source_port,
    })
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

fn make_socket(parameters: &Parameters, to: SocketAddr) -> Result<UdpSocket, Failure> {
    let from = parameters.bind.unwrap_or(socket::any(parameters.to));
    let socket = socket::bind_udp(from, parameters.bind_port)?;
    if parameters.connected {
        socket
            .connect(to)
            .map_err(during(format!("connect UDP to {to}")))?;
    }
    if let Some(bytes) = parameters.send_buffer {
        socket::set_send_buffer(&socket, bytes)?;
    }
    socket::report_local_drops(&socket, parameters.to)?;
    Ok(socket)
}

struct Source {
    batch: SendBatch,
    tag: [u8; 8],
    offered: u64,
    packets: u64,
    errors: BTreeMap<String, u64>,
    late: Latency,
}

impl Source {
    fn flood(&mut self, socket: &UdpSocket, end_ns: u64, context: &Context) -> Result<(), Failure> {
        loop {
            let now_ns = clock::monotonic_ns();
            if now_ns >= end_ns || context.stop.asked() {
                return Ok(());
            }
            self.send(socket, BATCH, now_ns)?;
        }
    }

    fn pace(
        &mut self,
        socket: &UdpSocket,
        schedule: &Schedule,
        end_ns: u64,
        context: &Context,
    ) -> Result<(), Failure> {
        let total = schedule.count_before(end_ns);
        while self.offered < total {
            let now_ns = clock::monotonic_ns();
            // What a slow generator has not sent by then is left out, and told in the result.
            if now_ns >= end_ns + GRACE_NS || context.stop.asked() {
                return Ok(());
            }
            let due = schedule.due(now_ns).min(total) - self.offered;
            if due == 0 {
                context.stop.wait_until(schedule.time_ns(self.offered));
                continue;
            }
            let before = self.offered;
            self.send(socket, due.min(BATCH as u64) as usize, now_ns)?;
            for number in before..self.offered {
                self.late
                    .record(now_ns.saturating_sub(schedule.time_ns(number)));
            }
        }
        Ok(())
    }

    fn send(&mut self, socket: &UdpSocket, count: usize, now_ns: u64) -> Result<(), Failure> {
        for i in 0..count {
            let header = Header {
                kind: Kind::Data,
                tag: self.tag,
                sequence: self.offered + i as u64,
                time_ns: now_ns,
            };
            header.write(self.batch.payload(i));
        }
        match self.batch.send(socket, count) {
            Ok(sent) => {
                self.packets += sent as u64;
                self.offered += sent as u64;
                if sent < count {
                    // The kernel keeps the error of the packet behind the last sent to itself.
                    self.refused("UNREPORTED".to_owned());
                }
                Ok(())
            }
            Err(error) if error.raw_os_error() == Some(libc::EMSGSIZE) => {
                Err(Failure::io("udp_source: send", &error))
            }
            Err(error) => {
                self.refused(errno_name(&error));
                Ok(())
            }
        }
    }

    /// The first packet that was not sent is given up.
    fn refused(&mut self, error: String) {
        self.offered += 1;
        *self.errors.entry(error).or_default() += 1;
    }
}
