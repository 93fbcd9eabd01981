//! `rtt`: round-trip times on an open-loop schedule.
//!
//! A request is sent when it is due, answered or not, and its time of record counts from when it
//! was due: a stall makes all requests late that fell into it, instead of hiding them ("coordinated
//! omission"). One thread sends, another receives.

use crate::clock;
use crate::context::{Context, Started};
use crate::failure::{Failure, during, errno_name};
use crate::latency::{Latency, Summary};
use crate::net::echo_channel::EchoChannel;
use crate::net::socket;
use crate::packet::header::{HEADER_LENGTH, Header, Kind, blank_payload};
use crate::schedule::Schedule;
use crate::sequence::{Arrival, Sequence};
use crate::stop::Stop;
use crate::tasks::echo::reflect;
use crate::tasks::tcp_responder::Greeting;
use crate::tasks::udp_source::check_size;
use crate::values::{Canary, Rate, Token};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// How often the receiver looks whether it is done while nothing comes.
const LOOK: Duration = Duration::from_millis(10);
/// A schedule that starts at once would find its first request late.
const LEAD_NS: u64 = 1_000_000;
/// Answers must not be lost in our own socket.
const RECEIVE_BUFFER: usize = 4 << 20;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
const NOT_YET: u64 = u64::MAX;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
enum Protocol {
    Udp,
    Icmp,
    Tcp,
}

#[derive(Debug, Clone, Deserialize)]
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
    count: u64,
    /// Bytes behind the UDP or ICMP header: an inner IPv4 packet is 28 longer.
    payload_size: usize,
    timeout_ms: u32,
    /// Look at the clock without sleeping for so long before each request: more exact sending for
    /// more processor time.
    #[serde(default)]
    spin_us: u32,
    /// So many round trips over the node's loopback first; 0: none.
    #[serde(default)]
    noise_floor_probes: u32,
}

/// `histogram` counts from when a request was due, `histogram_actual` from when it was sent.
#[derive(Debug, Serialize)]
pub struct Measured {
    protocol: Protocol,
    sent: u64,
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
    noise_floor: Option<NoiseFloor>,
}

/// Of the probe itself: round trips over the node's loopback, just before.
#[derive(Debug, Serialize)]
struct NoiseFloor {
    probes: u64,
    received: u64,
    p50_ns: Option<u64>,
    p99_ns: Option<u64>,
    max_ns: Option<u64>,
    schedule_error_p99_ns: u64,
}

pub fn run(parameters: &Parameters, context: &Context) -> Result<Measured, Failure> {
    let channel = open(parameters)?;
    let noise_floor = match parameters.noise_floor_probes {
        0 => None,
        probes => Some(noise_floor(parameters, probes, context)?),
    };
    let started_ns = clock::monotonic_ns() + LEAD_NS;
    context.ready(Started { started_ns });
    let mut measured = measure(parameters, &channel, started_ns, context)?;
    measured.noise_floor = noise_floor;
    Ok(measured)
}

/// The same schedule and size, to an echo in this process.
fn noise_floor(
    parameters: &Parameters,
    probes: u32,
    context: &Context,
) -> Result<NoiseFloor, Failure> {
    let loopback = IpAddr::from(Ipv4Addr::LOCALHOST);
    let socket = socket::bind_udp(loopback, 0)?;
    socket::set_receive_buffer(&socket, RECEIVE_BUFFER)?;
    let to = SocketAddr::new(loopback, socket::local_port(&socket)?);
    let own = Parameters {
        protocol: Protocol::Udp,
        count: u64::from(probes),
        bind: None,
        ..parameters.clone()
    };
    let enough = Stop::new().map_err(during("rtt: noise floor"))?;
    let idle_ns = u64::MAX;
    let measured = std::thread::scope(|scope| {
        let echo = scope.spawn(|| reflect(&socket, &own.token, idle_ns, &enough));
        let channel = EchoChannel::udp(None, to);
        let started_ns = clock::monotonic_ns() + LEAD_NS;
        let measured = channel.and_then(|channel| measure(&own, &channel, started_ns, context));
        enough.ask();
        let echoed = echo.join().expect("the echo does not panic");
        measured.and_then(|measured| echoed.map(|_| measured))
    })?;
    Ok(NoiseFloor {
        probes: measured.sent,
        received: measured.received,
        p50_ns: measured.due.as_ref().map(|due| due.p50_ns),
        p99_ns: measured.due.as_ref().map(|due| due.p99_ns),
        max_ns: measured.due.as_ref().map(|due| due.max_ns),
        schedule_error_p99_ns: measured.schedule_error_p99_ns,
    })
}

