//! `udp_sink`: receives numbered datagrams and accounts for each.

use crate::clock;
use crate::context::{Context, Listening};
use crate::failure::{Failure, during};
use crate::net::batch::ReceiveBatch;
use crate::net::socket;
use crate::packet::header::{Header, Kind, MAX_PAYLOAD, PayloadCheck};
use crate::sequence::Sequence;
use crate::series::Ticker;
use crate::values::{Canary, Seconds, Token};
use serde::{Deserialize, Serialize};
use std::io::ErrorKind;
use std::net::{IpAddr, UdpSocket};
use std::time::Duration;

const BATCH: usize = 64;
/// How often the socket is looked at while it drains after a request to end.
const DRAIN_STEP: Duration = Duration::from_micros(500);

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    bind: IpAddr,
    #[serde(default)]
    port: u16,
    token: Token,
    /// Bytes; the kernel's default if not given.
    receive_buffer: Option<usize>,
    interval_ms: u32,
    duration_max_s: Seconds,
    /// If given, every payload is compared with it and differences count as `corrupt`.
    canary: Option<Canary>,
    /// After a request to end: go on until nothing has come for so long.
    #[serde(default)]
    quiet_ms: u32,
}

#[derive(Debug, Clone, Serialize)]
pub struct Interval {
    t_ns: u64,
    packets: u64,
    bytes: u64,
    socket_drops: Option<u32>,
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
    reordered: u64,
    too_old: u64,
    corrupt: u64,
    strangers: u64,
    socket_drops: Option<u32>,
    receive_buffer_effective: usize,
    intervals: Vec<Interval>,
}

pub fn run(parameters: &Parameters, context: &Context) -> Result<Received, Failure> {
    let socket = socket::bind_udp(parameters.bind, parameters.port)?;
    let receive_buffer_effective = match parameters.receive_buffer {
        Some(bytes) => socket::set_receive_buffer(&socket, bytes)?,
        None => socket::receive_buffer(&socket)?,
    };
    socket
        .set_read_timeout(Some(socket::look_every(parameters.interval_ms)))
        .map_err(during("udp_sink: set a timeout"))?;
    let _interrupt = context
        .stop
        .interrupts(&socket)
        .map_err(during("udp_sink"))?;
    let mut sink = Sink::new(parameters, &socket);
    context.ready(Listening {
        port: socket::local_port(&socket)?,
    });
    sink.receive(parameters, context)?;
    Ok(sink.result(receive_buffer_effective))
}

struct Sink<'a> {
    socket: &'a UdpSocket,
    tag: [u8; 8],
    check: Option<PayloadCheck>,
    batch: ReceiveBatch,
    sequence: Sequence,
    /// Totals so far, and their state at the last boundary.
    now: Counts,
    boundary: Counts,
    corrupt: u64,
    strangers: u64,
    first_ns: Option<u64>,
    last_ns: Option<u64>,
    intervals: Vec<Interval>,
}

#[derive(Clone, Copy, Default)]
struct Counts {
    packets: u64,
    bytes: u64,
    drops: u32,
}

impl<'a> Sink<'a> {
    fn new(parameters: &Parameters, socket: &'a UdpSocket) -> Sink<'a> {
        Sink {
            socket,
            tag: parameters.token.tag(),
            check: parameters.canary.as_ref().map(PayloadCheck::new),
            batch: ReceiveBatch::new(BATCH, MAX_PAYLOAD),
            sequence: Sequence::default(),
            now: Counts::default(),
            boundary: Counts::default(),
            corrupt: 0,
            strangers: 0,
            first_ns: None,
            last_ns: None,
            intervals: Vec::new(),
        }
    }

    fn receive(&mut self, parameters: &Parameters, context: &Context) -> Result<(), Failure> {
        let start_ns = clock::monotonic_ns();
        let deadline_ns = start_ns + parameters.duration_max_s.ns();
        let mut ticker = Ticker::new(start_ns, parameters.interval_ms);
        loop {
            match self.batch.receive(self.socket) {
                Ok(_) => self.count(clock::monotonic_ns()),
                Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
                Err(error) => return Err(Failure::io("udp_sink: receive", &error)),
            }
            if context.stop.asked() {
                self.drain(u64::from(parameters.quiet_ms) * 1_000_000, deadline_ns)?;
                self.interval(clock::monotonic_ns(), context);
                return Ok(());
            }
            let now_ns = clock::monotonic_ns();
            if ticker.passed(now_ns) {
                self.interval(now_ns, context);
            }
            if now_ns >= deadline_ns {
                return Ok(());
            }
        }
    }

    /// Takes what waits in the socket, then what still comes until nothing has for `quiet_ns`.
    fn drain(&mut self, quiet_ns: u64, deadline_ns: u64) -> Result<(), Failure> {
        let mut heard_ns = clock::monotonic_ns();
        loop {
            let taken = self.batch.receive_now(self.socket);
            let taken = taken.map_err(during("udp_sink: receive"))?;
            let now_ns = clock::monotonic_ns();
            if taken > 0 {
                self.count(now_ns);
                heard_ns = now_ns;
            } else if now_ns - heard_ns >= quiet_ns || now_ns >= deadline_ns {
                return Ok(());
            } else {
                std::thread::sleep(DRAIN_STEP);
            }
        }
    }

    fn count(&mut self, now_ns: u64) {
        // An empty datagram is what the call says when the socket was shut down to wake it.
        for datagram in self
            .batch
            .datagrams()
            .filter(|datagram| !datagram.is_empty())
        {
            let header = Header::read(datagram, self.tag);
            let Some(header) = header.filter(|header| header.kind == Kind::Data) else {
                self.strangers += 1;
                continue;
            };
            self.sequence.record(header.sequence);
            self.now.packets += 1;
            self.now.bytes += datagram.len() as u64;
            if let Some(check) = &self.check {
                self.corrupt += u64::from(!check.intact(datagram));
            }
            self.first_ns.get_or_insert(now_ns);
            self.last_ns = Some(now_ns);
        }
    }

    fn interval(&mut self, t_ns: u64, context: &Context) {
        let drops = socket::socket_drops(self.socket);
        self.now.drops = drops.unwrap_or(0);
        let interval = Interval {
            t_ns,
            packets: self.now.packets - self.boundary.packets,
            bytes: self.now.bytes - self.boundary.bytes,
            socket_drops: drops.map(|drops| drops.wrapping_sub(self.boundary.drops)),
        };
        self.boundary = self.now;
        context.interval(&interval);
        self.intervals.push(interval);
    }

    fn result(self, receive_buffer_effective: usize) -> Received {
        Received {
            packets: self.now.packets,
            bytes: self.now.bytes,
            first_ns: self.first_ns,
            last_ns: self.last_ns,
            max_sequence: self.sequence.highest(),
            lost: self.sequence.lost(),
            duplicates: self.sequence.duplicates,
            reordered: self.sequence.reordered,
            too_old: self.sequence.too_old,
            corrupt: self.corrupt,
            strangers: self.strangers,
            socket_drops: socket::socket_drops(self.socket),
            receive_buffer_effective,
            intervals: self.intervals,
        }
    }
}
