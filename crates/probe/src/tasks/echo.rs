//! `echo`: a UDP reflector. It answers requests of its session with as many bytes, and nothing else.

use crate::clock;
use crate::context::{Context, Listening};
use crate::failure::{Failure, during};
use crate::net::socket;
use crate::packet::header::{Header, Kind, MAX_PAYLOAD, make_reply};
use crate::values::{Seconds, Token};
use serde::{Deserialize, Serialize};
use std::io::ErrorKind;
use std::net::IpAddr;

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
    let idle_ns = parameters.idle_s.ns();
    let _interrupt = context.stop.interrupts(&socket).map_err(during("echo"))?;
    context.ready(Listening {
        port: socket::local_port(&socket)?,
    });

    let tag = parameters.token.tag();
    let mut buffer = vec![0; MAX_PAYLOAD];
    let mut echoed = Echoed {
        packets: 0,
        bytes: 0,
        strangers: 0,
        send_errors: 0,
    };
    let mut last_valid_ns = clock::monotonic_ns();
    // Strangers must not keep it alive, and looking at the clock for each packet costs little.
    socket::set_receive_timeout(&socket, idle_ns)?;
    loop {
        let received = socket.recv_from(&mut buffer);
        if context.stop.asked() {
            return Ok(echoed);
        }
        let now_ns = clock::monotonic_ns();
        match received {
            Ok((length, from)) => match Header::read(&buffer[..length], tag) {
                Some(header) if header.kind == Kind::Request => {
                    make_reply(&mut buffer);
                    match socket.send_to(&buffer[..length], from) {
                        Ok(_) => {
                            echoed.packets += 1;
                            echoed.bytes += length as u64;
                        }
                        Err(_) => echoed.send_errors += 1,
                    }
                    last_valid_ns = now_ns;
                }
                _ => echoed.strangers += 1,
            },
            Err(error)
                if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            Err(error) => return Err(Failure::io("echo: receive", &error)),
        }
        if now_ns.saturating_sub(last_valid_ns) >= idle_ns {
            return Ok(echoed);
        }
    }
}
