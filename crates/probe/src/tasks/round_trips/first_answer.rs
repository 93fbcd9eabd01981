//! `first_answer`: from when on do packets go through? Sends requests until the first answer comes.

use crate::net::batch::receive::ReceiveBatch;
use crate::net::socket;
use crate::packet::header::{Header, Kind, blank_payload};
use crate::protocol::failure::{Failure, errno_name};
use crate::protocol::values::{Canary, Seconds, Token};
use crate::tasks::context::{Context, Started};
use crate::timing::clock;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::fd::AsFd;

/// The smallest payload of the suite: an inner IPv4 packet of 64 bytes.
const PAYLOAD: usize = 36;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    to: IpAddr,
    port: u16,
    bind: Option<IpAddr>,
    token: Token,
    #[serde(default)]
    canary: Canary,
    #[serde(default = "half_a_millisecond")]
    interval_us: u32,
    deadline_s: Seconds,
}

fn half_a_millisecond() -> u32 {
    500
}

#[derive(Debug, Serialize)]
pub struct Answered {
    /// When the first request was tried.
    started_ns: u64,
    /// When the request was sent that was answered first.
    first_sent_ns: u64,
    /// When the request before that was tried, which was not answered; none if it was the first.
    previous_sent_ns: Option<u64>,
    answered_ns: u64,
    answered_realtime_ns: u64,
    attempts: u64,
    errors: BTreeMap<String, u64>,
}

pub fn run(parameters: &Parameters, context: &Context) -> Result<Answered, Failure> {
    clock::use_exact_timers();
    let started_ns = clock::monotonic_ns();
    context.ready(Started { started_ns });
    let mut inquiry = Inquiry::new(parameters);
    let deadline_ns = started_ns + parameters.deadline_s.ns();
    let gap_ns = u64::from(parameters.interval_us.max(1)) * 1000;
    let mut due_ns = started_ns;
    while due_ns < deadline_ns && context.stop.wait_until(due_ns) {
        inquiry.send();
        // A late attempt delays the next: a burst would be a load.
        due_ns = (due_ns + gap_ns).max(clock::monotonic_ns());
        if let Some(answer) = inquiry.listen(due_ns, context) {
            return Ok(Answered {
                started_ns,
                first_sent_ns: answer.sent_ns,
                previous_sent_ns: inquiry.before(answer.sequence),
                answered_ns: answer.arrived_ns,
                answered_realtime_ns: answer.arrived_realtime_ns,
                attempts: inquiry.attempts,
                errors: inquiry.errors,
            });
        }
    }
    Err(inquiry.nothing(context.stop.requested()))
}

struct Inquiry<'a> {
    parameters: &'a Parameters,
    tag: [u8; 8],
    payload: Vec<u8>,
    open: Option<(UdpSocket, ReceiveBatch)>,
    attempts: u64,
    /// When each was tried.
    tried_ns: Vec<u64>,
    errors: BTreeMap<String, u64>,
}

struct Answer {
    sequence: u64,
    sent_ns: u64,
    arrived_ns: u64,
    arrived_realtime_ns: u64,
}

impl<'a> Inquiry<'a> {
    fn new(parameters: &'a Parameters) -> Inquiry<'a> {
        Inquiry {
            parameters,
            tag: parameters.token.tag(),
            payload: blank_payload(PAYLOAD, &parameters.canary),
            open: None,
            attempts: 0,
            tried_ns: Vec::new(),
            errors: BTreeMap::new(),
        }
    }

    /// Sends one request; the interface, the address and the route may all not be there yet.
    fn send(&mut self) {
        self.attempts += 1;
        self.tried_ns.push(clock::monotonic_ns());
        if let Err(error) = self.try_to_ask() {
            if is_of_the_address(&error) {
                self.open = None;
            }
            *self.errors.entry(errno_name(&error)).or_default() += 1;
        }
    }

    /// When the request before number `sequence` (from 1) was tried.
    fn before(&self, sequence: u64) -> Option<u64> {
        let index = usize::try_from(sequence.checked_sub(2)?).ok()?;
        self.tried_ns.get(index).copied()
    }

    fn try_to_ask(&mut self) -> io::Result<()> {
        let socket = match &self.open {
            Some((socket, _)) => socket,
            None => {
                let to = SocketAddr::new(self.parameters.to, self.parameters.port);
                let socket = socket::connect_udp(self.parameters.bind, 0, to)?;
                let batch = ReceiveBatch::new(&socket, 1, PAYLOAD + 1, false);
                &self.open.insert((socket, batch)).0
            }
        };
        let header = Header {
            kind: Kind::Request,
            tag: self.tag,
            flow: 0,
            sequence: self.attempts,
            time_ns: clock::monotonic_ns(),
        };
        header.write(&mut self.payload);
        socket.send(&self.payload).map(|_| ())
    }

    /// Waits for the answer until then.
    fn listen(&mut self, until_ns: u64, context: &Context) -> Option<Answer> {
        let (socket, batch) = self.open.as_mut()?;
        while context.stop.wait_readable(socket.as_fd(), until_ns) {
            if batch.receive_now(socket).is_err() {
                // An ICMP error; receiving has cleared it.
                continue;
            }
            let found = batch.datagrams().find_map(|datagram| {
                let header = Header::read(datagram.bytes, self.tag)?;
                (header.kind == Kind::Reply).then_some((header, datagram.arrived_ns))
            });
            if let Some((header, arrived_ns)) = found {
                return Some(Answer {
                    sequence: header.sequence,
                    sent_ns: header.time_ns,
                    arrived_ns,
                    arrived_realtime_ns: arrived_ns
                        .saturating_add_signed(batch.realtime_ahead_ns()),
                });
            }
        }
        None
    }

    fn nothing(&self, stopped: bool) -> Failure {
        let to = SocketAddr::new(self.parameters.to, self.parameters.port);
        let errors: Vec<String> = self
            .errors
            .iter()
            .map(|(name, count)| format!("{count} {name}"))
            .collect();
        let errors = match errors.as_slice() {
            [] => "all were sent".to_owned(),
            _ => errors.join(", "),
        };
        let end = if stopped {
            "stopped"
        } else {
            "deadline reached"
        };
        Failure::new(
            format!("first answer of {to}"),
            format!("{end} after {} attempts: {errors}", self.attempts),
            "check that the tunnel comes up and that the echo listens at its other end",
        )
    }
}

/// Whether a socket made anew may do better: its source address or route was not right.
fn is_of_the_address(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(libc::EADDRNOTAVAIL | libc::EINVAL | libc::ENETUNREACH | libc::ENODEV | libc::ENXIO)
    )
}
