//! Sockets for ICMP echo: raw where that is allowed, else a ping socket.

use crate::net::socket::set_int;
use crate::protocol::failure::Failure;
use socket2::{Domain, Protocol, SockAddr, Socket, Type};
use std::io;
use std::net::{IpAddr, SocketAddr};

/// `<linux/icmp.h>`: a set bit hides that type from a raw socket.
const ICMP_FILTER: libc::c_int = 1;
const ALL_BUT_ECHO_REPLY: libc::c_int = !1;

/// A socket for the echoes of one host.
pub struct IcmpSocket {
    pub socket: Socket,
    /// What is received starts with the IPv4 header.
    pub ip_header: bool,
    pub ipv6: bool,
}

impl IcmpSocket {
    /// Not connected yet.
    pub fn open(to: IpAddr) -> Result<IcmpSocket, Failure> {
        let (domain, protocol) = match to {
            IpAddr::V4(_) => (Domain::IPV4, Protocol::ICMPV4),
            IpAddr::V6(_) => (Domain::IPV6, Protocol::ICMPV6),
        };
        let (socket, raw) = match Socket::new(domain, Type::RAW, Some(protocol)) {
            Ok(socket) => (socket, true),
            Err(_) => (ping_socket(domain, protocol)?, false),
        };
        let ipv6 = to.is_ipv6();
        if raw && !ipv6 {
            hide_all_but_replies(&socket)
                .map_err(|error| Failure::io("filter ICMP messages", &error))?;
        }
        Ok(IcmpSocket {
            socket,
            ip_header: raw && !ipv6,
            ipv6,
        })
    }

    pub fn connect(&self, from: Option<IpAddr>, to: IpAddr) -> io::Result<()> {
        from.map_or(Ok(()), |from| self.socket.bind(&address(from)))
            .and_then(|()| self.socket.connect(&address(to)))
    }
}

fn address(ip: IpAddr) -> SockAddr {
    SocketAddr::new(ip, 0).into()
}

fn ping_socket(domain: Domain, protocol: Protocol) -> Result<Socket, Failure> {
    Socket::new(domain, Type::DGRAM, Some(protocol)).map_err(|error| {
        Failure::new(
            "ICMP",
            error.to_string(),
            "run the probe as root, or put its group into net.ipv4.ping_group_range",
        )
    })
}

fn hide_all_but_replies(socket: &Socket) -> io::Result<()> {
    set_int(socket, libc::SOL_RAW, ICMP_FILTER, ALL_BUT_ECHO_REPLY)
}