fn measure(
    parameters: &Parameters,
    channel: &EchoChannel,
    started_ns: u64,
    context: &Context,
) -> Result<Measured, Failure> {
    let _interrupt = context
        .stop
        .interrupts(channel.socket())
        .map_err(during("rtt"))?;
    channel
        .socket()
        .set_read_timeout(Some(LOOK))
        .map_err(during("rtt: set a timeout"))?;
    socket::set_receive_buffer(channel.socket(), RECEIVE_BUFFER)?;
    let schedule = Schedule::new(started_ns, parameters.rate_pps);
    let sent = AtomicU64::new(NOT_YET);
    let (sender, receiver) = std::thread::scope(|scope| {
        let sender = scope.spawn(|| {
            let outcome = send_all(parameters, context, channel, &schedule);
            sent.store(outcome.sent, Ordering::Release);
            outcome
        });
        let receiver = receive_all(parameters, context, channel, &schedule, &sent);
        // A panic of the sender is a bug; the agent's thread ends with it.
        (sender.join().expect("the sender does not panic"), receiver)
    });
    let receiver = receiver?;
    let due = receiver.due.summary();
    let actual = receiver.actual.summary();
    Ok(Measured {
        protocol: parameters.protocol,
        sent: sender.sent,
        received: receiver.received,
        lost: sender
            .sent
            .saturating_sub(receiver.received + receiver.late),
        duplicates: receiver.sequence.duplicates,
        late: receiver.late,
        strangers: receiver.strangers,
        corrupt: receiver.corrupt,
        send_errors: sender.errors,
        started_ns,
        seconds: clock::monotonic_ns().saturating_sub(started_ns) as f64 / 1e9,
        due,
        p50_actual_ns: actual.as_ref().map(|actual| actual.p50_ns),
        p99_actual_ns: actual.as_ref().map(|actual| actual.p99_ns),
        mean_actual_ns: actual.as_ref().map(|actual| actual.mean_ns),
        histogram_actual: actual.map(|actual| actual.histogram),
        schedule_error_p50_ns: sender.schedule_error.quantile_ns(0.5),
        schedule_error_p99_ns: sender.schedule_error.quantile_ns(0.99),
        schedule_error_max_ns: sender.schedule_error.quantile_ns(1.0),
        noise_floor: None,
        timestamps: if receiver.by_kernel { "kernel" } else { "user" },
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

struct Sender {
    sent: u64,
    errors: BTreeMap<String, u64>,
    schedule_error: Latency,
}

fn send_all(
    parameters: &Parameters,
    context: &Context,
    channel: &EchoChannel,
    schedule: &Schedule,
) -> Sender {
    clock::use_exact_timers();
    let spin_ns = u64::from(parameters.spin_us) * 1000;
    let front = channel.front();
    let mut message = vec![0; front];
    message.extend(blank_payload(parameters.payload_size, &parameters.canary));
    let mut sender = Sender {
        sent: 0,
        errors: BTreeMap::new(),
        schedule_error: Latency::default(),
    };
    for sequence in 0..parameters.count {
        let due_ns = schedule.time_ns(sequence);
        if !context.stop.wait_until(due_ns.saturating_sub(spin_ns)) {
            break;
        }
        let mut time_ns = clock::monotonic_ns();
        while time_ns < due_ns {
            std::hint::spin_loop();
            time_ns = clock::monotonic_ns();
        }
        let header = Header {
            kind: Kind::Request,
            tag: parameters.token.tag(),
            flow: 0,
            sequence,
            time_ns,
        };
        header.write(&mut message[front..]);
        match channel.send(&mut message, sequence) {
            Ok(()) => sender.sent += 1,
            Err(error) => {
                *sender.errors.entry(errno_name(&error)).or_default() += 1;
                if parameters.protocol == Protocol::Tcp {
                    // Half a message may have gone: what follows it would not be understood.
                    break;
                }
            }
        }
        sender.schedule_error.record(time_ns.saturating_sub(due_ns));
    }
    sender
}

struct Receiver {
    received: u64,
    late: u64,
    strangers: u64,
    corrupt: u64,
    sequence: Sequence,
    due: Latency,
    actual: Latency,
    by_kernel: bool,
}

fn receive_all(
    parameters: &Parameters,
    context: &Context,
    channel: &EchoChannel,
    schedule: &Schedule,
    sent: &AtomicU64,
) -> Result<Receiver, Failure> {
    let timeout_ns = u64::from(parameters.timeout_ms) * 1_000_000;
    let tag = parameters.token.tag();
    let mut inbox = channel.inbox(parameters.payload_size);
    let expected = blank_payload(parameters.payload_size, &parameters.canary);
    let mut receiver = Receiver {
        received: 0,
        late: 0,
        strangers: 0,
        corrupt: 0,
        sequence: Sequence::default(),
        due: Latency::default(),
        actual: Latency::default(),
        by_kernel: inbox.stamped(),
    };
    let mut silent_from_ns = None;
    loop {
        let outcome = inbox.receive(channel, |packet, arrived_ns| {
            let answer = channel.answer(packet);
            let header = answer.and_then(|answer| Header::read(answer, tag));
            match (answer, header) {
                (Some(answer), Some(header))
                    if header.kind == channel.reply_kind()
                        && header.flow == 0
                        && header.sequence < parameters.count =>
                {
                    let body = HEADER_LENGTH..;
                    let intact = answer.get(body.clone()) == expected.get(body);
                    receiver.corrupt += u64::from(!intact);
                    let due_ns = schedule.time_ns(header.sequence);
                    receiver.count(header, due_ns, arrived_ns, timeout_ns);
                }
                _ => receiver.strangers += 1,
            }
        });
        match outcome {
            Ok(()) => {}
            Err(error) if is_passing(&error) => {}
            Err(_) if context.stop.asked() => {}
            Err(error) => return Err(Failure::io("rtt: receive", &error)),
        }
        let sent = sent.load(Ordering::Acquire);
        if sent != NOT_YET {
            let now_ns = clock::monotonic_ns();
            let silent_from_ns = *silent_from_ns.get_or_insert(now_ns);
            let all = receiver.received + receiver.late >= sent;
            if all || context.stop.asked() || now_ns - silent_from_ns >= timeout_ns {
                return Ok(receiver);
            }
        }
    }
}

/// Errors that do not mean that no answer will come: nothing yet, or an ICMP error for a request.
fn is_passing(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
        || matches!(
            error.raw_os_error(),
            Some(libc::ECONNREFUSED | libc::EHOSTUNREACH | libc::ENETUNREACH)
        )
}

impl Receiver {
    fn count(&mut self, header: Header, due_ns: u64, arrived_ns: u64, timeout_ns: u64) {
        if matches!(
            self.sequence.record(header.sequence),
            Arrival::Duplicate | Arrival::TooOld
        ) {
            return;
        }
        let from_due_ns = arrived_ns.saturating_sub(due_ns);
        if from_due_ns > timeout_ns {
            self.late += 1;
            return;
        }
        self.received += 1;
        self.due.record(from_due_ns);
        self.actual
            .record(arrived_ns.saturating_sub(header.time_ns));
    }
}
