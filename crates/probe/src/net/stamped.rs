//! Receiving with the kernel's timestamp of each packet.

use crate::timing::clock;
use nix::sys::socket::{ControlMessageOwned, MsgFlags, recvmsg, setsockopt, sockopt};
use nix::sys::time::TimeSpec;
use std::io::{self, IoSliceMut};
use std::os::fd::{AsFd, AsRawFd};

/// A received datagram.
#[derive(Debug, Clone, Copy)]
pub struct Stamped {
    pub length: usize,
    /// The kernel's time stamp (CLOCK_REALTIME), if there is one.
    pub kernel_realtime_ns: Option<u64>,
}

impl Stamped {
    /// When it arrived, on the monotonic clock; call it right after receiving.
    pub fn arrived_ns(&self) -> u64 {
        match self.kernel_realtime_ns {
            Some(stamp_ns) => clock::stamp_to_monotonic_ns(stamp_ns),
            None => clock::monotonic_ns(),
        }
    }
}

/// Receives datagrams; keeps the room for control messages.
pub struct StampedReceiver {
    control: Vec<u8>,
}

impl StampedReceiver {
    /// Asks the kernel for timestamps on this socket; it is no error if it has none.
    pub fn new(socket: &impl AsFd) -> StampedReceiver {
        let _ = setsockopt(&socket.as_fd(), sockopt::ReceiveTimestampns, &true);
        StampedReceiver {
            control: nix::cmsg_space!(TimeSpec),
        }
    }

    /// The next datagram; waits as the socket is set to wait.
    pub fn receive(&mut self, socket: &impl AsFd, buffer: &mut [u8]) -> io::Result<Stamped> {
        let mut slices = [IoSliceMut::new(buffer)];
        let message = recvmsg::<()>(
            socket.as_fd().as_raw_fd(),
            &mut slices,
            Some(&mut self.control),
            MsgFlags::empty(),
        )?;
        let stamp = message.cmsgs()?.find_map(|control| match control {
            ControlMessageOwned::ScmTimestampns(time) => Some(time),
            _ => None,
        });
        Ok(Stamped {
            length: message.bytes,
            kernel_realtime_ns: stamp
                .map(|time| time.tv_sec() as u64 * 1_000_000_000 + time.tv_nsec() as u64),
        })
    }
}
