//! The way out: packets that leave at the same time and belong together are written together.
//!
//! ```text
//!   held:     [ 1 2 3 4 5 6 7 8 ]   one super-packet, packet 4 was lost
//!   written:  [ 1 2 3 ] [ 5 6 7 8 ]
//! ```
//!
//! Packets are joined where the node's kernel would have taken them so from a network card: neighbours
//! of one super-packet, and datagrams of one flow and size. Nothing waits to be joined.

use std::io::IoSlice;
use std::sync::Arc;

use nix::errno::Errno;

use crate::device::tap::Tap;
use crate::direction::arena::{Arena, FrameId};
use crate::direction::counters::Counters;
use crate::packet::checksum;
use crate::packet::cut::{Cut, LONGEST_HEADER_BYTES};
use crate::packet::layout::link_header_bytes;
use crate::packet::vnet::{self, Vnet};

/// What older kernels take at most (UDP_MAX_SEGMENTS).
const MOST_JOINED: u16 = 64;
const MOST_JOINED_BYTES: usize = 60_000;

/// Packets of one frame, from `first` up to `end`; of a frame that is not cut, packet 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parcel {
    pub frame: FrameId,
    pub first: u16,
    pub end: u16,
}

impl Parcel {
    pub fn packets(&self) -> u64 {
        u64::from(self.end - self.first)
    }
}

pub struct Egress {
    tap: Tap,
    counters: Arc<Counters>,
    joins: bool,
    /// What is to be written as one; each parcel is held.
    parcels: Vec<Parcel>,
    packets: u16,
    payload_bytes: usize,
    /// Nothing can follow a datagram that is shorter than those before it.
    closed: bool,
    scratch: Vec<u8>,
}

impl Egress {
    /// `joins`: whether the device takes super-packets.
    pub fn new(tap: Tap, counters: Arc<Counters>, joins: bool) -> Self {
        Self {
            tap,
            counters,
            joins,
            parcels: Vec::new(),
            packets: 0,
            payload_bytes: 0,
            closed: false,
            scratch: Vec::new(),
        }
    }

    pub fn tap(&self) -> &Tap {
        &self.tap
    }

    /// Send the parcel, maybe with those that follow until `flush`. The caller's hold on its frame
    /// is taken over.
    pub fn send(&mut self, arena: &mut Arena, parcel: Parcel) -> Result<(), Errno> {
        let follows = self
            .parcels
            .last()
            .is_some_and(|last| last.frame == parcel.frame && last.end == parcel.first);
        // What one frame brought fits into one.
        let of_one_frame = follows && self.parcels.len() == 1;
        if !of_one_frame && !self.continues(arena, parcel) {
            self.flush(arena)?;
        }
        match self.parcels.last_mut().filter(|_| follows) {
            Some(last) => {
                last.end = parcel.end;
                // one hold of the parcel is enough
                arena.release(parcel.frame);
            }
            None => self.parcels.push(parcel),
        }
        self.count(arena, parcel);
        if !self.joins {
            self.flush(arena)?;
        }
        Ok(())
    }

    /// Send the parcel with one bit of its first packet flipped; what belonged together is over.
    pub fn send_corrupted(
        &mut self,
        arena: &mut Arena,
        parcel: Parcel,
        draw: u64,
    ) -> Result<(), Errno> {
        self.flush(arena)?;
        let mut packet = std::mem::take(&mut self.scratch);
        wire_packet(arena, parcel.frame, parcel.first, &mut packet);
        flip_bit(&mut packet, draw);
        self.counters.corrupted();
        let header = Vnet::default().write();
        let result = self
            .tap
            .write_parts(&[IoSlice::new(&header), IoSlice::new(&packet)]);
        let bytes = packet.len() as u64;
        self.scratch = packet;
        self.counters.sent(result, 1, bytes)?;
        let rest = Parcel {
            first: parcel.first + 1,
            ..parcel
        };
        if rest.first < rest.end {
            return self.send(arena, rest);
        }
        arena.release(parcel.frame);
        Ok(())
    }

    /// Write what has been sent and not yet written.
    pub fn flush(&mut self, arena: &mut Arena) -> Result<(), Errno> {
        let Some(&first) = self.parcels.first() else {
            return Ok(());
        };
        let bytes = self.wire_bytes(arena);
        let frame = arena.frame(first.frame);
        let result = match frame.cut {
            Some(cut) if self.parcels.len() > 1 => self.write_joined(arena, &cut, first),
            Some(cut) if (first.first, first.end) != (0, cut.packets()) => {
                self.write_run(arena, &cut, first)
            }
            _ => self.tap.write(arena.read(first.frame)),
        };
        for parcel in self.parcels.drain(..) {
            arena.release(parcel.frame);
        }
        let packets = u64::from(std::mem::take(&mut self.packets));
        self.payload_bytes = 0;
        self.closed = false;
        self.counters.sent(result, packets, bytes)
    }

