//! `tcp_responder`: answers requests over TCP: for request/response, connect rates and echo.
//!
//! A connection starts with the token, the sizes of requests and responses (32 bits each,
//! big-endian) and one byte: 1 if it ends after one response.

use crate::clock;
use crate::context::{Context, Listening};
use crate::failure::{Failure, during};
use crate::net::socket;
use crate::net::tcp_info::TcpInfo;
use crate::packet::header::{Header, Kind, make_reply};
use crate::tasks::tcp_sink::accept;
use crate::values::{Seconds, Token};
use serde::{Deserialize, Serialize};
use socket2::Socket;
use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The longest request and response.
pub const MAX_MESSAGE: u32 = 1 << 20;
const GREETING: usize = 25;
const MAX_CONNECTIONS: u64 = 1024;
const GREETING_TIMEOUT: Duration = Duration::from_secs(2);

/// A caller's first message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Greeting {
    pub request_size: u32,
    pub response_size: u32,
    /// The connection ends after one response, closed by the responder: the caller, which is the
    /// one to run out of ports, keeps none in TIME_WAIT.
    pub once: bool,
}

impl Greeting {
    pub fn bytes(&self, token: &Token) -> [u8; GREETING] {
        let mut bytes = [0; GREETING];
        bytes[..16].copy_from_slice(&token.0);
        bytes[16..20].copy_from_slice(&self.request_size.to_be_bytes());
        bytes[20..24].copy_from_slice(&self.response_size.to_be_bytes());
        bytes[24] = u8::from(self.once);
        bytes
    }

    /// None for a stranger, or for sizes out of range.
    pub fn read(bytes: &[u8; GREETING], token: &Token) -> Option<Greeting> {
        let word = |at: usize| {
            bytes[at..]
                .first_chunk()
                .map(|word| u32::from_be_bytes(*word))
        };
        let greeting = Greeting {
            request_size: word(16)?,
            response_size: word(20)?,
            once: bytes[24] == 1,
        };
        let fits = |size| (1..=MAX_MESSAGE).contains(&size);
        (bytes[..16] == token.0 && fits(greeting.request_size) && fits(greeting.response_size))
            .then_some(greeting)
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    bind: IpAddr,
    #[serde(default)]
    port: u16,
    token: Token,
    /// Ends after so long without a request.
    idle_s: Seconds,
}

#[derive(Debug, Serialize)]
pub struct Responded {
    connections: u64,
    responses: u64,
    strangers: u64,
    /// Of all connections together; `None` of no connection.
    tcp_info: Option<TcpInfo>,
}

#[derive(Default)]
struct Counts {
    tcp_info: Mutex<Option<TcpInfo>>,
    open: AtomicU64,
    connections: AtomicU64,
    responses: AtomicU64,
    strangers: AtomicU64,
    last_ns: AtomicU64,
}

pub fn run(parameters: &Parameters, context: &Context) -> Result<Responded, Failure> {
    let address = SocketAddr::new(parameters.bind, parameters.port);
    let listener = socket::tcp_socket(parameters.bind)?;
    let look = parameters.idle_s.duration().min(Duration::from_millis(100));
    socket::listen_tcp(&listener, address, look)?;
    let _interrupt = context
        .stop
        .interrupts(&listener)
        .map_err(during("tcp_responder"))?;
    let address = listener.local_addr().map_err(during("own port"))?;
    context.ready(Listening {
        port: address.as_socket().map_or(0, |address| address.port()),
    });
    let counts = Counts::default();
    counts
        .last_ns
        .store(clock::monotonic_ns(), Ordering::Relaxed);
    std::thread::scope(|scope| -> Result<(), Failure> {
        while !context.stop.asked() {
            if let Some(connection) = accept(&listener)?
                && counts.open.load(Ordering::Relaxed) < MAX_CONNECTIONS
            {
                counts.open.fetch_add(1, Ordering::Relaxed);
                let counts = &counts;
                scope.spawn(move || {
                    // A connection that breaks is the caller's to tell.
                    let _ = respond(connection, &parameters.token, counts, context);
                    counts.open.fetch_sub(1, Ordering::Relaxed);
                });
            }
            let last_ns = counts.last_ns.load(Ordering::Relaxed);
            if clock::monotonic_ns().saturating_sub(last_ns) >= parameters.idle_s.ns() {
                // Wakes threads that still wait for a request.
                context.stop.ask();
            }
        }
        Ok(())
    })?;
    Ok(Responded {
        connections: counts.connections.into_inner(),
        responses: counts.responses.into_inner(),
        strangers: counts.strangers.into_inner(),
        tcp_info: counts
            .tcp_info
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner),
    })
}

