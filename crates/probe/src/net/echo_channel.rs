//! Channels for echo requests and their replies: UDP, ICMP or TCP.

use crate::net::batch::receive::ReceiveBatch;
use crate::net::icmp::IcmpSocket;
use crate::net::socket;
use crate::packet::header::{HEADER_LENGTH, Header, Kind};
use crate::packet::icmp::{EchoRequest, reply_payload};
use crate::protocol::failure::{Failure, during};
use crate::timing::clock;
use nix::errno::Errno;
use nix::sys::socket::{MsgFlags, recv};
use socket2::Socket;
use std::io::{self, ErrorKind, Write};
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsRawFd;
use std::time::Duration;

/// The longest IP packet.
const MAX_PACKET: usize = 65_535;
const BATCH: usize = 64;

/// A channel for requests and replies.
pub enum EchoChannel {
    Udp(Socket),
    Icmp(IcmpSocket),
    /// Messages of one length, one behind the other.
    Tcp(Socket),
}

impl EchoChannel {
    pub fn udp(from: Option<IpAddr>, to: SocketAddr) -> Result<EchoChannel, Failure> {
        let socket = socket::connect_udp(from, 0, to);
        let socket = socket.map_err(during(format!("connect UDP to {to}")))?;
        Ok(EchoChannel::Udp(socket.into()))
    }

    pub fn icmp(from: Option<IpAddr>, to: IpAddr) -> Result<EchoChannel, Failure> {
        let icmp = IcmpSocket::open(to)?;
        icmp.connect(from, to)
            .map_err(during(format!("ICMP to {to}")))?;
        Ok(EchoChannel::Icmp(icmp))
    }

    /// Connects to a responder and sends it the greeting.
    pub fn tcp(
        from: Option<IpAddr>,
        to: SocketAddr,
        timeout: Duration,
        greeting: &[u8],
    ) -> Result<EchoChannel, Failure> {
        let socket = socket::tcp_socket(to.ip())?;
        let connected = from
            .map_or(Ok(()), |from| socket.bind(&SocketAddr::new(from, 0).into()))
            .and_then(|()| socket.set_tcp_nodelay(true))
            .and_then(|()| socket.connect_timeout(&to.into(), timeout))
            .and_then(|()| socket.set_write_timeout(Some(timeout)))
            .and_then(|()| { &socket }.write_all(greeting));
        connected.map_err(during(format!("connect TCP to {to}")))?;
        Ok(EchoChannel::Tcp(socket))
    }

    pub fn socket(&self) -> &Socket {
        match self {
            EchoChannel::Udp(socket) | EchoChannel::Tcp(socket) => socket,
            EchoChannel::Icmp(icmp) => &icmp.socket,
        }
    }

    /// What requests are sent out of; `payload` is that of all of them, with room for the header.
    pub fn outbox(&self, payload: &[u8]) -> Outbox {
        match self {
            EchoChannel::Udp(_) | EchoChannel::Tcp(_) => Outbox::Payload(payload.to_vec()),
            EchoChannel::Icmp(icmp) => {
                let identifier = std::process::id() as u16;
                Outbox::Icmp(EchoRequest::new(
                    payload,
                    HEADER_LENGTH,
                    identifier,
                    icmp.ipv6,
                ))
            }
        }
    }

    /// Our part of a received packet, if it can be an answer.
    pub fn answer<'a>(&self, packet: &'a [u8]) -> Option<&'a [u8]> {
        match self {
            EchoChannel::Udp(_) | EchoChannel::Tcp(_) => Some(packet),
            EchoChannel::Icmp(icmp) => reply_payload(packet, icmp.ip_header, icmp.ipv6),
        }
    }

    /// An ICMP peer sends our request back as it was; ours mark it.
    pub fn reply_kind(&self) -> Kind {
        match self {
            EchoChannel::Udp(_) | EchoChannel::Tcp(_) => Kind::Reply,
            EchoChannel::Icmp(_) => Kind::Request,
        }
    }

    /// For the thread that receives; messages of TCP are `message_size` bytes long.
    pub fn inbox(&self, message_size: usize) -> Inbox {
        match self {
            EchoChannel::Tcp(_) => Inbox::Stream {
                buffer: vec![0; MAX_PACKET.max(2 * message_size)],
                filled: 0,
                message_size,
            },
            _ => Inbox::Packets(ReceiveBatch::new(self.socket(), BATCH, MAX_PACKET, false)),
        }
    }
}

/// A request that is ready but for its header: nothing that takes time stands between the moment
/// that the header states and the call that sends it.
pub enum Outbox {
    Payload(Vec<u8>),
    Icmp(EchoRequest),
}

impl Outbox {
    pub fn send(&mut self, channel: &EchoChannel, header: &Header) -> io::Result<()> {
        let message = match self {
            Outbox::Payload(payload) => {
                header.write(payload);
                payload
            }
            Outbox::Icmp(request) => {
                request.numbered(header.sequence as u16, |front| header.write(front))
            }
        };
        match channel {
            EchoChannel::Udp(socket) => socket.send(message).map(|_| ()),
            EchoChannel::Icmp(icmp) => icmp.socket.send(message).map(|_| ()),
            EchoChannel::Tcp(socket) => { socket }.write_all(message),
        }
    }
}

/// Where answers are read.
pub enum Inbox {
    Packets(ReceiveBatch),
    Stream {
        buffer: Vec<u8>,
        filled: usize,
        message_size: usize,
    },
}

impl Inbox {
    /// Whether times of arrival are the kernel's.
    pub fn stamped(&self) -> bool {
        match self {
            Inbox::Packets(batch) => batch.stamped(),
            Inbox::Stream { .. } => false,
        }
    }

    /// Hands over what is there with its time of arrival; true if there may be more.
    pub fn receive_now(
        &mut self,
        channel: &EchoChannel,
        mut each: impl FnMut(&[u8], u64),
    ) -> io::Result<bool> {
        match self {
            Inbox::Packets(batch) => {
                let taken = batch.receive_now(channel.socket())?;
                for datagram in batch.datagrams() {
                    each(datagram.bytes, datagram.arrived_ns);
                }
                Ok(taken == batch.capacity())
            }
            Inbox::Stream {
                buffer,
                filled,
                message_size,
            } => {
                let socket = channel.socket().as_raw_fd();
                let read = match recv(socket, &mut buffer[*filled..], MsgFlags::MSG_DONTWAIT) {
                    Err(Errno::EAGAIN) => return Ok(false),
                    read => read?,
                };
                let arrived_ns = clock::monotonic_ns();
                if read == 0 {
                    return Err(io::Error::from(ErrorKind::UnexpectedEof));
                }
                *filled += read;
                let whole = *filled / *message_size * *message_size;
                for message in buffer[..whole].chunks(*message_size) {
                    each(message, arrived_ns);
                }
                buffer.copy_within(whole..*filled, 0);
                *filled -= whole;
                Ok(whole > 0)
            }
        }
    }
}
