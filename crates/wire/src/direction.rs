//! One direction of a cable: a thread that reads at one end and writes at the other.

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::eventfd::{EfdFlags, EventFd};
use nix::sys::time::TimeSpec;

use crate::arena::{Arena, FrameId};
use crate::chance::Chance;
use crate::counters::Counters;
use crate::egress::{Egress, Parcel, wire_packet};
use crate::failure::{Failure, Kind};
use crate::packet::cut::Cut;
use crate::packet::layout::{is_udp, link_header_bytes};
use crate::packet::vnet::{self, Vnet};
use crate::priority::{Urgency, run_as};
use crate::record::Tape;
use crate::schedule::{Conditions, Facts, Fate, Outcome, Schedule, Unit};
use crate::tap::{LINK_HEADER_BYTES, Tap};

/// Frames that are read before what is due and what waits to be written is looked at again.
const BATCH: usize = 64;

/// From a queue of so many packets, those that are due within so long leave together: waking up for
/// each would take more time than a fast link takes for one. They have waited longer than that.
const BACKLOG_PACKETS: usize = 32;
const TOGETHER_NS: u64 = 200_000;

/// Tells threads to stop, whether they are busy or waiting.
pub struct Stop {
    asked: AtomicBool,
    wake: EventFd,
}

impl Stop {
    pub fn new() -> Result<Self, Errno> {
        Ok(Self {
            asked: AtomicBool::new(false),
            wake: EventFd::new()?,
        })
    }

    pub fn ask(&self) {
        self.asked.store(true, Ordering::Release);
        // It is never read, so that it wakes whoever waits, now or later; it can't overflow.
        let _ = self.wake.write(1);
    }

    pub fn asked(&self) -> bool {
        self.asked.load(Ordering::Acquire)
    }
}

impl AsFd for Stop {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.wake.as_fd()
    }
}

/// Where new conditions are put for a direction to find.
pub struct Mailbox {
    conditions: Mutex<Option<Conditions>>,
    full: AtomicBool,
    wake: EventFd,
}

impl Mailbox {
    pub fn new() -> Result<Self, Errno> {
        Ok(Self {
            conditions: Mutex::new(None),
            full: AtomicBool::new(false),
            wake: EventFd::from_flags(EfdFlags::EFD_NONBLOCK | EfdFlags::EFD_CLOEXEC)?,
        })
    }

    pub fn put(&self, conditions: Conditions) {
        *self.slot() = Some(conditions);
        self.full.store(true, Ordering::Release);
        let _ = self.wake.write(1);
    }

    fn take(&self) -> Option<Conditions> {
        if !self.full.swap(false, Ordering::AcqRel) {
            return None;
        }
        let _ = self.wake.read();
        self.slot().take()
    }

    fn slot(&self) -> std::sync::MutexGuard<'_, Option<Conditions>> {
        self.conditions
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a direction starts with.
pub struct Setup {
    pub from: Tap,
    pub egress: Egress,
    /// Of what is sent; the egress has that of what is delivered.
    pub tape: Arc<Tape>,
    pub mtu: u32,
    pub conditions: Conditions,
    pub chance: Chance,
    pub counters: Arc<Counters>,
    pub mailbox: Arc<Mailbox>,
    pub stop: Arc<Stop>,
}

pub struct Direction {
    from: Tap,
    egress: Egress,
    tape: Arc<Tape>,
    scratch: Vec<u8>,
    longest_frame_bytes: usize,
    schedule: Schedule<Parcel>,
    arena: Arena,
    counters: Arc<Counters>,
    mailbox: Arc<Mailbox>,
    stop: Arc<Stop>,
    start: Instant,
}

/// Whether there may be more to read.
#[derive(PartialEq, Eq)]
enum Reading {
    More,
    Drained,
}

impl Direction {
    pub fn new(setup: Setup) -> Self {
        Self {
            from: setup.from,
            egress: setup.egress,
            tape: setup.tape,
            scratch: Vec::new(),
            longest_frame_bytes: setup.mtu as usize + LINK_HEADER_BYTES,
            arena: Arena::new(setup.conditions.in_flight_limit_bytes),
            schedule: Schedule::new(setup.conditions, setup.chance),
            counters: setup.counters,
            mailbox: setup.mailbox,
            stop: setup.stop,
            start: Instant::now(),
        }
    }

    /// Move packets until it is told to stop or a device vanishes.
    pub fn run(mut self) -> Result<(), Failure> {
        // The default slack of 50 us would be added to every delay.
        let _ = nix::sys::prctl::set_timerslack(1);
        run_as(self.urgency());
        while !self.stop.asked() {
            if let Some(conditions) = self.mailbox.take() {
                self.arena.limit(conditions.in_flight_limit_bytes);
                self.schedule.change(self.now_ns(), conditions);
                run_as(self.urgency());
            }
            let written = self.send_due();
            let reading = match written {
                Ok(()) => self.read_batch()?,
                Err(errno) => return Err(vanished(self.egress.tap(), errno)),
            };
            let overtaken = self.schedule.overtaken();
            self.counters
                .in_flight(self.schedule.in_flight() as u64, overtaken);
            if reading == Reading::Drained {
                self.wait()?;
            }
        }
        Ok(())
    }

