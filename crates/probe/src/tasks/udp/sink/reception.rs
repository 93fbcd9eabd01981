//! The socket of a sink, and when to read it.

use super::Parameters;
use super::account::{Heard, Sink};
use crate::net::batch::receive::ReceiveBatch;
use crate::net::socket::{self, Buffer};
use crate::packet::header::{Header, Kind, MAX_PAYLOAD};
use crate::protocol::failure::{Failure, during};
use crate::tasks::context::{Context, Listening};
use crate::timing::clock;
use crate::timing::ticker::Ticker;
use std::net::UdpSocket;
use std::os::fd::AsFd;
use std::time::Duration;

const BATCH: usize = 256;
/// Where the kernel stamps packets they are gathered for so long before they are read: waking up
/// for each costs several times what reading it does.
const GATHER_NS: u64 = 500_000;
/// How often the socket is read while it drains after a request to end.
const DRAIN_STEP_NS: u64 = 500_000;
/// The default size: a receiver that loses packets in its own socket measures itself.
const RECEIVE_BUFFER: usize = 16 << 20;

/// How long after its end a socket stays open, unread. Not one whose port was requested: another socket
/// may request it again.
const KEPT_OPEN: Duration = Duration::from_secs(2);

/// One reading of the socket.
struct Taken {
    messages: usize,
    /// Whether one of them was of the session.
    ours: bool,
}

struct Reception<'a> {
    socket: UdpSocket,
    batch: ReceiveBatch,
    tag: [u8; 8],
    strangers: u64,
    context: &'a Context,
}

/// Listens, reports that it is ready, and feeds the account until it is requested to end.
pub fn receive(
    parameters: &Parameters,
    account: &mut Sink,
    context: &Context,
) -> Result<Heard, Failure> {
    let socket = socket::bind_udp(parameters.bind, parameters.port)?;
    let wanted = parameters.receive_buffer.unwrap_or(RECEIVE_BUFFER);
    let receive_buffer_effective = Buffer::Receive.set(&socket, wanted)?;
    let port = socket::local_port(&socket)?;
    let mut reception = Reception {
        batch: ReceiveBatch::new(&socket, BATCH, MAX_PAYLOAD, true),
        socket,
        tag: parameters.token.tag(),
        strangers: 0,
        context,
    };
    clock::use_exact_timers();
    context.ready(Listening { port });
    reception.run(parameters, account)?;
    let heard = Heard {
        strangers: reception.strangers,
        socket_drops: socket::socket_drops(&reception.socket),
        receive_buffer_effective,
        stamped: reception.batch.stamped(),
    };
    if parameters.port == 0 {
        keep_open(reception.socket);
    }
    Ok(heard)
}

/// A packet that comes too late to count would find a closed port, and the ICMP error would go back
/// through the tunnel that is being accounted for.
fn keep_open(socket: UdpSocket) {
    std::thread::spawn(move || {
        std::thread::sleep(KEPT_OPEN);
        drop(socket);
    });
}

impl Reception<'_> {
    fn run(&mut self, parameters: &Parameters, account: &mut Sink) -> Result<(), Failure> {
        let start_ns = clock::monotonic_ns();
        let deadline_ns = start_ns + parameters.duration_max_s.ns();
        let mut ticker = Ticker::new(start_ns, parameters.interval_ms);
        loop {
            let taken = self.take(account)?;
            let now_ns = clock::monotonic_ns();
            if self.context.stop.requested() {
                self.drain(
                    u64::from(parameters.quiet_ms) * 1_000_000,
                    deadline_ns,
                    account,
                )?;
                self.boundary(clock::monotonic_ns(), account);
                return Ok(());
            }
            if ticker.passed(now_ns) {
                self.boundary(now_ns, account);
            }
            if now_ns >= deadline_ns {
                return Ok(());
            }
            let next_ns = ticker.next_ns().min(deadline_ns);
            if taken.messages == 0 {
                self.context
                    .stop
                    .wait_readable(self.socket.as_fd(), next_ns);
            }
            if taken.messages < self.batch.capacity() && self.batch.stamped() {
                self.context
                    .stop
                    .wait_until(next_ns.min(clock::monotonic_ns() + GATHER_NS));
            }
        }
    }

    /// Takes what waits in the socket, then what still comes until that is all, or nothing of the
    /// session has come for `quiet_ns`: strangers' packets do not prolong it.
    fn drain(
        &mut self,
        quiet_ns: u64,
        deadline_ns: u64,
        account: &mut Sink,
    ) -> Result<(), Failure> {
        let mut heard_ns = clock::monotonic_ns();
        loop {
            let taken = self.take(account)?;
            let now_ns = clock::monotonic_ns();
            if self.context.stop.is_all(account.distinct()) {
                return Ok(());
            }
            if taken.ours {
                heard_ns = now_ns;
            }
            // What arrived before an emptied socket was read has been taken.
            let emptied = taken.messages < self.batch.capacity();
            if (emptied && now_ns >= heard_ns + quiet_ns) || now_ns >= deadline_ns {
                return Ok(());
            }
            if emptied && !taken.ours {
                std::thread::sleep(Duration::from_nanos(DRAIN_STEP_NS));
            }
        }
    }

    fn take(&mut self, account: &mut Sink) -> Result<Taken, Failure> {
        let received = self.batch.receive_now(&self.socket);
        let mut taken = Taken {
            messages: received.map_err(during("receive UDP"))?,
            ours: false,
        };
        for datagram in self.batch.datagrams() {
            let header = Header::read(datagram.bytes, self.tag);
            let ours = header
                .filter(|header| header.kind == Kind::Data)
                .is_some_and(|header| account.packet(&header, datagram.bytes, datagram.arrived_ns));
            self.strangers += u64::from(!ours);
            taken.ours |= ours;
        }
        Ok(taken)
    }

    fn boundary(&self, t_ns: u64, account: &mut Sink) {
        let drops = socket::socket_drops(&self.socket);
        account.boundary(t_ns, drops, self.context);
    }
}
