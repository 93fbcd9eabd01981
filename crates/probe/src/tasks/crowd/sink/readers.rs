//! One thread's members that receive.

use super::super::Waiting;
use super::parameters::Parameters;
use crate::net::batch::receive::ReceiveBatch;
use crate::net::socket;
use crate::packet::header::{Header, Kind, MAX_PAYLOAD, PayloadCheck};
use crate::protocol::failure::{Failure, during};
use crate::protocol::values::{Canary, Token};
use crate::results::forwarded::{Forwarded, Forwarding, Joint};
use crate::results::latency::Latency;
use crate::results::one_way::Clock;
use crate::results::sequence::{Arrival, Sequence};
use crate::tasks::context::Context;
use crate::timing::clock;
use crate::timing::stop::Stop;
use nix::sys::epoll::EpollFlags;
use serde::Serialize;
use socket2::Socket;
use std::io::{ErrorKind, Read};
use std::net::UdpSocket;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Messages that one call takes.
const BATCH: usize = 128;
/// Where the kernel stamps packets they are gathered for so long before they are read.
const GATHER_NS: u64 = 500_000;
const BUFFER: usize = 256 * 1024;
/// How much of what each call reads from a stream is compared with the canary.
const SAMPLE: usize = 64;

/// Which bytes are counted, since the beginning that is requested, and in which intervals.
#[derive(Clone)]
pub struct Window {
    pub begun_ns: u64,
    pub counted: Option<(u64, u64)>,
    pub stop: Arc<Stop>,
    pub step_ns: u64,
}

impl Window {
    fn counts(&self, arrived_ns: u64) -> bool {
        let Some((from_ns, to_ns)) = self.counted else {
            return true;
        };
        let begins_ns = self.stop.begins_ns();
        let since_ns = begins_ns.and_then(|begins_ns| arrived_ns.checked_sub(begins_ns));
        since_ns.is_some_and(|since_ns| (from_ns..to_ns).contains(&since_ns))
    }
}

/// What the threads of a sink of UDP received together.
pub struct Together {
    /// Members from which nothing has come.
    silent: AtomicUsize,
    /// Packets, duplicates counted once.
    distinct: AtomicU64,
    /// When the first packet of any member arrived.
    first_ns: AtomicU64,
}

impl Together {
    pub fn new(members: usize) -> Together {
        Together {
            silent: AtomicUsize::new(members),
            distinct: AtomicU64::new(0),
            first_ns: AtomicU64::new(u64::MAX),
        }
    }

    /// The time since the first packet of any member; this one may be the first.
    fn since_first_ns(&self, arrived_ns: u64) -> u64 {
        let first_ns = self.first_ns.fetch_min(arrived_ns, Ordering::Relaxed);
        arrived_ns.saturating_sub(first_ns)
    }

    pub fn first_ns(&self) -> u64 {
        self.first_ns.load(Ordering::Relaxed)
    }
}

/// What one member's sink received. `counted_bytes` are those of the window, without duplicates.
#[derive(Debug, Default, Serialize)]
pub struct Book {
    packets: u64,
    bytes: u64,
    counted_bytes: u64,
    lost: u64,
    duplicates: u64,
    duplicate_bytes: u64,
    reordered: u64,
    corrupt: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    forwarded: Option<Forwarded>,
    first_ns: Option<u64>,
    last_ns: Option<u64>,
    socket_drops: Option<u32>,
}

/// The books of a thread's members, by their numbers.
#[derive(Default)]
pub struct Reader {
    pub books: Vec<(usize, Book)>,
    pub strangers: u64,
    pub delays: Latency,
    pub joint: Option<Joint>,
    /// Packets and bytes of each interval.
    pub slots: Vec<(u64, u64)>,
}

impl Reader {
    fn add(&mut self, key: usize, window: &Window, arrived_ns: u64, bytes: u64, counts: bool) {
        let book = &mut self.books[key].1;
        book.packets += 1;
        book.bytes += bytes;
        if counts && window.counts(arrived_ns) {
            book.counted_bytes += bytes;
        }
        book.first_ns.get_or_insert(arrived_ns);
        book.last_ns = Some(arrived_ns);
        let slot = (arrived_ns.saturating_sub(window.begun_ns) / window.step_ns) as usize;
        if self.slots.len() <= slot {
            self.slots.resize(slot + 1, (0, 0));
        }
        self.slots[slot].0 += 1;
        self.slots[slot].1 += bytes;
    }
}

/// One member's socket, and what is known of its packets.
struct Receiver {
    socket: UdpSocket,
    sequence: Sequence,
    forwarding: Option<Forwarding>,
}

/// UDP.
pub struct Datagrams<'a> {
    members: Vec<Receiver>,
    reader: Reader,
    batch: ReceiveBatch,
    waiting: Waiting,
    window: Window,
    check: PayloadCheck,
    parameters: &'a Parameters,
    together: &'a Together,
}