    fn urgency(&self) -> Urgency {
        if self.schedule.conditions().holds_packets() {
            Urgency::OnTime
        } else {
            Urgency::First
        }
    }

    fn now_ns(&self) -> u64 {
        // 2^64 ns are 584 years
        self.start.elapsed().as_nanos() as u64
    }

    fn send_due(&mut self) -> Result<(), Errno> {
        let mut now_ns = self.now_ns();
        while let Some((fate, parcel)) = self.schedule.take(now_ns) {
            match fate {
                Fate::Departs { due_ns, corrupt } => {
                    self.counters
                        .departed(now_ns.saturating_sub(due_ns), parcel.packets());
                    self.send(parcel, corrupt)?;
                }
                Fate::Dropped(reason) => {
                    self.counters.dropped(reason, parcel.packets());
                    self.arena.release(parcel.frame);
                }
            }
            if self.schedule.is_paced() {
                self.egress.flush(&mut self.arena)?;
                now_ns = self.now_ns();
                self.schedule.had_left_by(now_ns);
            }
        }
        self.egress.flush(&mut self.arena)
    }

    /// The parcel's hold on its frame goes with it.
    fn send(&mut self, parcel: Parcel, corrupt: Option<u64>) -> Result<(), Errno> {
        match corrupt {
            None => self.egress.send(&mut self.arena, parcel),
            Some(draw) => self.egress.send_corrupted(&mut self.arena, parcel, draw),
        }
    }

    fn read_batch(&mut self) -> Result<Reading, Failure> {
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
                self.counters.dropped(crate::schedule::Drop::Overrun, 1);
                Ok(())
            };
            written.map_err(|errno| vanished(self.egress.tap(), errno))?;
        }
        self.egress
            .flush(&mut self.arena)
            .map_err(|errno| vanished(self.egress.tap(), errno))?;
        Ok(reading)
    }

    /// What was read into the arena's room: look at it, and let the schedule decide.
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
        let udp = match cut {
            Some(cut) => cut.layout().transport == crate::packet::layout::Transport::Udp,
            None => self.schedule.conditions().filter.udp && is_udp(frame),
        };
        let link_bytes = link_header_bytes(frame);
        let id = self.arena.keep(bytes, vnet, cut);
        let result = self.decide(id, cut, frame_bytes, link_bytes, udp);
        self.arena.release(id);
        result
    }

    fn decide(
        &mut self,
        id: FrameId,
        cut: Option<Cut>,
        frame_bytes: usize,
        link_bytes: usize,
        udp: bool,
    ) -> Result<(), Errno> {
        let packets = cut.map_or(1, |cut| cut.packets());
        let of_wire =
            |packet: u16| cut.map_or(frame_bytes, |cut| cut.frame_bytes(frame_bytes, packet));
        let wire_bytes = cut.map_or(frame_bytes, |cut| {
            frame_bytes + usize::from(packets - 1) * cut.layout().payload_at
        });
        self.counters
            .received(u64::from(packets), wire_bytes as u64);
        let arena = &self.arena;
        self.tape
            .record(0..packets, &mut self.scratch, |packet, out| {
                wire_packet(arena, id, packet, out);
            });
        let now_ns = self.now_ns();
        let facts = |bytes: usize| Facts {
            bytes: bytes as u32,
            packet_bytes: bytes.saturating_sub(link_bytes) as u32,
            udp,
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

    /// Wait for a frame, for the next departure, for new conditions, or to be told to stop.
    fn wait(&self) -> Result<(), Failure> {
        let queued = self.schedule.is_paced() && self.schedule.waiting() >= BACKLOG_PACKETS;
        let least_ns = match (queued, self.schedule.is_behind(self.now_ns())) {
            (false, _) => 0,
            (true, false) => TOGETHER_NS,
            // what waits longer now is late for good
            (true, true) => TOGETHER_NS / 4,
        };
        let timeout = self.schedule.next_event_ns().map(|due_ns| {
            let left_ns = due_ns.saturating_sub(self.now_ns()).max(least_ns);
            TimeSpec::from(Duration::from_nanos(left_ns))
        });
        let mut watched = [
            PollFd::new(self.from.as_fd(), PollFlags::POLLIN),
            PollFd::new((*self.stop).as_fd(), PollFlags::POLLIN),
            PollFd::new(self.mailbox.wake.as_fd(), PollFlags::POLLIN),
        ];
        match ppoll(&mut watched, timeout, None) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(errno) => return Err(Failure::refused("waiting for packets", errno, "try again")),
        }
        if watched[0]
            .revents()
            .is_some_and(|seen| seen.intersects(PollFlags::POLLERR))
        {
            return Err(vanished(&self.from, Errno::EBADFD));
        }
        Ok(())
    }
}

fn vanished(tap: &Tap, errno: Errno) -> Failure {
    let why = match errno {
        Errno::EBADFD | Errno::ENODEV => "was removed while the cable was in use",
        _ => errno.desc(),
    };
    Failure::new(
        Kind::Failed,
        format!("device {}", tap.device().as_str()),
        why,
        "start the cable again",
    )
}
