//! Making sockets, and options of theirs.

use crate::protocol::failure::{Failure, during};
use socket2::{Domain, Protocol, Socket, Type};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;

/// `<linux/sock_diag.h>`: SO_MEMINFO gives nine counters, the first is the memory of received
/// packets, the last the number of dropped ones.
const MEMINFO_COUNTERS: usize = 9;
const MEMINFO_RECEIVED: usize = 0;
const MEMINFO_DROPS: usize = 8;

/// A UDP socket bound to an address; port 0 is any free one.
pub fn bind_udp(address: IpAddr, port: u16) -> Result<UdpSocket, Failure> {
    let address = SocketAddr::new(address, port);
    UdpSocket::bind(address).map_err(during(format!("bind UDP {address}")))
}

/// A UDP socket bound to an address that this node may get only later.
pub fn bind_udp_early(address: IpAddr) -> Result<UdpSocket, Failure> {
    let to = SocketAddr::new(address, 0);
    let made = Socket::new(Domain::for_address(to), Type::DGRAM, Some(Protocol::UDP));
    made.and_then(|socket| {
        match address {
            IpAddr::V4(_) => socket.set_freebind_v4(true)?,
            IpAddr::V6(_) => socket.set_freebind_v6(true)?,
        }
        socket.bind(&to.into())?;
        Ok(socket.into())
    })
    .map_err(during(format!("bind UDP {address} early")))
}

/// A UDP socket connected to `to`; bound to an address of this node if one is given.
pub fn connect_udp(from: Option<IpAddr>, from_port: u16, to: SocketAddr) -> io::Result<UdpSocket> {
    let socket = UdpSocket::bind(SocketAddr::new(from.unwrap_or(any(to.ip())), from_port))?;
    socket.connect(to)?;
    Ok(socket)
}

/// As long as it lives the kernel stamps packets as they arrive. It begins to some time after the
/// first socket wants it (net_enable_timestamp() leaves it to a work queue); a packet that came before
/// has the time at which it was read.
pub fn keep_stamping() -> io::Result<Socket> {
    let socket = Socket::new(Domain::IPV4, Type::DGRAM, None)?;
    set_int(&socket, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 1)?;
    Ok(socket)
}

/// A TCP socket, neither bound nor connected.
pub fn tcp_socket(family_of: IpAddr) -> Result<Socket, Failure> {
    let domain = Domain::for_address(SocketAddr::new(family_of, 0));
    Socket::new(domain, Type::STREAM, Some(Protocol::TCP)).map_err(during("make a TCP socket"))
}

/// Makes a socket listen; calls of accept() give up after `timeout`.
pub fn listen_tcp(
    listener: &Socket,
    address: SocketAddr,
    timeout: Duration,
) -> Result<(), Failure> {
    listener
        .set_reuse_address(true)
        .and_then(|()| listener.bind(&address.into()))
        .and_then(|()| listener.listen(128))
        // On Linux the receive timeout holds for accept as well.
        .and_then(|()| listener.set_read_timeout(Some(timeout)))
        .map_err(during(format!("listen on TCP {address}")))
}

/// The wildcard address of the same family.
pub fn any(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    }
}

pub fn local_port(socket: &UdpSocket) -> Result<u16, Failure> {
    let address = socket.local_addr().map_err(during("own port"))?;
    Ok(address.port())
}

/// A socket's buffer. The kernel limits its size (net.core.rmem_max and wmem_max), except where a
/// program may go beyond.
#[derive(Clone, Copy)]
pub enum Buffer {
    Receive,
    Send,
}

impl Buffer {
    /// Sets the size; returns the true one.
    pub fn set(self, socket: &impl AsFd, bytes: usize) -> Result<usize, Failure> {
        let (name, option, forced) = self.options();
        let bytes = saturated(bytes);
        set_int(socket, libc::SOL_SOCKET, forced, bytes)
            .or_else(|_| set_int(socket, libc::SOL_SOCKET, option, bytes))
            .map_err(during(format!("set the {name} buffer")))?;
        self.size(socket)
    }

    /// As reported by the kernel: twice the requested size, for its bookkeeping.
    pub fn size(self, socket: &impl AsFd) -> Result<usize, Failure> {
        let (name, option, _) = self.options();
        get_int(socket, libc::SOL_SOCKET, option)
            .map(|size| size as usize)
            .map_err(during(format!("read the {name} buffer")))
    }

    fn options(self) -> (&'static str, libc::c_int, libc::c_int) {
        match self {
            Buffer::Receive => ("receive", libc::SO_RCVBUF, libc::SO_RCVBUFFORCE),
            Buffer::Send => ("send", libc::SO_SNDBUF, libc::SO_SNDBUFFORCE),
        }
    }
}