    fn count(&mut self, arena: &Arena, parcel: Parcel) {
        self.packets = self.packets.saturating_add(parcel.end - parcel.first);
        if let Some(cut) = &arena.frame(parcel.frame).cut {
            let payload = cut.payload(arena.bytes(parcel.frame).len(), parcel.first, parcel.end);
            self.payload_bytes += payload.len();
            let unit = self.unit(arena).unwrap_or(cut.segment_bytes());
            self.closed = payload.len() % unit != 0;
        }
    }

    /// Payload bytes of each packet that is written together with the first.
    fn unit(&self, arena: &Arena) -> Option<usize> {
        let first = self.parcels.first()?;
        arena.frame(first.frame).cut.map(|cut| cut.segment_bytes())
    }

    /// Whether the parcel can be written together with what waits.
    fn continues(&self, arena: &Arena, parcel: Parcel) -> bool {
        let Some(first) = self.parcels.first() else {
            return true;
        };
        let (Some(cut), Some(other)) =
            (arena.frame(first.frame).cut, arena.frame(parcel.frame).cut)
        else {
            return false;
        };
        let other_frame = arena.bytes(parcel.frame);
        let payload_bytes = other
            .payload(other_frame.len(), parcel.first, parcel.end)
            .len();
        let one_short = parcel.end - parcel.first == 1 && payload_bytes <= cut.segment_bytes();
        !self.closed
            && (one_short || other.segment_bytes() == cut.segment_bytes())
            && self.packets + (parcel.end - parcel.first) <= MOST_JOINED
            && self.payload_bytes + payload_bytes <= MOST_JOINED_BYTES
            && cut.continues(
                arena.bytes(first.frame),
                first.first,
                self.packets,
                (&other, other_frame, parcel.first),
            )
    }

    fn write_run(&self, arena: &Arena, cut: &Cut, parcel: Parcel) -> Result<(), Errno> {
        let frame = arena.bytes(parcel.frame);
        let mut header = [0; LONGEST_HEADER_BYTES];
        let (bytes, vnet) = cut.header(frame, parcel.first, parcel.end, &mut header);
        self.tap.write_parts(&[
            IoSlice::new(&vnet.write()),
            IoSlice::new(&header[..bytes]),
            IoSlice::new(&frame[cut.payload(frame.len(), parcel.first, parcel.end)]),
        ])
    }

    fn write_joined(&mut self, arena: &Arena, cut: &Cut, first: Parcel) -> Result<(), Errno> {
        let mut header = [0; LONGEST_HEADER_BYTES];
        let frame = arena.bytes(first.frame);
        let (bytes, vnet) = cut.joined_header(frame, first.first, self.payload_bytes, &mut header);
        self.scratch.clear();
        self.scratch.extend_from_slice(&vnet.write());
        self.scratch.extend_from_slice(&header[..bytes]);
        for parcel in &self.parcels {
            let frame = arena.bytes(parcel.frame);
            if let Some(cut) = &arena.frame(parcel.frame).cut {
                let payload = cut.payload(frame.len(), parcel.first, parcel.end);
                self.scratch.extend_from_slice(&frame[payload]);
            }
        }
        self.tap.write(&self.scratch)
    }

    fn wire_bytes(&self, arena: &Arena) -> u64 {
        let of = |parcel: &Parcel| {
            let frame_bytes = arena.bytes(parcel.frame).len();
            arena.frame(parcel.frame).cut.map_or(frame_bytes, |cut| {
                let packets = usize::from(parcel.end - parcel.first);
                let payload = cut.payload(frame_bytes, parcel.first, parcel.end);
                packets * cut.layout().payload_at + payload.len()
            }) as u64
        };
        self.parcels.iter().map(of).sum()
    }
}

/// One packet as it is on a wire, its checksum complete.
fn wire_packet(arena: &Arena, id: FrameId, packet: u16, out: &mut Vec<u8>) {
    let (frame, bytes) = (arena.frame(id), arena.bytes(id));
    match (&frame.cut, frame.vnet.checksum) {
        (Some(cut), _) => cut.packet(bytes, packet, out),
        (None, unfinished) => {
            out.clear();
            out.extend_from_slice(bytes);
            if let Some(vnet::Unfinished { start, offset }) = unfinished {
                checksum::complete(out, usize::from(start), usize::from(offset));
            }
        }
    }
}

