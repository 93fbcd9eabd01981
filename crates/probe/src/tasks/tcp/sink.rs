//! `tcp_sink`: accepts the connections of a session and drains them; sends as well if requested.

use crate::net::socket;
use crate::protocol::failure::{Failure, during};
use crate::protocol::values::{Canary, Seconds, Token};
use crate::tasks::context::{Context, Listening};
use crate::tasks::tcp::lobby::{GREETING_TIMEOUT, Lobby};
use crate::tasks::tcp::stream::read::{Drained, End, Reading, drain, together};
use crate::tasks::tcp::stream::write::{Backward, write_until};
use crate::tasks::tcp::stream::{check_streams, each};
use crate::timing::clock;
use crate::timing::stop::Stop;
use serde::{Deserialize, Serialize};
use socket2::Socket;
use std::net::{IpAddr, Shutdown, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};

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
    receive_buffer: Option<usize>,
    /// Connections that are accepted.
    #[serde(default = "one")]
    streams: u16,
    /// If given, each connection is written to as well until its source has finished.
    backward: Option<Backward>,
}

fn one() -> u16 {
    1
}

#[derive(Debug, Serialize)]
pub struct Sunk {
    #[serde(flatten)]
    all: Drained,
    strangers: u64,
    /// Bytes written the other way, if that was requested.
    backward_written: Option<u64>,
    streams: Vec<Drained>,
}

pub fn run(parameters: &Parameters, context: &Context) -> Result<Sunk, Failure> {
    check_streams(parameters.streams)?;
    let listener = listen(parameters)?;
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
    let outcomes = drain_all(&connections, &reading, parameters, context)?;
    let backward_written = parameters
        .backward
        .is_some()
        .then(|| outcomes.iter().map(|(_, written)| written).sum());
    let streams: Vec<Drained> = outcomes.into_iter().map(|(drained, _)| drained).collect();
    let all = together(&streams, reading.begun_ns, parameters.interval_ms);
    Ok(Sunk {
        all: all.unwrap_or_else(|| nothing(context)),
        strangers,
        backward_written,
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

/// Each connection in threads of its own; what came, and how much was written the other way.
fn drain_all(
    connections: &[Socket],
    reading: &Reading<'_>,
    parameters: &Parameters,
    context: &Context,
) -> Result<Vec<(Drained, u64)>, Failure> {
    let one = |connection: &Socket| -> Result<(Drained, u64), Failure> {
        let _interrupt = context
            .stop
            .interrupts(connection)
            .map_err(during("tcp_sink"))?;
        let Some(backward) = &parameters.backward else {
            return Ok((drain(connection, reading, context)?, 0));
        };
        backward.prepare(connection)?;
        let finished = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let writer = scope.spawn(|| {
                let canary = parameters.canary.clone().unwrap_or_default();
                let outcome = write_until(connection, &canary, backward.write_size, |_, now_ns| {
                    finished.load(Ordering::Relaxed)
                        || context.stop.requested()
                        || now_ns >= reading.deadline_ns
                });
                let _ = connection.shutdown(Shutdown::Write);
                outcome
            });
            let drained = drain(connection, reading, context);
            finished.store(true, Ordering::Relaxed);
            let written = writer.join().expect("the writer does not panic");
            // A source that has gone may reset what is still under way to it.
            Ok((drained?, written.unwrap_or_else(|broken| broken.written)))
        })
    };
    each(connections, one)
}

fn listen(parameters: &Parameters) -> Result<Socket, Failure> {
    let address = SocketAddr::new(parameters.bind, parameters.port);
    let listener = socket::tcp_socket(parameters.bind)?;
    if let Some(bytes) = parameters.receive_buffer {
        socket::set_receive_buffer(&listener, bytes)?;
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
