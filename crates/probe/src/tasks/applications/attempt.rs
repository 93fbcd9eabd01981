//! One message of a flow, and its answer.

use super::tally::Fate;
use super::{Flow, Kind, Parameters};
use crate::net::echo_channel::EchoChannel;
use crate::net::icmp::IcmpSocket;
use crate::net::socket;
use crate::packet::header::{Header, Kind as Message, blank_payload};
use crate::tasks::applications::dns_responder::suffix;
use crate::tasks::context::Context;
use crate::tasks::tcp::responder::Greeting;
use crate::timing::clock;
use socket2::Socket;
use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, ToSocketAddrs};
use std::os::fd::AsFd;

pub struct Attempt<'a> {
    parameters: &'a Parameters,
    pub flow: &'a Flow,
    context: &'a Context,
    pub payload: Vec<u8>,
}

impl<'a> Attempt<'a> {
    pub fn new(parameters: &'a Parameters, flow: &'a Flow, context: &'a Context) -> Attempt<'a> {
        let payload = blank_payload(flow.payload_size, &parameters.canary);
        Attempt {
            parameters,
            flow,
            context,
            payload,
        }
    }

    /// Whether the time has come; false if the task has to end.
    pub fn wait_until(&self, monotonic_ns: u64) -> bool {
        self.context.stop.wait_until(monotonic_ns)
    }

    pub fn header(&self, number: u64) -> Header {
        Header {
            kind: Message::Request,
            tag: self.parameters.token.tag(),
            flow: 0,
            sequence: number,
            time_ns: clock::monotonic_ns(),
        }
    }

    /// A datagram or a ping from a new socket, whose answer may come until then.
    pub fn echo(&self, number: u64, until_ns: u64) -> Fate {
        match self.try_echo(number, until_ns) {
            Ok(true) => Fate::Answered,
            Ok(false) => Fate::Unanswered,
            Err(error) => Fate::of_error(&error),
        }
    }

    fn try_echo(&self, number: u64, until_ns: u64) -> io::Result<bool> {
        let channel = if self.flow.kind == Kind::Icmp {
            let icmp = IcmpSocket::open(self.ip()).map_err(io::Error::other)?;
            icmp.connect(None, self.ip())?;
            EchoChannel::Icmp(icmp)
        } else {
            EchoChannel::Udp(socket::connect_udp(None, 0, self.to())?.into())
        };
        let (mut outbox, mut inbox) = (channel.outbox(&self.payload), channel.inbox(0));
        outbox.send(&channel, &self.header(number))?;
        let tag = self.parameters.token.tag();
        let mut answered = false;
        let readable = |channel: &EchoChannel| {
            let stop = &self.context.stop;
            stop.wait_readable(channel.socket().as_fd(), until_ns)
        };
        while !answered && readable(&channel) {
            inbox.receive_now(&channel, |packet, _| {
                let payload = channel.answer(packet);
                let header = payload.and_then(|payload| Header::read(payload, tag));
                answered |= header.is_some_and(|header| header.kind == channel.reply_kind());
            })?;
        }
        Ok(answered)
    }

    /// A connection with one request, or a look-up.
    pub fn dialogue(&self, number: u64) -> Fate {
        if self.flow.kind == Kind::Dns {
            return self.look_up(number);
        }
        match self.exchange(number) {
            Ok(()) => Fate::Answered,
            Err(error) => Fate::of_error(&error),
        }
    }

    fn exchange(&self, number: u64) -> io::Result<()> {
        let socket = self.connect(true)?;
        let mut message = self.payload.clone();
        self.header(number).write(&mut message);
        { &socket }.write_all(&message)?;
        { &socket }.read_exact(&mut message)
    }

    /// A connection that has sent its greeting; `once`: for one request.
    pub fn connect(&self, once: bool) -> io::Result<Socket> {
        let timeout = self.flow.timeout_s.duration();
        let socket = socket::tcp_socket(self.ip()).map_err(io::Error::other)?;
        socket.set_tcp_nodelay(true)?;
        socket.set_read_timeout(Some(timeout))?;
        socket.connect_timeout(&self.to().into(), timeout)?;
        let size = self.payload.len() as u32;
        let greeting = Greeting {
            request_size: size,
            response_size: size,
            once,
        };
        { &socket }.write_all(&greeting.bytes(&self.parameters.token))?;
        Ok(socket)
    }

    fn look_up(&self, number: u64) -> Fate {
        // A name of its own each: no cache has it.
        let name = format!("q{number}.{}", suffix(&self.parameters.token));
        match (name.as_str(), 0).to_socket_addrs() {
            Ok(_) => Fate::Answered,
            Err(error) => Fate::Refused(error.to_string()),
        }
    }

    fn ip(&self) -> IpAddr {
        self.flow.to.unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED)) // checked
    }

    fn to(&self) -> SocketAddr {
        SocketAddr::new(self.ip(), self.flow.port)
    }
}
