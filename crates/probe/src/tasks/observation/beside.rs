//! What a device carries beside the packets of the lab, while its own counters are read.

use super::capture::{GATHER_NS, find_link};
use crate::net::capture::filter::Direction;
use crate::net::capture::packet_socket::PacketSocket;
use crate::packet::counts::PerDirection;
use crate::packet::scope::Scope;
use crate::packet::seen::{Sight, see};
use crate::protocol::failure::{Failure, during};
use crate::timing::clock;
use crate::timing::stop::Stop;
use serde::{Deserialize, Serialize};
use std::os::fd::AsFd;

/// Headers are enough to know that a packet is another's.
const SNAPLEN: usize = 128;
/// What the kernel may hold back for us.
const RECEIVE_BUFFER: usize = 16 << 20;
/// Others' packets may come faster than they are read.
const LONGEST_NS: u64 = 100_000_000;

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wanted {
    device: String,
    /// The packets of the lab.
    scope: Scope,
}

/// Bytes are those of IP packets. The device's counters are read at moments between those at which
/// the counting of `most` and of `least` begins and ends.
#[derive(Debug, Serialize)]
pub struct Counted {
    device: String,
    most: PerDirection,
    least: PerDirection,
    kernel_drops: u32,
}

/// Counts from its creation on; to be created before the device's counters are read first.
pub struct Beside<'a> {
    wanted: &'a Wanted,
    socket: PacketSocket,
    counted: PerDirection,
    least: PerDirection,
}

impl<'a> Beside<'a> {
    pub fn open(wanted: &'a Wanted) -> Result<Beside<'a>, Failure> {
        let link = find_link(&wanted.device)?;
        let socket = PacketSocket::open(&link, Direction::Both, SNAPLEN, RECEIVE_BUFFER)?;
        socket.only_beside(&wanted.scope)?;
        Ok(Beside {
            wanted,
            socket,
            counted: PerDirection::default(),
            least: PerDirection::default(),
        })
    }

    /// To be called between the two readings of the device's counters: counts until that time, or
    /// until the task is requested to end.
    pub fn count_until(mut self, stop: &Stop, deadline_ns: u64) -> Result<Beside<'a>, Failure> {
        let before = self.take_all()?.then_some(self.counted);
        while stop.wait_readable(self.socket.as_fd(), deadline_ns) {
            stop.wait_until(clock::monotonic_ns() + GATHER_NS);
            self.take_all()?;
        }
        self.take_all()?;
        self.least = before.map_or_else(PerDirection::default, |before| self.counted.since(before));
        Ok(self)
    }

    /// To be called after the second reading.
    pub fn finish(mut self) -> Result<Counted, Failure> {
        self.socket.close()?;
        self.take_all()?;
        Ok(Counted {
            device: self.wanted.device.clone(),
            most: self.counted,
            least: self.least,
            kernel_drops: self.socket.kernel_drops()?,
        })
    }

    /// Takes what is queued; false: not all of it was read in time.
    fn take_all(&mut self) -> Result<bool, Failure> {
        let reading = "accounting: packets beside the lab's";
        let until_ns = clock::monotonic_ns() + LONGEST_NS;
        while clock::monotonic_ns() < until_ns {
            if self.socket.receive_now().map_err(during(reading))? == 0 {
                return Ok(true);
            }
            for packet in self.socket.packets() {
                match see(packet.ethertype, packet.bytes, packet.wire_length) {
                    // Queued before the filter was set, or of one of the connections' ports.
                    Sight::Ip(seen) if self.wanted.scope.has(&seen) => {}
                    Sight::Ip(seen) => self.counted.add(packet.outgoing, seen.length),
                    Sight::Neighbour | Sight::Unknown(_) => {
                        self.counted.add(packet.outgoing, packet.wire_length);
                    }
                }
            }
        }
        Ok(false)
    }
}
