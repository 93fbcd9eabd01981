//! Callers that have not shown the token yet: each has its own time for it, and none holds up
//! another.

use crate::clock;
use crate::failure::{Failure, during};
use crate::stop::Stop;
use crate::tasks::tcp_sink::accept;
use crate::values::Token;
use nix::poll::{PollFd, PollFlags};
use socket2::Socket;
use std::collections::VecDeque;
use std::io::{ErrorKind, Read};
use std::os::fd::AsFd;
use std::time::Duration;

/// How long a caller may take to show the token, however it spreads the bytes.
pub const TOKEN_TIMEOUT: Duration = Duration::from_secs(2);
/// Beyond so many callers the one that has waited longest is turned away.
const MOST_WAITING: usize = 256;

pub struct Admitted {
    /// Blocking, with exactly the token read from each.
    pub connections: Vec<Socket>,
    pub strangers: u64,
}

/// Accepts until `streams` callers have shown the token, the time has come or the task is to
/// end. Callers that have not shown it by then count as strangers.
pub fn admit(
    listener: &Socket,
    token: &Token,
    streams: usize,
    deadline_ns: u64,
    stop: &Stop,
) -> Result<Admitted, Failure> {
    listener
        .set_nonblocking(true)
        .map_err(during("tcp_sink: accept"))?;
    let mut waiting: VecDeque<Caller> = VecDeque::new();
    let mut admitted = Admitted {
        connections: Vec::new(),
        strangers: 0,
    };
    while !stop.asked() {
        let now_ns = clock::monotonic_ns();
        if now_ns >= deadline_ns {
            break;
        }
        while let Some(connection) = accept(listener)? {
            if waiting.len() == MOST_WAITING {
                waiting.pop_front();
                admitted.strangers += 1;
            }
            waiting.extend(Caller::new(connection, now_ns));
        }
        for mut caller in std::mem::take(&mut waiting) {
            match caller.look(token, now_ns) {
                Shown::NotYet => waiting.push_back(caller),
                Shown::Other => admitted.strangers += 1,
                Shown::Token if admitted.connections.len() == streams => admitted.strangers += 1,
                Shown::Token => {
                    let blocking = caller.connection.set_nonblocking(false);
                    blocking.map_err(during("tcp_sink: accept"))?;
                    admitted.connections.push(caller.connection);
                }
            }
        }
        if admitted.connections.len() == streams {
            break;
        }
        let next_ns = waiting
            .front()
            .map_or(deadline_ns, |caller| caller.until_ns);
        let sockets = std::iter::once(listener).chain(waiting.iter().map(|c| &c.connection));
        let mut polled: Vec<PollFd<'_>> = sockets
            .map(|socket| PollFd::new(socket.as_fd(), PollFlags::POLLIN))
            .collect();
        stop.wait_any_readable(&mut polled, next_ns.min(deadline_ns));
    }
    admitted.strangers += waiting.len() as u64;
    Ok(admitted)
}

enum Shown {
    NotYet,
    Token,
    Other,
}

struct Caller {
    connection: Socket,
    shown: [u8; 16],
    length: usize,
    until_ns: u64,
}

impl Caller {
    /// None if the connection has broken already.
    fn new(connection: Socket, now_ns: u64) -> Option<Caller> {
        connection.set_nonblocking(true).ok()?;
        Some(Caller {
            connection,
            shown: [0; 16],
            length: 0,
            until_ns: now_ns + TOKEN_TIMEOUT.as_nanos() as u64,
        })
    }

    /// Reads what has come, never a byte behind the token.
    fn look(&mut self, token: &Token, now_ns: u64) -> Shown {
        while self.length < self.shown.len() {
            match { &self.connection }.read(&mut self.shown[self.length..]) {
                Ok(0) => return Shown::Other,
                Ok(length) => self.length += length,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock && now_ns < self.until_ns => {
                    return Shown::NotYet;
                }
                Err(_) => return Shown::Other,
            }
        }
        if self.shown == token.0 {
            Shown::Token
        } else {
            Shown::Other
        }
    }
}
