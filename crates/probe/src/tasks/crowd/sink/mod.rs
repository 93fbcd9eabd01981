//! `crowd_sink`: many clients' packets or connections, with a book for each client.

mod parameters;
mod readers;

pub use parameters::Parameters;

use super::place::each_there;
use super::{Protocol, check_members, deal, in_threads};
use crate::net::socket::{self, Buffer};
use crate::protocol::failure::{Failure, during};
use crate::results::forwarded::{Forwarded, Joint};
use crate::results::latency::{Latency, Summary};
use crate::tasks::context::Context;
use crate::timing::clock;
use readers::{Book, Datagrams, Listener, Reader, Streams, Together, Window};
use serde::Serialize;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::Duration;

/// Of all members together; each has at least as much as `LEAST_BUFFER`.
const RECEIVE_BUFFERS: usize = 64 << 20;
const LEAST_BUFFER: usize = 1 << 20;
/// A late packet must not be answered by an ICMP error through the tunnel.
const KEPT_OPEN: Duration = Duration::from_secs(2);

#[derive(Serialize)]
struct Listening {
    ports: Vec<u16>,
}

#[derive(Debug, Serialize)]
pub struct Interval {
    t_ns: u64,
    packets: u64,
    bytes: u64,
}

#[derive(Debug, Serialize)]
pub struct Received {
    strangers: u64,
    /// From the source's call to the kernel's stamp; none with separate clocks, and of TCP.
    one_way: Option<Summary>,
    intervals: Vec<Interval>,
    /// Of all members as one stream; none without an offer, and of TCP.
    #[serde(skip_serializing_if = "Option::is_none")]
    forwarded: Option<Forwarded>,
    members: Vec<Book>,
}

pub fn run(parameters: &Parameters, context: &Context) -> Result<Received, Failure> {
    check_members(parameters.members.len(), parameters.threads)?;
    let namespaces: Vec<_> = parameters
        .members
        .iter()
        .map(|member| member.netns.clone())
        .collect();
    let begun_ns = clock::monotonic_ns();
    let window = Window {
        begun_ns,
        counted: parameters.window_ns,
        stop: Arc::clone(&context.stop),
        step_ns: u64::from(parameters.interval_ms.max(1)) * 1_000_000,
    };
    match parameters.protocol {
        Protocol::Udp => {
            let sockets = each_there(&namespaces, |number| bind(parameters, number))?;
            let ports = sockets
                .iter()
                .map(socket::local_port)
                .collect::<Result<_, _>>()?;
            context.ready(Listening { ports });
            let lanes = deal(sockets, parameters.threads);
            let together = Together::new(parameters.members.len());
            let done = in_threads(lanes, |lane| {
                let mut reader = Datagrams::new(lane, parameters, window.clone(), &together)?;
                reader.read(context)?;
                Ok(reader.end())
            })?;
            let (readers, sockets): (Vec<_>, Vec<_>) = done.into_iter().unzip();
            std::thread::spawn(move || {
                std::thread::sleep(KEPT_OPEN);
                drop(sockets);
            });
            Ok(received(parameters, &window, readers, together.first_ns()))
        }
        Protocol::Tcp => {
            let listeners = each_there(&namespaces, |number| {
                Listener::open(parameters.members[number].bind)
            })?;
            let ports = listeners
                .iter()
                .map(Listener::port)
                .collect::<Result<_, _>>()?;
            context.ready(Listening { ports });
            let lanes = deal(listeners, parameters.threads);
            let readers = in_threads(lanes, |lane| {
                let mut reader = Streams::new(lane, parameters, window.clone())?;
                reader.read(context)?;
                Ok(reader.end())
            })?;
            Ok(received(parameters, &window, readers, 0))
        }
    }
}

fn bind(parameters: &Parameters, number: usize) -> Result<UdpSocket, Failure> {
    let members = &parameters.members;
    let socket = socket::bind_udp(members[number].bind, 0).map_err(|failure| {
        Failure::new(
            format!("member {number}: {}", failure.what),
            failure.why,
            failure.remedy,
        )
    })?;
    let buffer = (RECEIVE_BUFFERS / members.len()).clamp(LEAST_BUFFER, RECEIVE_BUFFERS / 2);
    Buffer::Receive.set(&socket, buffer)?;
    Ok(socket)
}

fn received(
    parameters: &Parameters,
    window: &Window,
    readers: Vec<Reader>,
    first_ns: u64,
) -> Received {
    let mut members: Vec<Option<Book>> = parameters.members.iter().map(|_| None).collect();
    let mut late = Latency::default();
    let mut strangers = 0;
    let mut intervals: Vec<Interval> = Vec::new();
    let joint = readers.iter().filter_map(|reader| reader.joint);
    let forwarded = joint.reduce(Joint::plus).map(|all| all.result(first_ns));
    for reader in readers {
        late.add(&reader.delays);
        strangers += reader.strangers;
        for (slot, (packets, bytes)) in reader.slots.into_iter().enumerate() {
            if intervals.len() <= slot {
                intervals.push(Interval {
                    t_ns: window.begun_ns + (slot as u64 + 1) * window.step_ns,
                    packets: 0,
                    bytes: 0,
                });
            }
            intervals[slot].packets += packets;
            intervals[slot].bytes += bytes;
        }
        for (number, book) in reader.books {
            members[number] = Some(book);
        }
    }
    Received {
        strangers,
        one_way: late.summary(),
        intervals,
        forwarded,
        members: members.into_iter().flatten().collect(),
    }
}

impl Listener {
    fn open(bind: IpAddr) -> Result<Listener, Failure> {
        let address = SocketAddr::new(bind, 0);
        let socket = socket::tcp_socket(bind)?;
        socket
            .bind(&address.into())
            .and_then(|()| socket.listen(16))
            .and_then(|()| socket.set_nonblocking(true))
            .map_err(during(format!("listen on TCP {address}")))?;
        Ok(Listener(socket))
    }
}
