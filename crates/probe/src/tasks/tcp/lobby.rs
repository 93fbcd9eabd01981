//! Callers that have not shown yet whether they belong to the session: each has its own time for
//! it, none holds up another, and together they take a share of the descriptors only.

use crate::protocol::failure::{Failure, during};
use crate::timing::clock;
use crate::timing::stop::Stop;
use nix::poll::{PollFd, PollFlags};
use nix::sys::resource::{Resource, getrlimit};
use socket2::Socket;
use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read};
use std::os::fd::AsFd;
use std::time::Duration;

/// How long a caller may take for its first bytes, however it spreads them.
pub const GREETING_TIMEOUT: Duration = Duration::from_secs(2);
/// Beyond so many callers the one that has waited longest is turned away.
const MOST_WAITING: usize = 256;
/// The part of the process's descriptors that callers may take.
const SHARE: u64 = 4;

/// The callers of a listener that first sends `N` bytes each.
pub struct Lobby<'a, const N: usize> {
    listener: &'a Socket,
    waiting: VecDeque<Caller<N>>,
    most: usize,
    turned_away: u64,
}

impl<'a, const N: usize> Lobby<'a, N> {
    pub fn new(listener: &'a Socket) -> Result<Lobby<'a, N>, Failure> {
        listener.set_nonblocking(true).map_err(during(ACCEPT))?;
        let (descriptors, _) = getrlimit(Resource::RLIMIT_NOFILE).unwrap_or((0, 0));
        let share = usize::try_from(descriptors / SHARE).unwrap_or(MOST_WAITING);
        Ok(Lobby {
            listener,
            waiting: VecDeque::new(),
            most: share.clamp(1, MOST_WAITING),
            turned_away: 0,
        })
    }

    /// Callers that have shown their bytes: blocking connections, with exactly those read.
    pub fn shown(&mut self) -> Result<Vec<(Socket, [u8; N])>, Failure> {
        let now_ns = clock::monotonic_ns();
        self.let_in(now_ns)?;
        let mut shown = Vec::new();
        for mut caller in std::mem::take(&mut self.waiting) {
            match caller.look(now_ns) {
                Shown::NotYet => self.waiting.push_back(caller),
                Shown::Nothing => self.turned_away += 1,
                Shown::All => {
                    let blocking = caller.connection.set_nonblocking(false);
                    blocking.map_err(during(ACCEPT))?;
                    shown.push((caller.connection, caller.shown));
                }
            }
        }
        Ok(shown)
    }

    /// Waits until there may be something to look at, for a request to end, or for the time.
    pub fn wait(&self, stop: &Stop, until_ns: u64) {
        let first = self.waiting.front();
        let next_ns = first.map_or(until_ns, |caller| caller.until_ns.min(until_ns));
        let callers = self.waiting.iter().map(|caller| &caller.connection);
        let mut polled: Vec<PollFd<'_>> = std::iter::once(self.listener)
            .chain(callers)
            .map(|socket| PollFd::new(socket.as_fd(), PollFlags::POLLIN))
            .collect();
        stop.wait_any_readable(&mut polled, next_ns);
    }

    /// Callers that did not show their bytes in time, those that still wait included.
    pub fn strangers(&self) -> u64 {
        self.turned_away + self.waiting.len() as u64
    }

    /// A flood of callers must not keep those that are inside from being looked at.
    fn let_in(&mut self, now_ns: u64) -> Result<(), Failure> {
        for _ in 0..MOST_WAITING {
            match self.listener.accept() {
                Ok((connection, _)) => {
                    if self.waiting.len() == self.most {
                        self.turn_away_oldest();
                    }
                    self.waiting.extend(Caller::new(connection, now_ns));
                }
                Err(error) => match error.raw_os_error() {
                    // EINVAL: shut down to wake us; the others: a caller that gave up, or none.
                    Some(libc::EINVAL | libc::EAGAIN | libc::EINTR) => return Ok(()),
                    Some(libc::ECONNABORTED) => {}
                    // Others of this process have taken the rest.
                    Some(libc::EMFILE | libc::ENFILE) if self.turn_away_oldest() => {}
                    _ => return Err(Failure::io(ACCEPT, &error)),
                },
            }
        }
        Ok(())
    }

    fn turn_away_oldest(&mut self) -> bool {
        let oldest = self.waiting.pop_front();
        self.turned_away += u64::from(oldest.is_some());
        oldest.is_some()
    }
}

const ACCEPT: &str = "accept TCP";

enum Shown {
    NotYet,
    All,
    Nothing,
}

struct Caller<const N: usize> {
    connection: Socket,
    shown: [u8; N],
    length: usize,
    until_ns: u64,
}

impl<const N: usize> Caller<N> {
    /// None if the connection has broken already.
    fn new(connection: Socket, now_ns: u64) -> Option<Caller<N>> {
        connection.set_nonblocking(true).ok()?;
        Some(Caller {
            connection,
            shown: [0; N],
            length: 0,
            until_ns: now_ns + GREETING_TIMEOUT.as_nanos() as u64,
        })
    }

    /// Reads what has come, never a byte behind the first `N`.
    fn look(&mut self, now_ns: u64) -> Shown {
        while self.length < N {
            match { &self.connection }.read(&mut self.shown[self.length..]) {
                Ok(0) => return Shown::Nothing,
                Ok(length) => self.length += length,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if is_early(&error) && now_ns < self.until_ns => return Shown::NotYet,
                Err(_) => return Shown::Nothing,
            }
        }
        Shown::All
    }
}

fn is_early(error: &io::Error) -> bool {
    error.kind() == ErrorKind::WouldBlock
}