/// Flip the bit that the draw falls on, anywhere behind the link header: a switch drops a frame
/// whose header is broken, and so does the node.
fn flip_bit(packet: &mut [u8], draw: u64) {
    let from = link_header_bytes(packet);
    let bits = packet.len().saturating_sub(from) as u64 * 8;
    if bits > 0 {
        let bit = draw % bits;
        packet[from + (bit / 8) as usize] ^= 1 << (bit % 8);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::vnet::{Segmentation, SuperPacket, Unfinished};
    use proptest::prelude::*;

    const HEADERS: usize = 14 + 20 + 8;

    /// A frame of datagrams of that size, the last of which may be shorter, as the kernel gives it.
    fn read_in(arena: &mut Arena, segment_bytes: usize, payload: &[u8]) -> (FrameId, Cut) {
        let udp_bytes = 8 + payload.len() as u16;
        let mut frame = vec![0; 12];
        frame.extend([8, 0, 0x45, 0]);
        frame.extend((20 + udp_bytes).to_be_bytes());
        frame.extend([0, 0, 0x40, 0, 64, 17, 0, 0, 198, 18, 0, 1, 198, 18, 0, 2]);
        frame.extend([0x13, 0x88, 0x13, 0x89]);
        frame.extend(udp_bytes.to_be_bytes());
        frame.extend([0, 0]);
        frame.extend(payload);
        let super_packet = SuperPacket {
            segmentation: Segmentation::Udp,
            segment_bytes: segment_bytes as u16,
            header_bytes: HEADERS as u16,
        };
        let vnet = Vnet {
            checksum: Some(Unfinished {
                start: 34,
                offset: 6,
            }),
            valid: false,
            super_packet: (payload.len() > segment_bytes).then_some(super_packet),
        };
        let cut = match vnet.super_packet {
            Some(packet) => Cut::of(&frame, packet),
            None => Cut::of_datagram(&frame, &vnet),
        };
        let cut = cut.expect("datagrams");
        let written = [&vnet.write()[..], &frame].concat();
        let room = arena.room().expect("room");
        room[..written.len()].copy_from_slice(&written);
        (arena.keep(written.len(), vnet, Some(cut)), cut)
    }

    /// The datagrams of what was written.
    fn datagrams(written: &[u8]) -> Vec<Vec<u8>> {
        let (header, frame) = written.split_first_chunk().expect("a header");
        let length = usize::from(u16::from_be_bytes([frame[16], frame[17]]));
        assert_eq!(length, frame.len() - 14, "the length of the IP packet");
        let packet = Vnet::read(header).expect("a header").super_packet;
        let segment_bytes = packet.map_or(length, |packet| usize::from(packet.segment_bytes));
        let parts = frame[HEADERS..].chunks(segment_bytes);
        parts.map(<[u8]>::to_vec).collect()
    }

    proptest! {
        #[test]
        fn datagrams_stay_what_they_are_whatever_is_joined(
            frames in prop::collection::vec(
                (prop::sample::select(vec![80_usize, 1000, 1472, 8972]), 1..60_usize, 0..1472_usize, 0..60_usize),
                1..6,
            ),
        ) {
            let (tap, other_end) = Tap::to_a_socket();
            let mut egress = Egress::new(tap, Arc::default(), true);
            let mut arena = Arena::new(64 << 20);
            let (mut sent, mut arrived, mut number) = (Vec::new(), Vec::new(), 0_u8);
            let mut buffer = vec![0; 1 << 17];
            // The socket holds a few frames only.
            let mut receive = || {
                while let Ok(bytes) = other_end.recv(&mut buffer) {
                    arrived.extend(datagrams(&buffer[..bytes]));
                }
            };
            for (segment_bytes, full, more, lost) in frames {
                let mut payload = Vec::new();
                let most = 65_507 / segment_bytes;
                for _ in 0..full.min(most - 1) {
                    number = number.wrapping_add(1);
                    payload.extend(vec![number; segment_bytes]);
                }
                payload.extend(vec![0xff; more % segment_bytes]);
                let (frame, cut) = read_in(&mut arena, segment_bytes, &payload);
                for first in (0..cut.packets()).filter(|packet| usize::from(*packet) != lost) {
                    let bytes = cut.payload(HEADERS + payload.len(), first, first + 1);
                    sent.push(payload[bytes.start - HEADERS..bytes.end - HEADERS].to_vec());
                    arena.hold(frame);
                    egress.send(&mut arena, Parcel { frame, first, end: first + 1 }).unwrap();
                    receive();
                }
                arena.release(frame);
            }
            egress.flush(&mut arena).unwrap();
            receive();
            prop_assert_eq!(arrived, sent);
        }
    }
}