/// A connection of the session: when it ends, the kernel's figures of it are added up.
struct Counted<'a> {
    connection: &'a Socket,
    counts: &'a Counts,
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        let Ok(info) = TcpInfo::of(self.connection) else {
            return;
        };
        let all = self.counts.tcp_info.lock();
        let mut all = all.unwrap_or_else(PoisonError::into_inner);
        *all = Some(all.map_or(info, |all| all.plus(&info)));
    }
}

/// Fills the buffer within that time in all, however the bytes are spread.
fn read_within(
    mut connection: &Socket,
    buffer: &mut [u8],
    timeout: Duration,
) -> std::io::Result<()> {
    let end = Instant::now() + timeout;
    let mut filled = 0;
    while filled < buffer.len() {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(ErrorKind::TimedOut.into());
        }
        connection.set_read_timeout(Some(left))?;
        match connection.read(&mut buffer[filled..]) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(length) => filled += length,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn respond(
    connection: Socket,
    token: &Token,
    counts: &Counts,
    context: &Context,
) -> std::io::Result<()> {
    let _interrupt = context.stop.interrupts(&connection)?;
    connection.set_tcp_nodelay(true)?;
    let mut greeting = [0; GREETING];
    let read = read_within(&connection, &mut greeting, GREETING_TIMEOUT);
    let Some(greeting) = read.ok().and_then(|()| Greeting::read(&greeting, token)) else {
        counts.strangers.fetch_add(1, Ordering::Relaxed);
        return Ok(());
    };
    counts.connections.fetch_add(1, Ordering::Relaxed);
    connection.set_read_timeout(None)?;
    let request_size = greeting.request_size as usize;
    let response_size = greeting.response_size as usize;
    let mut message = vec![0; request_size.max(response_size)];
    let _counted = Counted {
        connection: &connection,
        counts,
    };
    loop {
        { &connection }.read_exact(&mut message[..request_size])?;
        let request = &mut message[..request_size];
        let header = Header::read(request, token.tag());
        if header.is_some_and(|header| header.kind == Kind::Request) {
            make_reply(request);
        }
        { &connection }.write_all(&message[..response_size])?;
        counts.responses.fetch_add(1, Ordering::Relaxed);
        counts
            .last_ns
            .store(clock::monotonic_ns(), Ordering::Relaxed);
        if greeting.once {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn there_and_back(request_size in 1..=MAX_MESSAGE, response_size in 1..=MAX_MESSAGE, once: bool) {
            let greeting = Greeting { request_size, response_size, once };
            let token = Token([7; 16]);
            prop_assert_eq!(Greeting::read(&greeting.bytes(&token), &token), Some(greeting));
            prop_assert_eq!(Greeting::read(&greeting.bytes(&token), &Token([8; 16])), None);
        }
    }

    #[test]
    fn sizes_out_of_range_are_refused() {
        let token = Token([7; 16]);
        for (request_size, response_size) in [(0, 1), (1, 0), (1, MAX_MESSAGE + 1)] {
            let greeting = Greeting {
                request_size,
                response_size,
                once: false,
            };
            assert_eq!(Greeting::read(&greeting.bytes(&token), &token), None);
        }
    }
}
