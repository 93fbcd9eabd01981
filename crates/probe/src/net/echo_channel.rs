//! What echo requests go out of and replies come in by: UDP or ICMP.

use crate::failure::{Failure, during};
use crate::net::icmp::IcmpSocket;
use crate::net::socket;
use crate::packet::header::Kind;
use crate::packet::icmp::{ICMP_HEADER, reply_payload, write_request};
use socket2::Socket;
use std::io;
use std::net::{IpAddr, SocketAddr};

/// What requests and replies go through.
pub enum EchoChannel {
    Udp(Socket),
    Icmp(IcmpSocket),
}

impl EchoChannel {
    pub fn udp(from: Option<IpAddr>, to: SocketAddr) -> Result<EchoChannel, Failure> {
        let socket = socket::connect_udp(from, 0, to);
        let socket = socket.map_err(during(format!("connect UDP to {to}")))?;
        Ok(EchoChannel::Udp(socket.into()))
    }

    pub fn icmp(from: Option<IpAddr>, to: IpAddr) -> Result<EchoChannel, Failure> {
        Ok(EchoChannel::Icmp(IcmpSocket::connect(from, to)?))
    }

    pub fn socket(&self) -> &Socket {
        match self {
            EchoChannel::Udp(socket) => socket,
            EchoChannel::Icmp(icmp) => &icmp.socket,
        }
    }

    /// Bytes in front of our header in what is sent.
    pub fn front(&self) -> usize {
        match self {
            EchoChannel::Udp(_) => 0,
            EchoChannel::Icmp(_) => ICMP_HEADER,
        }
    }

    pub fn send(&self, message: &mut [u8], sequence: u64) -> io::Result<()> {
        if let EchoChannel::Icmp(icmp) = self {
            let identifier = std::process::id() as u16;
            write_request(message, identifier, sequence as u16, icmp.ipv6);
        }
        self.socket().send(message).map(|_| ())
    }

    /// Our part of a received packet, if it can be an answer.
    pub fn answer<'a>(&self, packet: &'a [u8]) -> Option<&'a [u8]> {
        match self {
            EchoChannel::Udp(_) => Some(packet),
            EchoChannel::Icmp(icmp) => reply_payload(packet, icmp.ip_header, icmp.ipv6),
        }
    }

    /// An ICMP peer sends our request back as it was; the echo task marks it.
    pub fn reply_kind(&self) -> Kind {
        match self {
            EchoChannel::Udp(_) => Kind::Reply,
            EchoChannel::Icmp(_) => Kind::Request,
        }
    }
}
