//! `tcp_responder`: answers requests over TCP: for request/response, connect rates and echo.
//!
//! A connection starts with the token, the sizes of requests and responses (32 bits each,
//! big-endian) and one byte: 1 if it ends after one response.

use crate::net::socket;
use crate::net::tcp_info::TcpInfo;
use crate::packet::header::{Header, Kind, make_reply};
use crate::protocol::failure::{Failure, during};
use crate::protocol::values::{Seconds, Token};
use crate::tasks::context::{Context, Listening};
use crate::tasks::tcp::lobby::{GREETING_TIMEOUT, Lobby};
use crate::timing::clock;
use serde::{Deserialize, Serialize};
use socket2::Socket;
use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// The longest request and response.
pub const MAX_MESSAGE: u32 = 1 << 20;
const GREETING: usize = 25;
const MAX_CONNECTIONS: u64 = 1024;

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
    last_ns: AtomicU64,
}

pub fn run(parameters: &Parameters, context: &Context) -> Result<Responded, Failure> {
    let address = SocketAddr::new(parameters.bind, parameters.port);
    let listener = socket::tcp_socket(parameters.bind)?;
    socket::listen_tcp(&listener, address, GREETING_TIMEOUT)?;
    let address = listener.local_addr().map_err(during("own port"))?;
    context.ready(Listening {
        port: address.as_socket().map_or(0, |address| address.port()),
    });
    let counts = Counts::default();
    counts
        .last_ns
        .store(clock::monotonic_ns(), Ordering::Relaxed);
    let mut strangers = 0;
    std::thread::scope(|scope| -> Result<(), Failure> {
        let mut lobby = Lobby::<GREETING>::new(&listener)?;
        while !context.stop.requested() {
            for (connection, shown) in lobby.shown()? {
                let greeting = Greeting::read(&shown, &parameters.token);
                let free = counts.open.load(Ordering::Relaxed) < MAX_CONNECTIONS;
                let Some(greeting) = greeting.filter(|_| free) else {
                    strangers += 1;
                    continue;
                };
                counts.open.fetch_add(1, Ordering::Relaxed);
                let counts = &counts;
                scope.spawn(move || {
                    // A connection that breaks is the caller's to report.
                    let _ = respond(connection, greeting, &parameters.token, counts, context);
                    counts.open.fetch_sub(1, Ordering::Relaxed);
                });
            }
            let last_ns = counts.last_ns.load(Ordering::Relaxed);
            let idle_until_ns = last_ns + parameters.idle_s.ns();
            if clock::monotonic_ns() >= idle_until_ns {
                // Wakes threads that still wait for a request.
                context.stop.request();
            } else {
                lobby.wait(&context.stop, idle_until_ns);
            }
        }
        strangers += lobby.strangers();
        Ok(())
    })?;
    Ok(Responded {
        connections: counts.connections.into_inner(),
        responses: counts.responses.into_inner(),
        strangers,
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
        info.add_to(&mut all);
    }
}

fn respond(
    connection: Socket,
    greeting: Greeting,
    token: &Token,
    counts: &Counts,
    context: &Context,
) -> std::io::Result<()> {
    let _interrupt = context.stop.interrupts(&connection)?;
    connection.set_tcp_nodelay(true)?;
    counts.connections.fetch_add(1, Ordering::Relaxed);
    connection.set_read_timeout(None)?;
    let request_size = greeting.request_size as usize;
    let response_size = greeting.response_size as usize;
    let mut message = vec![0; request_size.max(response_size)];
    let _counted = Counted {
        connection: &connection,
        counts,
    };
    let mut filled = false;
    loop {
        { &connection }.read_exact(&mut message[..request_size])?;
        if !std::mem::replace(&mut filled, true) {
            // What is longer than the request carries its marks as well.
            for at in request_size..message.len() {
                message[at] = message[at - request_size];
            }
        }
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
