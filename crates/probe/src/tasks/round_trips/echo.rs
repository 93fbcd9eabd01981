//! `echo`: a UDP reflector. It answers requests of its session with as many bytes, and nothing else.

use crate::net::batch::reflect::ReflectBatch;
use crate::net::socket::{self, Buffer};
use crate::packet::header::{Header, Kind, MAX_PAYLOAD, make_reply};
use crate::protocol::failure::{Failure, during};
use crate::protocol::values::{Seconds, Token};
use crate::tasks::context::{Context, Listening};
use crate::timing::clock;
use crate::timing::stop::Stop;
use serde::{Deserialize, Serialize};
use std::io::ErrorKind;
use std::net::{IpAddr, UdpSocket};

/// Enough for a burst; a batch is answered at once, so that no packet waits for those behind it.
const BATCH: usize = 16;
/// A reflector that loses requests in its own socket would be measuring itself.
const RECEIVE_BUFFER: usize = 4 << 20;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    bind: IpAddr,
    #[serde(default)]
    port: u16,
    token: Token,
    /// Ends after so long without a valid packet.
    idle_s: Seconds,
}

#[derive(Debug, Serialize)]
pub struct Echoed {
    packets: u64,
    bytes: u64,
    strangers: u64,
    send_errors: u64,
}

pub fn run(parameters: &Parameters, context: &Context) -> Result<Echoed, Failure> {
    let socket = socket::bind_udp(parameters.bind, parameters.port)?;
    Buffer::Receive.set(&socket, RECEIVE_BUFFER)?;
    context.ready(Listening {
        port: socket::local_port(&socket)?,
    });
    let idle_ns = parameters.idle_s.ns();
    reflect(&socket, &parameters.token, idle_ns, &context.stop)
}

/// Answers until it is requested to end, or no valid packet has arrived for `idle_ns`.
pub fn reflect(
    socket: &UdpSocket,
    token: &Token,
    idle_ns: u64,
    stop: &Stop,
) -> Result<Echoed, Failure> {
    let _interrupt = stop.interrupts(socket).map_err(during("echo"))?;
    let tag = token.tag();
    let mut batch = ReflectBatch::new(BATCH, MAX_PAYLOAD);
    let mut echoed = Echoed {
        packets: 0,
        bytes: 0,
        strangers: 0,
        send_errors: 0,
    };
    let mut last_valid_ns = clock::monotonic_ns();
    socket::set_receive_timeout(socket, idle_ns.min(Seconds::MAX as u64 * 1_000_000_000))?;
    loop {
        let received = batch.receive(socket);
        if stop.requested() {
            return Ok(echoed);
        }
        // Invalid packets must not keep it alive: the clock is read after every packet.
        let now_ns = clock::monotonic_ns();
        match received {
            Ok(_) => {
                let mut valid = 0;
                let reflected = batch.reflect(socket, |datagram| {
                    let header = Header::read(datagram, tag);
                    let ours = header.is_some_and(|header| header.kind == Kind::Request);
                    if ours {
                        make_reply(datagram);
                        valid += 1;
                    } else {
                        echoed.strangers += 1;
                    }
                    ours
                });
                echoed.packets += reflected.sent as u64;
                echoed.bytes += reflected.bytes as u64;
                echoed.send_errors += reflected.refused as u64;
                if valid > 0 {
                    last_valid_ns = now_ns;
                }
            }
            Err(error)
                if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            Err(error) => return Err(Failure::io("echo: receive", &error)),
        }
        if now_ns.saturating_sub(last_valid_ns) >= idle_ns {
            return Ok(echoed);
        }
    }
}
