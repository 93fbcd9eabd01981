//! A TAP device in another network namespace: it carries Ethernet frames, each a packet of the wire.
//!
//! Each frame is preceded by a header (IFF_VNET_HDR) with the work that the kernel left to the device:
//! the checksum always; cutting a super-packet only if offloads are offered. The device is the
//! descriptor's: when that is closed, by whatever end of the process, the device is gone. While it
//! is open it keeps its namespace alive.

use std::fs::File;
use std::io::{IoSlice, Read, Seek};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::Path;

use nix::errno::Errno;
use nix::fcntl::{OFlag, open};
use nix::sched::{CloneFlags, setns};
use nix::sys::stat::Mode;

use crate::device::endpoint::{DeviceName, Endpoint};
use crate::device::link_settings;
use crate::failure::{Failure, Kind};
use crate::packet::vnet;

const TUN: &str = "/dev/net/tun";

/// Ethernet header and a VLAN tag: what a frame has beyond the MTU.
pub const LINK_HEADER_BYTES: usize = 14 + 4;

/// The longest that a read can be, so that none is cut off.
pub const LONGEST_READ_BYTES: usize = vnet::BYTES + 65_535 + LINK_HEADER_BYTES;

/// IPv4 needs 68 (RFC 791); the device takes up to 65535 less the header.
pub const MTU_RANGE: std::ops::RangeInclusive<u32> = 68..=65_521;

/// Frames that the kernel keeps for us before it drops: about 4 ms of 64-byte packets at 1 Mpps.
const RING_PACKETS: u32 = 4096;

/// The work that the kernel may leave to the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Offloads {
    /// Checksums alone: each frame is a packet of the wire. (UDP senders that let the kernel cut
    /// their data need this offload, or are refused.)
    Checksums,
    /// Super-packets too: of TCP, and of UDP where the kernel can (Linux 6.2).
    SuperPackets,
}

impl Offloads {
    pub fn passed(super_packets: bool) -> Self {
        if super_packets {
            Self::SuperPackets
        } else {
            Self::Checksums
        }
    }
}

pub struct Tap {
    descriptor: OwnedFd,
    /// /proc/net/dev of the device's namespace.
    statistics: File,
    device: DeviceName,
}

impl Tap {
    /// Make the device, down, with the MTU.
    pub fn make(end: &Endpoint, mtu: u32, offloads: Offloads) -> Result<Self, Failure> {
        let end = end.clone();
        // A separate thread enters the namespace, and leaves it by ending.
        std::thread::spawn(move || make_here(&end, mtu, offloads))
            .join()
            .unwrap_or_else(|_| {
                Err(Failure::new(
                    Kind::Failed,
                    "making a device",
                    "its thread died",
                    "this is a bug in Culvert: please report it",
                ))
            })
    }

    /// Read a header and one frame; EAGAIN when there is none.
    pub fn read(&self, buffer: &mut [u8]) -> Result<usize, Errno> {
        nix::unistd::read(&self.descriptor, buffer)
    }

    /// Write a header and one frame. EIO: the device is down.
    pub fn write(&self, frame: &[u8]) -> Result<(), Errno> {
        nix::unistd::write(&self.descriptor, frame).map(drop)
    }