/// Makes the kernel report when it drops a packet of a full queue (ENOBUFS).
pub fn report_local_drops(socket: &impl AsFd, ip: IpAddr) -> Result<(), Failure> {
    let (level, option) = match ip {
        IpAddr::V4(_) => (libc::IPPROTO_IP, libc::IP_RECVERR),
        IpAddr::V6(_) => (libc::IPPROTO_IPV6, libc::IPV6_RECVERR),
    };
    set_int(socket, level, option, 1).map_err(during("request errors of packets"))
}

/// Sends with "don't fragment", whatever the kernel believes of the path's MTU.
pub fn probe_path_mtu(socket: &impl AsFd, ip: IpAddr) -> Result<(), Failure> {
    let outcome = match ip {
        IpAddr::V4(_) => set_int(
            socket,
            libc::IPPROTO_IP,
            libc::IP_MTU_DISCOVER,
            libc::IP_PMTUDISC_PROBE,
        ),
        IpAddr::V6(_) => set_int(
            socket,
            libc::IPPROTO_IPV6,
            libc::IPV6_MTU_DISCOVER,
            libc::IPV6_PMTUDISC_PROBE,
        ),
    };
    outcome.map_err(during("forbid fragmentation"))
}

/// The kernel's path MTU of a connected socket, in bytes of the IP packet.
pub fn path_mtu(socket: &impl AsFd, ip: IpAddr) -> Option<u32> {
    let mtu = match ip {
        IpAddr::V4(_) => get_int(socket, libc::IPPROTO_IP, libc::IP_MTU),
        IpAddr::V6(_) => get_int(socket, libc::IPPROTO_IPV6, libc::IPV6_MTU),
    };
    mtu.ok().and_then(|mtu| u32::try_from(mtu).ok())
}

/// Packets that the kernel dropped because this socket's buffer was full (or their checksum wrong).
pub fn socket_drops(socket: &impl AsFd) -> Option<u32> {
    memory_info(socket).map(|counters| counters[MEMINFO_DROPS])
}

/// Memory in bytes that packets take which have arrived and were not read: more than their payload.
/// Those that wait for a segment before them are among them.
pub fn unread_memory(socket: &impl AsFd) -> Option<u32> {
    memory_info(socket).map(|counters| counters[MEMINFO_RECEIVED])
}

fn memory_info(socket: &impl AsFd) -> Option<[u32; MEMINFO_COUNTERS]> {
    let mut counters = [0_u32; MEMINFO_COUNTERS];
    let mut length = size_of_val(&counters) as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes, the size of the array.
    let outcome = unsafe {
        libc::getsockopt(
            socket.as_fd().as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_MEMINFO,
            counters.as_mut_ptr().cast(),
            &raw mut length,
        )
    };
    (outcome == 0 && length as usize == size_of_val(&counters)).then_some(counters)
}

/// How long a call may block, so that its task looks at the clock at the end of each interval, and
/// often enough for its deadline whatever the interval is.
pub fn look_every(interval_ms: u32) -> Duration {
    const OFTEN_ENOUGH_MS: u32 = 100;
    Duration::from_millis(u64::from(interval_ms.clamp(1, OFTEN_ENOUGH_MS)))
}

/// Makes calls that block return WouldBlock after `timeout_ns`, at least a millisecond.
pub fn set_receive_timeout(socket: &UdpSocket, timeout_ns: u64) -> Result<(), Failure> {
    let timeout = Duration::from_nanos(timeout_ns.max(1_000_000));
    socket
        .set_read_timeout(Some(timeout))
        .map_err(during("set a timeout"))
}

fn saturated(bytes: usize) -> libc::c_int {
    libc::c_int::try_from(bytes).unwrap_or(libc::c_int::MAX)
}

pub fn set_int(
    socket: &impl AsFd,
    level: libc::c_int,
    option: libc::c_int,
    value: libc::c_int,
) -> io::Result<()> {
    // SAFETY: the pointer and the length describe `value`, which outlives the call.
    let outcome = unsafe {
        libc::setsockopt(
            socket.as_fd().as_raw_fd(),
            level,
            option,
            (&raw const value).cast(),
            size_of_val(&value) as libc::socklen_t,
        )
    };
    check(outcome)
}

fn get_int(socket: &impl AsFd, level: libc::c_int, option: libc::c_int) -> io::Result<i32> {
    let mut value: libc::c_int = 0;
    let mut length = size_of_val(&value) as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes, the size of `value`.
    let outcome = unsafe {
        libc::getsockopt(
            socket.as_fd().as_raw_fd(),
            level,
            option,
            (&raw mut value).cast(),
            &raw mut length,
        )
    };
    check(outcome).map(|()| value)
}

fn check(outcome: libc::c_int) -> io::Result<()> {
    if outcome == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// The congestion controls that this node's kernel offers, empty if it does not report them.
pub fn congestion_controls() -> Vec<String> {
    std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control")
        .unwrap_or_default()
        .split_whitespace()
        .map(str::to_owned)
        .collect()
}
