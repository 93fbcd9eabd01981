//! One stream of numbered datagrams, and the socket it leaves by.

use crate::net::batch::send::{FEWER_SEGMENTS, MOST_SEGMENTS, SendBatch};
use crate::net::socket::set_int;
use crate::packet::header::{Header, Kind, blank_payload};
use crate::packet::sizes::Sizes;
use crate::protocol::failure::{Failure, during, errno_name};
use crate::protocol::values::Canary;
use crate::results::latency::Latency;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use serde::Serialize;
use socket2::SockAddr;
use std::collections::BTreeMap;
use std::io;
use std::net::UdpSocket;
use std::os::fd::AsFd;

/// Datagrams per call: where the source makes them, and where the kernel cuts them from larger
/// messages.
#[derive(Debug, Clone, Copy)]
pub struct Batches {
    pub made: usize,
    pub cut: usize,
}

impl Default for Batches {
    fn default() -> Batches {
        Batches { made: 64, cut: 512 }
    }
}

/// The kernel's error if IPsec, a missing checksum offload or the path's MTU forbid it to cut.
fn cannot_segment(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EIO | libc::EINVAL))
}

pub struct Flow {
    pub number: u16,
    pub source_port: u16,
    socket: UdpSocket,
    batch: SendBatch,
    to: Option<SockAddr>,
    segmented: bool,
    /// Why the kernel could not cut packets after all.
    pub gave_up: Option<String>,
    sizes: Sizes,
    batches: Batches,
    waits: bool,
    tag: [u8; 8],
    pub counts: Counts,
    pub late: Latency,
}

/// `offered` are numbers used: `packets`, which the kernel took, and those of `send_errors`.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Counts {
    pub offered: u64,
    pub packets: u64,
    pub bytes: u64,
    pub send_errors: BTreeMap<String, u64>,
}

impl Counts {
    pub fn add(&mut self, other: &Counts) {
        self.offered += other.offered;
        self.packets += other.packets;
        self.bytes += other.bytes;
        for (error, count) in &other.send_errors {
            *self.send_errors.entry(error.clone()).or_default() += count;
        }
    }
}

/// What all flows of a source have in common.
pub struct Pattern<'a> {
    pub sizes: &'a Sizes,
    pub canary: &'a Canary,
    pub tag: [u8; 8],
    /// For sockets that are not connected.
    pub to: Option<SockAddr>,
    pub batches: Batches,
    /// Whether a call waits for room in the socket; without it, what found none keeps its number.
    pub waits: bool,
}

impl Flow {
    pub fn new(
        number: u16,
        socket: UdpSocket,
        pattern: &Pattern<'_>,
        segmented: bool,
    ) -> io::Result<Flow> {
        let payload = blank_payload(pattern.sizes.largest(), pattern.canary);
        let (to, batches) = (pattern.to.clone(), pattern.batches);
        let batch = if segmented {
            SendBatch::segmented(&socket, MOST_SEGMENTS, batches.cut, &payload, to.clone())?
        } else {
            SendBatch::new(batches.made, &payload, to.clone())
        };
        socket.set_nonblocking(!pattern.waits)?;
        Ok(Flow {
            number,
            source_port: socket.local_addr()?.port(),
            socket,
            batch,
            to,
            segmented,
            gave_up: None,
            sizes: pattern.sizes.clone(),
            batches,
            waits: pattern.waits,
            tag: pattern.tag,
            counts: Counts::default(),
            late: Latency::default(),
        })
    }

    /// For waiting until it has room.
    pub fn socket(&self) -> &UdpSocket {
        &self.socket
    }

    /// Packets that one call can send.
    pub fn capacity(&self) -> usize {
        self.batch.capacity()
    }

    /// Sends the next `count` packets, as many as one call can.
    ///
    /// A packet that the kernel refused has used up its number and its place in the schedule: trying
    /// again would turn a full queue into back-pressure, and hide that it loses. Returns how many
    /// numbers were used.
    pub fn send(&mut self, count: usize, now_ns: u64) -> Result<usize, Failure> {
        let count = count.min(self.capacity());
        let varied = self.sizes.uniform().is_none();
        for i in 0..count {
            let sequence = self.counts.offered + i as u64;
            let header = Header {
                kind: Kind::Data,
                tag: self.tag,
                flow: self.number,
                sequence,
                time_ns: now_ns,
            };
            header.write(self.batch.payload(i));
            if varied {
                self.batch.set_length(i, self.sizes.of(sequence));
            }
        }
        match self.batch.send(&self.socket, count) {
            Ok(sent) => {
                self.taken(sent);
                if sent == count || (!self.waits && !self.has_room()) {
                    return Ok(sent);
                }
                // The kernel keeps the error of what stands behind the last sent to itself.
                let refused = self.batch.refused_together(sent, count);
                self.refused("UNREPORTED".to_owned(), refused);
                Ok(sent + refused)
            }
            Err(error) if !self.waits && error.kind() == io::ErrorKind::WouldBlock => Ok(0),
            Err(error) if error.raw_os_error() == Some(libc::EMSGSIZE) => {
                Err(Failure::io("udp_source: send", &error))
            }
            Err(error) if self.segmented && cannot_segment(&error) => {
                self.give_up_segmentation(&error)?;
                Ok(0)
            }
            Err(error) => {
                let refused = self.batch.refused_together(0, count);
                self.refused(errno_name(&error), refused);
                Ok(refused)
            }
        }
    }

    /// Whether half of the socket's buffer is free: then it is not what ended a call.
    fn has_room(&self) -> bool {
        let mut watched = [PollFd::new(self.socket.as_fd(), PollFlags::POLLOUT)];
        poll(&mut watched, PollTimeout::ZERO).is_ok() && watched[0].any() == Some(true)
    }

    /// From here on fewer packets a message, or else the source makes the packets itself.
    fn give_up_segmentation(&mut self, error: &io::Error) -> Result<(), Failure> {
        let payload = self.batch.payload(0).to_vec();
        if self.batch.per_message() > FEWER_SEGMENTS {
            let to = self.to.clone();
            self.batch =
                SendBatch::segmented(&self.socket, FEWER_SEGMENTS, self.batches.cut, &payload, to)
                    .map_err(during("udp_source: UDP_SEGMENT"))?;
            return Ok(());
        }
        set_int(&self.socket, libc::SOL_UDP, libc::UDP_SEGMENT, 0)
            .map_err(during("udp_source: unset UDP_SEGMENT"))?;
        self.batch = SendBatch::new(self.batches.made, &payload, self.to.clone());
        self.segmented = false;
        self.gave_up = Some(error.to_string());
        Ok(())
    }

    fn taken(&mut self, sent: usize) {
        let first = self.counts.offered;
        self.counts.bytes += match self.sizes.uniform() {
            Some(size) => (sent * size) as u64,
            None => (first..first + sent as u64)
                .map(|n| self.sizes.of(n) as u64)
                .sum(),
        };
        self.counts.packets += sent as u64;
        self.counts.offered += sent as u64;
    }

    fn refused(&mut self, error: String, count: usize) {
        self.counts.offered += count as u64;
        *self.counts.send_errors.entry(error).or_default() += count as u64;
    }
}
