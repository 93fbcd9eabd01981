//! The kernel's own stamps of packets (CLOCK_REALTIME): of departure, when the device was given one,
//! and of arrival, when the device gave it to the kernel (timestamping.rst of the kernel).

use std::collections::BTreeMap;
use std::io::IoSliceMut;
use std::net::UdpSocket;
use std::os::fd::AsRawFd;

use nix::sys::socket::{ControlMessageOwned, MsgFlags, SockaddrIn, recvmsg};
use nix::sys::time::TimeSpec;

use crate::floods::option;

/// Room for the stamps of all packets until they are read.
pub const QUEUE_BYTES: libc::c_int = 64 << 20;

/// Stamp what arrives.
pub fn arrivals(socket: &UdpSocket) -> bool {
    option(socket, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 1)
}

/// Stamp what departs; they wait in the socket until they are read, so as not to disturb.
pub fn departures(socket: &UdpSocket) -> bool {
    let flags = libc::SOF_TIMESTAMPING_TX_SOFTWARE
        | libc::SOF_TIMESTAMPING_SOFTWARE
        | libc::SOF_TIMESTAMPING_OPT_ID
        | libc::SOF_TIMESTAMPING_OPT_TSONLY;
    option(socket, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, QUEUE_BYTES)
        && option(socket, libc::SOL_SOCKET, libc::SO_TIMESTAMPING, flags)
}

/// The number that the next packet carries, and when it arrived; None if none comes in time.
pub fn next_arrival(socket: &UdpSocket) -> Option<(u32, u64)> {
    let (mut payload, mut space) = ([0; 64], nix::cmsg_space!(libc::timespec));
    let mut parts = [IoSliceMut::new(&mut payload)];
    let message = recvmsg::<SockaddrIn>(
        socket.as_raw_fd(),
        &mut parts,
        Some(&mut space),
        MsgFlags::empty(),
    )
    .ok()?;
    let at_ns = message.cmsgs().ok()?.find_map(|one| match one {
        ControlMessageOwned::ScmTimestampns(at) => Some(nanoseconds(at)),
        _ => None,
    })?;
    Some((u32::from_ne_bytes(payload[..4].try_into().ok()?), at_ns))
}

/// When each packet departed, by its number since the stamps were requested.
pub fn all_departures(socket: &UdpSocket) -> BTreeMap<u32, u64> {
    let mut departed = BTreeMap::new();
    let flags = MsgFlags::MSG_ERRQUEUE | MsgFlags::MSG_DONTWAIT;
    loop {
        let mut space = nix::cmsg_space!(
            [libc::timespec; 3],
            libc::sock_extended_err,
            libc::sockaddr_in
        );
        let mut parts = [];
        let Ok(message) =
            recvmsg::<SockaddrIn>(socket.as_raw_fd(), &mut parts, Some(&mut space), flags)
        else {
            return departed;
        };
        let (mut at_ns, mut number) = (None, None);
        for one in message.cmsgs().expect("they fit") {
            match one {
                ControlMessageOwned::ScmTimestampsns(at) => at_ns = Some(nanoseconds(at.system)),
                ControlMessageOwned::Ipv4RecvErr(error, _) => number = Some(error.ee_data),
                _ => {}
            }
        }
        departed.extend(number.zip(at_ns));
    }
}

fn nanoseconds(at: TimeSpec) -> u64 {
    at.tv_sec() as u64 * 1_000_000_000 + at.tv_nsec() as u64
}
