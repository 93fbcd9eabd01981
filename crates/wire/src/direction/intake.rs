//! Reads frames from a node, cuts them into packets of the wire and offers each to the schedule.

use nix::errno::Errno;

use super::{Direction, vanished};
use crate::direction::arena::FrameId;
use crate::direction::egress::Parcel;
use crate::failure::Failure;
use crate::packet::cut::Cut;
use crate::packet::layout::{Transport, is_fragment, is_udp, link_header_bytes};
use crate::packet::vnet::{self, Vnet};
use crate::schedule::{Drop, Facts, Outcome, Unit};

/// Largest number of frames read before due packets and pending writes are handled again.
const BATCH: usize = 64;

/// Whether there may be more to read.
#[derive(PartialEq, Eq)]
pub(super) enum Reading {
    More,
    Drained,
}

impl Direction {
    pub(super) fn read_batch(&mut self) -> Result<Reading, Failure> {
        let mut reading = Reading::More;
        for _ in 0..BATCH {
            let mut surplus = [0; vnet::BYTES];
            let (room, kept) = match self.arena.room() {
                Some(room) => (room, true),
                None => (&mut surplus[..], false),
            };
            let bytes = match self.from.read(room) {
                Ok(bytes) => bytes,
                Err(Errno::EAGAIN) => {
                    reading = Reading::Drained;
                    break;
                }
                Err(Errno::EINTR) => continue,
                Err(errno) => return Err(vanished(&self.from, errno)),
            };
            let written = if kept {
                self.take_in(bytes)
            } else {
                self.counters.received(1, 0);
                self.counters.dropped(Drop::Overrun, 1);
                Ok(())
            };
            written.map_err(|errno| vanished(self.egress.tap(), errno))?;
        }
        self.egress
            .flush(&mut self.arena)
            .map_err(|errno| vanished(self.egress.tap(), errno))?;
        Ok(reading)
    }

    /// Parse the frame that was read into the arena, and let the schedule decide.
    fn take_in(&mut self, bytes: usize) -> Result<(), Errno> {
        let Some((header, frame)) = self
            .arena
            .room()
            .and_then(|room| room[..bytes].split_first_chunk::<{ vnet::BYTES }>())
        else {
            return Ok(());
        };
        let vnet = Vnet::read(header);
        let (cut, whole) = match vnet.as_ref().map(|vnet| (vnet, vnet.super_packet)) {
            Some((_, Some(packet))) => {
                let cut = Cut::of(frame, packet);
                (cut, cut.is_some())
            }
            Some((vnet, None)) => (Cut::of_datagram(frame, vnet), true),
            None => (None, false),
        };
        let frame_bytes = frame.len();
        let (Some(vnet), true) = (vnet, whole) else {
            self.counters.received(1, frame_bytes as u64);
            self.counters.malformed();
            return Ok(());
        };
        let filter = self.schedule.conditions().filter;
        let udp = match cut {
            Some(cut) => cut.layout().transport == Transport::Udp,
            None => filter.udp && is_udp(frame),
        };
        let fragment = cut.is_none() && filter.fragments && is_fragment(frame);
        let link_bytes = link_header_bytes(frame);
        let id = self.arena.keep(bytes, vnet, cut);
        let result = self.decide(id, cut, frame_bytes, link_bytes, (udp, fragment));
        self.arena.release(id);
        result
    }

    fn decide(
        &mut self,
        id: FrameId,
        cut: Option<Cut>,
        frame_bytes: usize,
        link_bytes: usize,
        (udp, fragment): (bool, bool),
    ) -> Result<(), Errno> {
        let packets = cut.map_or(1, |cut| cut.packets());
        let of_wire =
            |packet: u16| cut.map_or(frame_bytes, |cut| cut.frame_bytes(frame_bytes, packet));
        let wire_bytes = cut.map_or(frame_bytes, |cut| {
            frame_bytes + usize::from(packets - 1) * cut.layout().payload_at
        });
        self.counters
            .received(u64::from(packets), wire_bytes as u64);
        let now_ns = self.now_ns();
        let facts = |bytes: usize| Facts {
            bytes: bytes as u32,
            packet_bytes: bytes.saturating_sub(link_bytes) as u32,
            udp,
            fragment,
        };
        if self.schedule.conditions().unit == Unit::SuperPacket {
            let whole = Parcel {
                frame: id,
                first: 0,
                end: packets,
            };
            return self.offer(now_ns, facts(frame_bytes), whole);
        }
        for packet in 0..packets {
            let bytes = of_wire(packet);
            if bytes > self.longest_frame_bytes {
                self.counters.too_long();
                continue;
            }
            let parcel = Parcel {
                frame: id,
                first: packet,
                end: packet + 1,
            };
            self.offer(now_ns, facts(bytes), parcel)?;
        }
        Ok(())
    }

    fn offer(&mut self, now_ns: u64, facts: Facts, parcel: Parcel) -> Result<(), Errno> {
        let offered = self.schedule.offer(now_ns, facts, parcel);
        self.settle(offered.first, parcel)?;
        if let Some(copy) = offered.copy {
            self.counters.duplicated(parcel.packets());
            self.settle(copy, parcel)?;
        }
        Ok(())
    }

    fn settle(&mut self, outcome: Outcome, parcel: Parcel) -> Result<(), Errno> {
        match outcome {
            Outcome::Departs(corrupt) => {
                self.arena.hold(parcel.frame);
                self.send(parcel, corrupt)
            }
            Outcome::Held => {
                self.arena.hold(parcel.frame);
                Ok(())
            }
            Outcome::Dropped(reason) => {
                self.counters.dropped(reason, parcel.packets());
                Ok(())
            }
        }
    }
}