impl<'a> Datagrams<'a> {
    pub fn new(
        lane: Vec<(usize, UdpSocket)>,
        parameters: &'a Parameters,
        window: Window,
        together: &'a Together,
    ) -> Result<Datagrams<'a>, Failure> {
        let waiting = Waiting::new()?;
        let mut reader = Reader {
            joint: parameters.offer.map(Joint::new),
            ..Reader::default()
        };
        let mut members = Vec::new();
        let batch = ReceiveBatch::new(&lane[0].1, BATCH, MAX_PAYLOAD, true);
        for (key, (number, socket)) in lane.into_iter().enumerate() {
            ReceiveBatch::prepare(&socket, true);
            waiting.add(&socket, EpollFlags::EPOLLIN, key)?;
            reader.books.push((number, Book::default()));
            members.push(Receiver {
                socket,
                sequence: Sequence::default(),
                forwarding: parameters.offer.map(Forwarding::new),
            });
        }
        Ok(Datagrams {
            members,
            reader,
            batch,
            waiting,
            window,
            check: PayloadCheck::new(&parameters.canary),
            parameters,
            together,
        })
    }

    /// Until a request to end, and then until all has come or nothing has for the quiet time.
    pub fn read(&mut self, context: &Context) -> Result<(), Failure> {
        let deadline_ns = clock::monotonic_ns() + self.parameters.duration_max_s.ns();
        let quiet_ns = u64::from(self.parameters.quiet_ms) * 1_000_000;
        let mut quiet_since_ns = None;
        loop {
            let ready = self
                .waiting
                .ready(deadline_ns.saturating_sub(clock::monotonic_ns()));
            let (mut full, mut ours) = (false, false);
            for key in ready {
                let taken = self.take(key)?;
                full |= taken.0 == self.batch.capacity();
                ours |= taken.1;
            }
            let now_ns = clock::monotonic_ns();
            let all =
                self.parameters.until_all && self.together.silent.load(Ordering::Relaxed) == 0;
            if now_ns >= deadline_ns || all {
                return Ok(());
            }
            if context.stop.requested() {
                let since_ns = quiet_since_ns.get_or_insert(now_ns);
                if ours {
                    *since_ns = now_ns;
                }
                let distinct = self.together.distinct.load(Ordering::Relaxed);
                if now_ns >= *since_ns + quiet_ns || context.stop.is_all(distinct) {
                    return Ok(());
                }
            } else if !full && self.batch.stamped() {
                context.stop.wait_until(now_ns + GATHER_NS);
            }
        }
    }

    /// Messages taken, and whether one was of the session.
    fn take(&mut self, key: usize) -> Result<(usize, bool), Failure> {
        let member = &mut self.members[key];
        let taken = self
            .batch
            .receive_now(&member.socket)
            .map_err(during("receive UDP"))?;
        let tag = self.parameters.token.tag();
        let (mut ours, mut distinct) = (false, 0);
        for datagram in self.batch.datagrams() {
            let header = Header::read(datagram.bytes, tag).filter(|one| one.kind == Kind::Data);
            let Some(header) = header else {
                self.reader.strangers += 1;
                continue;
            };
            ours = true;
            let bytes = datagram.bytes.len() as u64;
            let again = member.sequence.record(header.sequence) == Arrival::Duplicate;
            distinct += u64::from(!again);
            let book = &mut self.reader.books[key].1;
            if book.packets == 0 {
                self.together.silent.fetch_sub(1, Ordering::Relaxed);
            }
            book.duplicate_bytes += if again { bytes } else { 0 };
            book.corrupt += u64::from(!self.check.intact(datagram.bytes));
            if let Some(forwarding) = member.forwarding.as_mut().filter(|_| !again) {
                forwarding.record(header.time_ns, datagram.arrived_ns, bytes);
            }
            if let Some(joint) = self.reader.joint.as_mut().filter(|_| !again) {
                joint.record(self.together.since_first_ns(datagram.arrived_ns), bytes);
            }
            if self.parameters.clock == Clock::Shared && !again {
                let delay_ns = datagram.arrived_ns.saturating_sub(header.time_ns);
                self.reader.delays.record(delay_ns);
            }
            self.reader
                .add(key, &self.window, datagram.arrived_ns, bytes, !again);
        }
        self.together
            .distinct
            .fetch_add(distinct, Ordering::Relaxed);
        Ok((taken, ours))
    }

    /// The books, and the sockets to keep open.
    pub fn end(mut self) -> (Reader, Vec<UdpSocket>) {
        let mut sockets = Vec::new();
        for (member, (_, book)) in self.members.into_iter().zip(&mut self.reader.books) {
            book.lost = member.sequence.lost();
            book.duplicates = member.sequence.duplicates;
            book.reordered = member.sequence.reordered;
            book.forwarded = member.forwarding.as_ref().map(Forwarding::result);
            book.socket_drops = socket::socket_drops(&member.socket);
            sockets.push(member.socket);
        }
        (self.reader, sockets)
    }
}

