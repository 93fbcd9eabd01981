//! `tcp_sink`: accepts one connection of the session and drains it.

use crate::clock;
use crate::context::{Context, Listening};
use crate::failure::{Failure, during};
use crate::net::socket;
use crate::net::tcp_info::TcpInfo;
use crate::series::Ticker;
use crate::values::{Canary, Seconds, Token};
use serde::{Deserialize, Serialize};
use socket2::Socket;
use std::io::{ErrorKind, Read};
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

const BUFFER: usize = 256 * 1024;
/// How much of what each call reads is compared with the canary.
const SAMPLE: usize = 64;
/// How long a caller may take to show the token.
const TOKEN_TIMEOUT: Duration = Duration::from_secs(2);

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
}

#[derive(Debug, Clone, Serialize)]
pub struct Interval {
    t_ns: u64,
    bytes: u64,
}

#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "snake_case")]
enum End {
    /// The source said that it was finished.
    Closed,
    Reset,
    Stopped,
    Deadline,
}

/// `bytes` are those behind the token.
#[derive(Debug, Serialize)]
pub struct Drained {
    bytes: u64,
    first_ns: Option<u64>,
    last_ns: Option<u64>,
    ended: End,
    corrupt_samples: u64,
    strangers: u64,
    intervals: Vec<Interval>,
    tcp_info: Option<TcpInfo>,
}

pub fn run(parameters: &Parameters, context: &Context) -> Result<Drained, Failure> {
    let listener = listen(parameters)?;
    let interrupt = context
        .stop
        .interrupts(&listener)
        .map_err(during("tcp_sink"))?;
    let address = listener.local_addr().map_err(during("own port"))?;
    let port = address.as_socket().map_or(0, |address| address.port());
    context.ready(Listening { port });
    let deadline_ns = clock::monotonic_ns() + parameters.duration_max_s.ns();

    let mut drained = Drained {
        bytes: 0,
        first_ns: None,
        last_ns: None,
        ended: End::Deadline,
        corrupt_samples: 0,
        strangers: 0,
        intervals: Vec::new(),
        tcp_info: None,
    };
    while !context.stop.asked() && clock::monotonic_ns() < deadline_ns {
        let Some(connection) = accept(&listener)? else {
            continue;
        };
        let _interrupt = context
            .stop
            .interrupts(&connection)
            .map_err(during("tcp_sink"))?;
        if !shows_token(&connection, &parameters.token) {
            drained.strangers += 1;
            continue;
        }
        // Nobody else may come in from here on.
        drop((listener, interrupt));
        drain(&connection, parameters, deadline_ns, context, &mut drained)?;
        return Ok(drained);
    }
    if context.stop.asked() {
        drained.ended = End::Stopped;
    }
    Ok(drained)
}

fn listen(parameters: &Parameters) -> Result<Socket, Failure> {
    let address = SocketAddr::new(parameters.bind, parameters.port);
    let listener = socket::tcp_socket(parameters.bind)?;
    if let Some(bytes) = parameters.receive_buffer {
        socket::set_receive_buffer(&listener, bytes)?;
    }
    listener
        .set_reuse_address(true)
        .and_then(|()| listener.bind(&address.into()))
        .and_then(|()| listener.listen(8))
        // On Linux the receive timeout holds for accept as well.
        .and_then(|()| listener.set_read_timeout(Some(TOKEN_TIMEOUT)))
        .map_err(during(format!("listen on TCP {address}")))?;
    Ok(listener)
}

/// The next connection; None if none came within the listener's timeout or it was shut down.
fn accept(listener: &Socket) -> Result<Option<Socket>, Failure> {
    match listener.accept() {
        Ok((connection, _)) => Ok(Some(connection)),
        Err(error) => match error.raw_os_error() {
            // EINVAL: shut down to wake us; the others: a caller that gave up, or nobody.
            Some(libc::EINVAL | libc::EAGAIN | libc::ECONNABORTED | libc::EINTR) => Ok(None),
            _ => Err(Failure::io("tcp_sink: accept", &error)),
        },
    }
}

fn shows_token(mut connection: &Socket, token: &Token) -> bool {
    let mut shown = [0; 16];
    connection.set_read_timeout(Some(TOKEN_TIMEOUT)).is_ok()
        && connection.read_exact(&mut shown).is_ok()
        && shown == token.0
}

fn drain(
    mut connection: &Socket,
    parameters: &Parameters,
    deadline_ns: u64,
    context: &Context,
    drained: &mut Drained,
) -> Result<(), Failure> {
    connection
        .set_read_timeout(Some(socket::look_every(parameters.interval_ms)))
        .map_err(during("tcp_sink: set a timeout"))?;
    let expected = parameters.canary.as_ref().map(Expected::new);
    let mut buffer = vec![0; BUFFER];
    let mut ticker = Ticker::new(clock::monotonic_ns(), parameters.interval_ms);
    let mut boundary_bytes = 0;
    drained.ended = loop {
        let read = connection.read(&mut buffer);
        let now_ns = clock::monotonic_ns();
        let ended = match read {
            Ok(0) if context.stop.asked() => Some(End::Stopped),
            Ok(0) => Some(End::Closed),
            Ok(length) => {
                if let Some(expected) = &expected {
                    let matches = expected.matches(drained.bytes, &buffer[..length]);
                    drained.corrupt_samples += u64::from(!matches);
                }
                drained.bytes += length as u64;
                drained.first_ns.get_or_insert(now_ns);
                drained.last_ns = Some(now_ns);
                (now_ns >= deadline_ns).then_some(End::Deadline)
            }
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {
                (now_ns >= deadline_ns).then_some(End::Deadline)
            }
            Err(error) if error.kind() == ErrorKind::ConnectionReset => Some(End::Reset),
            Err(error) => return Err(Failure::io("tcp_sink: receive", &error)),
        };
        if ended.is_some() || ticker.passed(now_ns) {
            let interval = Interval {
                t_ns: now_ns,
                bytes: drained.bytes - boundary_bytes,
            };
            boundary_bytes = drained.bytes;
            context.interval(&interval);
            drained.intervals.push(interval);
        }
        if let Some(ended) = ended {
            break ended;
        }
    };
    drained.tcp_info = TcpInfo::of(connection).ok();
    Ok(())
}

/// The canary at any position of the stream.
struct Expected {
    period: usize,
    repeated: Vec<u8>,
}

impl Expected {
    fn new(canary: &Canary) -> Expected {
        let period = canary.bytes().len();
        Expected {
            period,
            repeated: canary.repeated(period + SAMPLE),
        }
    }

    fn matches(&self, position: u64, read: &[u8]) -> bool {
        let sample = &read[..read.len().min(SAMPLE)];
        let start = (position % self.period as u64) as usize;
        self.repeated[start..start + sample.len()] == *sample
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_stream_of_canaries_matches_everywhere(position in 0_u64..10_000, length in 0_usize..200) {
            let canary = Canary::default();
            let stream = canary.repeated(position as usize + length);
            let mut read = stream[position as usize..].to_vec();
            let expected = Expected::new(&canary);
            prop_assert!(expected.matches(position, &read));
            if let Some(first) = read.first_mut() {
                *first ^= 1;
                prop_assert!(!expected.matches(position, &read));
            }
        }
    }
}