    /// The same, from several places.
    pub fn write_parts(&self, parts: &[IoSlice<'_>]) -> Result<(), Errno> {
        nix::sys::uio::writev(&self.descriptor, parts).map(drop)
    }

    /// Frames that the kernel dropped because the wire did not read them in time.
    pub fn ring_full_packets(&mut self) -> Option<u64> {
        let mut text = String::new();
        self.statistics.rewind().ok()?;
        self.statistics.read_to_string(&mut text).ok()?;
        transmit_drops(&text, self.device.as_str())
    }

    pub fn device(&self) -> &DeviceName {
        &self.device
    }

    /// Another handle to the same device, for the thread of the other direction.
    pub fn handle(&self) -> Result<Self, Failure> {
        let share = || -> std::io::Result<Self> {
            Ok(Self {
                descriptor: self.descriptor.try_clone()?,
                statistics: self.statistics.try_clone()?,
                device: self.device.clone(),
            })
        };
        share().map_err(|error| {
            Failure::new(
                Kind::Failed,
                "a descriptor",
                error,
                "raise the limit of open files (ulimit -n)",
            )
        })
    }
}

#[cfg(test)]
impl Tap {
    /// What is written to it is received at the socket, a frame at a time.
    pub fn to_a_socket() -> (Self, std::os::unix::net::UnixDatagram) {
        let (ours, theirs) = std::os::unix::net::UnixDatagram::pair().expect("two sockets");
        theirs.set_nonblocking(true).expect("it has no deadline");
        let tap = Self {
            descriptor: ours.into(),
            statistics: File::open("/dev/null").expect("it is there"),
            device: "u0".parse().expect("a name"),
        };
        (tap, theirs)
    }
}

impl AsFd for Tap {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

fn make_here(end: &Endpoint, mtu: u32, offloads: Offloads) -> Result<Tap, Failure> {
    enter(&end.netns)?;
    let what = format!("device {} in {}", end.device.as_str(), end.netns.display());
    let descriptor = open(
        TUN,
        OFlag::O_RDWR | OFlag::O_NONBLOCK | OFlag::O_CLOEXEC,
        Mode::empty(),
    )
    .map_err(|errno| match errno {
        Errno::ENOENT | Errno::ENODEV | Errno::ENXIO => Failure::new(
            Kind::NotPossible,
            TUN,
            errno.desc(),
            "load the module with modprobe tun, or give the container /dev/net/tun",
        ),
        _ => Failure::refused(TUN, errno, "check its permissions"),
    })?;
    let flags = libc::IFF_TAP | libc::IFF_NO_PI | libc::IFF_VNET_HDR | libc::IFF_TUN_EXCL;
    let mut request = Request::new(&end.device);
    request.set_flags(flags as libc::c_short);
    request
        .call(&descriptor, libc::TUNSETIFF as libc::Ioctl)
        .map_err(|errno| match errno {
            Errno::EBUSY | Errno::EEXIST | Errno::EINVAL => Failure::new(
                Kind::Failed,
                &what,
                "a device of that name exists already",
                "choose another name, or remove it",
            ),
            _ => Failure::refused(&what, errno, "see dmesg"),
        })?;
    offer(&descriptor, offloads)
        .map_err(|errno| Failure::refused(&what, errno, "use Linux 4.11 or newer"))?;
    link_settings::set(&end.device, mtu, RING_PACKETS).map_err(|error| {
        let errno = error.raw_os_error().map_or(Errno::EIO, Errno::from_raw);
        Failure::refused(
            format!("MTU {mtu} and queue length of {what}"),
            errno,
            "choose a smaller MTU",
        )
    })?;
    let statistics = File::open("/proc/thread-self/net/dev").map_err(|error| {
        Failure::new(
            Kind::Failed,
            "/proc/thread-self/net/dev",
            error,
            "mount /proc",
        )
    })?;
    Ok(Tap {
        descriptor,
        statistics,
        device: end.device.clone(),
    })
}

/// Settle the header's format and what the kernel may leave to the device.
fn offer(descriptor: &OwnedFd, offloads: Offloads) -> Result<(), Errno> {
    let little_endian: libc::c_int = 1;
    let header_bytes = vnet::BYTES as libc::c_int;
    // SAFETY: both calls read one int.
    unsafe {
        let descriptor = descriptor.as_raw_fd();
        let size = &raw const header_bytes;
        Errno::result(libc::ioctl(
            descriptor,
            libc::TUNSETVNETHDRSZ as libc::Ioctl,
            size,
        ))?;
        let order = &raw const little_endian;
        Errno::result(libc::ioctl(
            descriptor,
            libc::TUNSETVNETLE as libc::Ioctl,
            order,
        ))?;
    }
    let tcp = libc::TUN_F_CSUM | libc::TUN_F_TSO4 | libc::TUN_F_TSO6;
    let sets: &[libc::c_uint] = match offloads {
        Offloads::Checksums => &[libc::TUN_F_CSUM],
        Offloads::SuperPackets => &[tcp | libc::TUN_F_USO4 | libc::TUN_F_USO6, tcp],
    };
    let offer = |set: libc::c_uint| {
        // SAFETY: the argument is the number itself.
        let result = unsafe {
            libc::ioctl(
                descriptor.as_raw_fd(),
                libc::TUNSETOFFLOAD as libc::Ioctl,
                libc::c_ulong::from(set),
            )
        };
        Errno::result(result).map(drop)
    };
    // an older kernel refuses unknown flags
    let mut done = Err(Errno::EINVAL);
    for set in sets {
        done = offer(*set);
        if done.is_ok() {
            break;
        }
    }
    done
}

fn enter(netns: &Path) -> Result<(), Failure> {
    let what = format!("namespace {}", netns.display());
    let file = open(netns, OFlag::O_RDONLY | OFlag::O_CLOEXEC, Mode::empty())
        .map_err(|errno| Failure::refused(&what, errno, "see ip netns list"))?;
    setns(&file, CloneFlags::CLONE_NEWNET).map_err(|errno| match errno {
        Errno::EINVAL => Failure::new(
            Kind::Failed,
            &what,
            "it is not a network namespace",
            "see ip netns list",
        ),
        _ => Failure::refused(&what, errno, "see ip netns list"),
    })
}

/// netdevice(7)'s request about one device.
struct Request(libc::ifreq);

impl Request {
    fn new(device: &DeviceName) -> Self {
        // SAFETY: ifreq is a plain C structure for which zeros are valid.
        let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
        // the name is at most 15 bytes, so the last one stays zero
        for (to, from) in request.ifr_name.iter_mut().zip(device.as_str().bytes()) {
            *to = from as libc::c_char;
        }
        Self(request)
    }

    fn set_flags(&mut self, flags: libc::c_short) {
        self.0.ifr_ifru.ifru_flags = flags;
    }

    fn call(&mut self, descriptor: &OwnedFd, call: libc::Ioctl) -> Result<(), Errno> {
        // SAFETY: the calls used here read and write one ifreq.
        let result = unsafe { libc::ioctl(descriptor.as_raw_fd(), call, &raw mut self.0) };
        Errno::result(result).map(drop)
    }
}

/// The twelfth figure behind the device's name in /proc/net/dev: transmit drops.
fn transmit_drops(text: &str, device: &str) -> Option<u64> {
    text.lines().find_map(|line| {
        let (name, figures) = line.split_once(':')?;
        (name.trim() == device)
            .then(|| figures.split_ascii_whitespace().nth(11)?.parse().ok())
            .flatten()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drops_of_the_right_device() {
        let text = "Inter-|   Receive                            |  Transmit\n \
            face |bytes packets errs drop fifo frame compressed multicast|bytes packets errs drop\n\
            \x20 u0x: 1 2 3 4 5 6 7 8 9 10 11 99 13 14 15 16\n\
            \x20  u0: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n";
        assert_eq!(transmit_drops(text, "u0"), Some(12));
        assert_eq!(transmit_drops(text, "u1"), None);
        assert_eq!(transmit_drops("u0: 1 2", "u0"), None);
    }
}