pub struct Listener(pub Socket);

impl Listener {
    pub fn port(&self) -> Result<u16, Failure> {
        let address = self.0.local_addr().map_err(during("own port"))?;
        Ok(address.as_socket().map_or(0, |address| address.port()))
    }
}

/// What a member's descriptor is.
enum State {
    Listening(Socket),
    /// So many bytes of the token came, and were as expected.
    Token(Socket, Vec<u8>),
    Open(Socket),
    Closed,
}

/// TCP: one connection for each member, the first that begins with the token.
pub struct Streams<'a> {
    members: Vec<State>,
    reader: Reader,
    waiting: Waiting,
    window: Window,
    parameters: &'a Parameters,
    buffer: Vec<u8>,
    expected: Vec<u8>,
    period: usize,
}

impl<'a> Streams<'a> {
    pub fn new(
        lane: Vec<(usize, Listener)>,
        parameters: &'a Parameters,
        window: Window,
    ) -> Result<Streams<'a>, Failure> {
        let waiting = Waiting::new()?;
        let mut reader = Reader::default();
        let mut members = Vec::new();
        for (key, (number, listener)) in lane.into_iter().enumerate() {
            waiting.add(&listener.0, EpollFlags::EPOLLIN, key)?;
            reader.books.push((number, Book::default()));
            members.push(State::Listening(listener.0));
        }
        let period = parameters.canary.bytes().len();
        Ok(Streams {
            members,
            reader,
            waiting,
            window,
            parameters,
            buffer: vec![0; BUFFER],
            expected: expected(&parameters.canary),
            period,
        })
    }

    /// Until a request to end, and then what was acknowledged and is still in the sockets' queues.
    pub fn read(&mut self, context: &Context) -> Result<(), Failure> {
        let deadline_ns = clock::monotonic_ns() + self.parameters.duration_max_s.ns();
        loop {
            let stopped = context.stop.requested();
            let left_ns = deadline_ns.saturating_sub(clock::monotonic_ns());
            let ready = self.waiting.ready(if stopped { 0 } else { left_ns });
            if left_ns == 0 || (stopped && ready.is_empty()) {
                return Ok(());
            }
            for key in ready {
                let state = std::mem::replace(&mut self.members[key], State::Closed);
                self.members[key] = self.advance(key, state)?;
            }
        }
    }

    fn advance(&mut self, key: usize, state: State) -> Result<State, Failure> {
        match state {
            State::Listening(listener) => {
                let Ok((connection, _)) = listener.accept() else {
                    return Ok(State::Listening(listener));
                };
                connection
                    .set_nonblocking(true)
                    .map_err(during("accept TCP"))?;
                self.waiting.add(&connection, EpollFlags::EPOLLIN, key)?;
                Ok(State::Token(connection, Vec::new()))
            }
            State::Token(connection, mut found) => {
                let mut rest = vec![0; size_of::<Token>() - found.len()];
                match (&connection).read(&mut rest) {
                    Ok(0) => return Ok(State::Closed),
                    Ok(length) => found.extend(&rest[..length]),
                    Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                    Err(_) => return Ok(State::Closed),
                }
                if found == self.parameters.token.0 {
                    return Ok(State::Open(connection));
                }
                if !self.parameters.token.0.starts_with(&found) {
                    self.reader.strangers += 1;
                    return Ok(State::Closed);
                }
                Ok(State::Token(connection, found))
            }
            State::Open(connection) => {
                let read = (&connection).read(&mut self.buffer);
                match read {
                    Ok(0) => Ok(State::Closed),
                    Ok(length) => {
                        self.count(key, length);
                        Ok(State::Open(connection))
                    }
                    Err(e)
                        if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) =>
                    {
                        Ok(State::Open(connection))
                    }
                    // The source throws away what was not acknowledged.
                    Err(error) if error.kind() == ErrorKind::ConnectionReset => Ok(State::Closed),
                    Err(error) => Err(Failure::io("read TCP", &error)),
                }
            }
            State::Closed => Ok(State::Closed),
        }
    }

    fn count(&mut self, key: usize, length: usize) {
        let now_ns = clock::monotonic_ns();
        let book = &mut self.reader.books[key].1;
        let start = (book.bytes % self.period as u64) as usize;
        let looked_at = length.min(SAMPLE);
        let intact = self.buffer[..looked_at] == self.expected[start..start + looked_at];
        book.corrupt += u64::from(!intact);
        self.reader
            .add(key, &self.window, now_ns, length as u64, true);
    }

    pub fn end(self) -> Reader {
        self.reader
    }
}

/// As much of the canary as a sample from any place of it needs.
fn expected(canary: &Canary) -> Vec<u8> {
    canary.repeated(canary.bytes().len() + SAMPLE)
}
