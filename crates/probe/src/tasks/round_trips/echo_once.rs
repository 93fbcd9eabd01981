//! `echo_once`: does a packet of this size come back? The step of a search for the path MTU.

use crate::net::echo_channel::{EchoChannel, Inbox, Outbox};
use crate::net::icmp::IcmpSocket;
use crate::net::socket;
use crate::packet::header::{Header, Kind, blank_payload};
use crate::protocol::failure::{Failure, errno_name};
use crate::protocol::values::{Canary, Token};
use crate::tasks::context::{Context, Started};
use crate::tasks::udp::source::check_size;
use crate::timing::clock;
use serde::{Deserialize, Serialize};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsFd;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    to: IpAddr,
    /// Of an echo task; without it the request is ICMP, to the node's kernel.
    port: Option<u16>,
    bind: Option<IpAddr>,
    token: Token,
    #[serde(default)]
    canary: Canary,
    /// Bytes behind the UDP or ICMP header.
    payload_size: usize,
    /// Forbid fragmentation, whatever the kernel believes of the path.
    df: bool,
    /// Per attempt.
    timeout_ms: u32,
    attempts: u32,
}

#[derive(Debug, Serialize)]
pub struct Outcome {
    answered: bool,
    attempts: u32,
    rtt_ns: Option<u64>,
    /// Name of the last error, such as EMSGSIZE.
    error: Option<String>,
    /// The kernel's path MTU after the attempts, in bytes of the IP packet.
    pmtu: Option<u32>,
}

pub fn run(parameters: &Parameters, context: &Context) -> Result<Outcome, Failure> {
    check_size(parameters.payload_size)?;
    let opened = open(parameters)?;
    context.ready(Started {
        started_ns: clock::monotonic_ns(),
    });
    let mut outcome = Outcome {
        answered: false,
        attempts: 0,
        rtt_ns: None,
        error: None,
        pmtu: None,
    };
    match opened {
        Ok(channel) => ask(parameters, context, &channel, &mut outcome)?,
        Err(error) => outcome.error = Some(errno_name(&error)),
    }
    Ok(outcome)
}

/// The inner error is that there is no way to a node, whose kernel would answer.
fn open(parameters: &Parameters) -> Result<io::Result<EchoChannel>, Failure> {
    let (from, to) = (parameters.bind, parameters.to);
    match parameters.port {
        Some(port) => Ok(Ok(EchoChannel::udp(from, SocketAddr::new(to, port))?)),
        None => {
            let icmp = IcmpSocket::open(to)?;
            Ok(icmp.connect(from, to).map(|()| EchoChannel::Icmp(icmp)))
        }
    }
}

fn ask(
    parameters: &Parameters,
    context: &Context,
    channel: &EchoChannel,
    outcome: &mut Outcome,
) -> Result<(), Failure> {
    if parameters.df {
        socket::probe_path_mtu(channel.socket(), parameters.to)?;
    }
    let mut inquiry = Inquiry {
        parameters,
        context,
        channel,
        outbox: channel.outbox(&blank_payload(parameters.payload_size, &parameters.canary)),
        inbox: channel.inbox(parameters.payload_size),
    };
    while outcome.attempts < parameters.attempts && !context.stop.requested() {
        outcome.attempts += 1;
        match inquiry.attempt(outcome.attempts) {
            Ok(None) => {}
            Ok(Some(rtt_ns)) => {
                outcome.answered = true;
                outcome.rtt_ns = Some(rtt_ns);
                break;
            }
            Err(error) => outcome.error = Some(errno_name(&error)),
        }
    }
    outcome.pmtu = socket::path_mtu(channel.socket(), parameters.to);
    Ok(())
}

struct Inquiry<'a> {
    parameters: &'a Parameters,
    context: &'a Context,
    channel: &'a EchoChannel,
    outbox: Outbox,
    inbox: Inbox,
}

impl Inquiry<'_> {
    /// One request; its round-trip time if it was answered in time.
    fn attempt(&mut self, number: u32) -> io::Result<Option<u64>> {
        let tag = self.parameters.token.tag();
        let header = Header {
            kind: Kind::Request,
            tag,
            flow: 0,
            sequence: u64::from(number),
            time_ns: clock::monotonic_ns(),
        };
        self.outbox.send(self.channel, &header)?;
        let until_ns = header.time_ns + u64::from(self.parameters.timeout_ms) * 1_000_000;
        let mut rtt_ns = None;
        while rtt_ns.is_none()
            && self
                .context
                .stop
                .wait_readable(self.channel.socket().as_fd(), until_ns)
        {
            self.inbox.receive_now(self.channel, |packet, arrived_ns| {
                let Some(payload) = self.channel.answer(packet) else {
                    return;
                };
                let ours = Header::read(payload, tag).is_some_and(|reply| {
                    reply.kind == self.channel.reply_kind() && reply.sequence == header.sequence
                });
                if ours && payload.len() == self.parameters.payload_size {
                    rtt_ns.get_or_insert(arrived_ns.saturating_sub(header.time_ns));
                }
            })?;
        }
        Ok(rtt_ns)
    }
}
