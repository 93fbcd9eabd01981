//! One direction of a cable: a thread that reads at one end and writes at the other.

mod arena;
mod awake;
pub mod counters;
pub mod egress;
mod intake;
pub mod mailbox;
pub mod priority;

use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;

use crate::device::tap::{LINK_HEADER_BYTES, Tap};
use crate::failure::{Failure, Kind};
use crate::schedule::chance::Chance;
use crate::schedule::{Conditions, Fate, Schedule};
use crate::stop::Stop;
use arena::Arena;
use awake::Awake;
use counters::Counters;
use egress::{Egress, Parcel};
use intake::Reading;
use mailbox::Mailbox;
use priority::{Urgency, give_way, run_as};

/// From a queue of so many packets, those that are due within so long leave together: waking up for
/// each would take more time than a fast link takes for one. They have waited longer than that.
const BACKLOG_PACKETS: usize = 32;
const TOGETHER_NS: u64 = 50_000;
const TOGETHER_LATE_NS: u64 = 20_000;

/// Processors stay awake this long after the last packet, as the next one often follows soon.
const LINGER_NS: u64 = 1_000_000_000;

/// The initial state of a direction.
pub struct Setup {
    pub from: Tap,
    pub egress: Egress,
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
    longest_frame_bytes: usize,
    schedule: Schedule<Parcel>,
    arena: Arena,
    counters: Arc<Counters>,
    mailbox: Arc<Mailbox>,
    stop: Arc<Stop>,
    start: Instant,
    awake: Option<Awake>,
    /// The time since which no packet has been in flight.
    empty_since_ns: u64,
}

impl Direction {
    pub fn new(setup: Setup) -> Self {
        Self {
            from: setup.from,
            egress: setup.egress,
            longest_frame_bytes: setup.mtu as usize + LINK_HEADER_BYTES,
            arena: Arena::new(setup.conditions.in_flight_limit_bytes),
            schedule: Schedule::new(setup.conditions, setup.chance),
            counters: setup.counters,
            mailbox: setup.mailbox,
            stop: setup.stop,
            start: Instant::now(),
            awake: None,
            empty_since_ns: 0,
        }
    }

    /// Move packets until it is stopped or a device is removed.
    pub fn run(mut self) -> Result<(), Failure> {
        // The default slack of 50 us would be added to every delay.
        let _ = nix::sys::prctl::set_timerslack(1);
        run_as(self.urgency());
        while !self.stop.requested() {
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
            } else if self.urgency() == Urgency::OnTime {
                give_way();
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
                Fate::Departs {
                    due_ns,
                    asked_ns,
                    late_ns,
                    corrupt,
                } => {
                    let behind_ns = now_ns.saturating_sub(due_ns);
                    self.counters
                        .departed(late_ns, behind_ns, asked_ns, parcel.packets());
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

    /// When to look after the next event: from a queue packets leave together. Of what is late already
    /// fewer wait for each other, for that makes them later.
    fn gather(&self, event_ns: u64) -> u64 {
        if !self.schedule.is_paced() || self.schedule.waiting() < BACKLOG_PACKETS {
            return event_ns;
        }
        let now_ns = self.now_ns();
        let together_ns = if self.schedule.is_behind(now_ns) {
            TOGETHER_LATE_NS
        } else {
            TOGETHER_NS
        };
        event_ns.max(now_ns + together_ns)
    }

    /// Keep processors awake while packets have a moment at which they leave, and a little longer;
    /// until when, if none has.
    fn stay_awake(&mut self, event_ns: Option<u64>) -> Option<u64> {
        if event_ns.is_some() {
            self.empty_since_ns = u64::MAX;
            self.awake.get_or_insert_with(Awake::keep);
            return None;
        }
        self.awake.as_ref()?;
        let now_ns = self.now_ns();
        self.empty_since_ns = self.empty_since_ns.min(now_ns);
        let until_ns = self.empty_since_ns + LINGER_NS;
        if until_ns <= now_ns {
            self.awake = None;
            return None;
        }
        Some(until_ns)
    }

    /// Wait for a frame, the next departure, new conditions, or the signal to stop.
    fn wait(&mut self) -> Result<(), Failure> {
        let event_ns = self.schedule.next_event_ns();
        let until_ns = event_ns
            .map(|event_ns| self.gather(event_ns))
            .or(self.stay_awake(event_ns));
        let timeout = until_ns.map(|until_ns| {
            TimeSpec::from(Duration::from_nanos(until_ns.saturating_sub(self.now_ns())))
        });
        let mut watched = [
            PollFd::new(self.from.as_fd(), PollFlags::POLLIN),
            PollFd::new((*self.stop).as_fd(), PollFlags::POLLIN),
            PollFd::new((*self.mailbox).as_fd(), PollFlags::POLLIN),
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
