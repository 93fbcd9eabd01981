//! `echo_once`: does a packet of this size come back? The step of a search for the path MTU.

use crate::clock;
use crate::context::{Context, Started};
use crate::failure::{Failure, during, errno_name};
use crate::net::socket;
use crate::net::stamped::StampedReceiver;
use crate::packet::header::{Header, Kind, MAX_PAYLOAD, blank_payload};
use crate::tasks::udp_source::check_size;
use crate::values::{Canary, Token};
use serde::{Deserialize, Serialize};
use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::fd::AsFd;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    to: IpAddr,
    port: u16,
    bind: Option<IpAddr>,
    token: Token,
    #[serde(default)]
    canary: Canary,
    /// Bytes of UDP payload.
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
    let to = SocketAddr::new(parameters.to, parameters.port);
    let socket = socket::connect_udp(parameters.bind, 0, to)
        .map_err(during(format!("connect UDP to {to}")))?;
    if parameters.df {
        socket::probe_path_mtu(&socket, parameters.to)?;
    }
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
    let mut receiver = StampedReceiver::new(&socket);
    while outcome.attempts < parameters.attempts && !context.stop.requested() {
        outcome.attempts += 1;
        match attempt(
            parameters,
            context,
            &socket,
            &mut receiver,
            outcome.attempts,
        ) {
            Ok(None) => {}
            Ok(Some(rtt_ns)) => {
                outcome.answered = true;
                outcome.rtt_ns = Some(rtt_ns);
                break;
            }
            Err(error) => outcome.error = Some(errno_name(&error)),
        }
    }
    outcome.pmtu = socket::path_mtu(&socket, parameters.to);
    Ok(outcome)
}

/// One request; its round-trip time if it was answered in time.
fn attempt(
    parameters: &Parameters,
    context: &Context,
    socket: &UdpSocket,
    receiver: &mut StampedReceiver,
    number: u32,
) -> io::Result<Option<u64>> {
    let tag = parameters.token.tag();
    let mut payload = blank_payload(parameters.payload_size, &parameters.canary);
    let sent_ns = clock::monotonic_ns();
    let header = Header {
        kind: Kind::Request,
        tag,
        flow: 0,
        sequence: u64::from(number),
        time_ns: sent_ns,
    };
    header.write(&mut payload);
    socket.send(&payload)?;
    let until_ns = sent_ns + u64::from(parameters.timeout_ms) * 1_000_000;
    let mut buffer = vec![0; MAX_PAYLOAD];
    while context.stop.wait_readable(socket.as_fd(), until_ns) {
        let stamped = receiver.receive(socket, &mut buffer)?;
        let arrived_ns = stamped.arrived_ns();
        let reply = Header::read(&buffer[..stamped.length], tag);
        let ours = reply
            .is_some_and(|reply| reply.kind == Kind::Reply && reply.sequence == header.sequence);
        if ours && stamped.length == parameters.payload_size {
            return Ok(Some(arrived_ns.saturating_sub(sent_ns)));
        }
    }
    Ok(None)
}
