//! `tcp_sink`: accepts the connections of a session and drains them.

use crate::net::socket::{self, Buffer};
use crate::protocol::failure::{Failure, during};
use crate::protocol::values::{Canary, Seconds, Token};
use crate::tasks::context::{Context, Listening};
use crate::tasks::tcp::lobby::{GREETING_TIMEOUT, Lobby};
use crate::tasks::tcp::stream::read::{Drained, End, Reading, drain, together};
use crate::tasks::tcp::stream::{check_streams, each};
use crate::timing::clock;
use crate::timing::stop::Stop;
use serde::{Deserialize, Serialize};
use socket2::Socket;
use std::net::{IpAddr, SocketAddr};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    bind: IpAddr,
    #[serde(default)]
    port: u16,
    token: Token,
    duration_max_s: Seconds,
    interval_ms: u32,
    /// If given, the stream is compared with it at the start of each read.
    canary: Option<Canary>,
    /// Bytes; if not given, the kernel grows it as the connection needs.
    receive_buffer: Option<usize>,
    /// Connections that are accepted.
    #[serde(default = "one")]
    streams: u16,
}

fn one() -> u16 {
    1
}

#[derive(Debug, Serialize)]
pub struct Sunk {
    #[serde(flatten)]
    all: Drained,
    strangers: u64,
    receive_buffer_effective: usize,
    streams: Vec<Drained>,
}

pub fn run(parameters: &Parameters, context: &Context) -> Result<Sunk, Failure> {
    check_streams(parameters.streams)?;
    let listener = listen(parameters)?;
    let receive_buffer_effective = Buffer::Receive.size(&listener)?;
    let interrupt = context
        .stop
        .interrupts(&listener)
        .map_err(during("tcp_sink"))?;
    let address = listener.local_addr().map_err(during("own port"))?;
    let port = address.as_socket().map_or(0, |address| address.port());
    context.ready(Listening { port });
    let begun_ns = clock::monotonic_ns();
    let deadline_ns = begun_ns + parameters.duration_max_s.ns();
    let Admitted {
        connections,
        strangers,
    } = admit(
        &listener,
        &parameters.token,
        usize::from(parameters.streams),
        deadline_ns,
        &context.stop,
    )?;
    // Nobody else may come in from here on.
    drop((interrupt, listener));
    let reading = Reading {
        canary: parameters.canary.as_ref(),
        interval_ms: parameters.interval_ms,
        begun_ns: clock::monotonic_ns(),
        deadline_ns,
        reported: parameters.streams == 1,
    };
    let streams = each(&connections, |connection| {
        let _interrupt = context
            .stop
            .interrupts(connection)
            .map_err(during("tcp_sink"))?;
        drain(connection, &reading, context)
    })?;
    let all = together(&streams, reading.begun_ns, parameters.interval_ms);
    Ok(Sunk {
        all: all.unwrap_or_else(|| nothing(context)),
        strangers,
        receive_buffer_effective,
        streams,
    })
}

fn nothing(context: &Context) -> Drained {
    let stopped = context.stop.requested();
    Drained {
        bytes: 0,
        first_ns: None,
        last_ns: None,
        ended: if stopped { End::Stopped } else { End::Deadline },
        corrupt_samples: 0,
        intervals: Vec::new(),
        tcp_info: None,
    }
}

fn listen(parameters: &Parameters) -> Result<Socket, Failure> {
    let address = SocketAddr::new(parameters.bind, parameters.port);
    let listener = socket::tcp_socket(parameters.bind)?;
    // Its connections inherit the buffer, by which they announce a window scale.
    if let Some(bytes) = parameters.receive_buffer {
        Buffer::Receive.set(&listener, bytes)?;
    }
    socket::listen_tcp(&listener, address, GREETING_TIMEOUT)?;
    Ok(listener)
}

struct Admitted {
    connections: Vec<Socket>,
    strangers: u64,
}

/// Accepts until `streams` callers have shown the token, the time has come or the task is to
/// end. Callers that have not shown it by then count as strangers.
fn admit(
    listener: &Socket,
    token: &Token,
    streams: usize,
    deadline_ns: u64,
    stop: &Stop,
) -> Result<Admitted, Failure> {
    let mut lobby = Lobby::new(listener)?;
    let mut admitted = Admitted {
        connections: Vec::new(),
        strangers: 0,
    };
    while !stop.requested() && clock::monotonic_ns() < deadline_ns {
        for (connection, shown) in lobby.shown()? {
            if shown == token.0 && admitted.connections.len() < streams {
                admitted.connections.push(connection);
            } else {
                admitted.strangers += 1;
            }
        }
        if admitted.connections.len() == streams {
            break;
        }
        lobby.wait(stop, deadline_ns);
    }
    admitted.strangers += lobby.strangers();
    Ok(admitted)
}
