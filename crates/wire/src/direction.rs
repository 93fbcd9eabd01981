//! One direction of a cable: a thread that reads at one end and writes at the other.

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::eventfd::EventFd;
use nix::sys::time::TimeSpec;

use crate::counters::Counters;
use crate::failure::{Failure, Kind};
use crate::schedule::{Outcome, Schedule};
use crate::tap::{LINK_HEADER_BYTES, LONGEST_FRAME_BYTES, Tap};

/// Frames that are read before the clock and what is due are looked at again.
const BATCH: usize = 64;

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

pub struct Direction {
    pub from: Tap,
    pub to: Tap,
    pub mtu: u32,
    pub schedule: Schedule<Box<[u8]>>,
    pub counters: Arc<Counters>,
    pub stop: Arc<Stop>,
}

/// Whether there may be more to read.
#[derive(PartialEq, Eq)]
enum Reading {
    More,
    Drained,
}

impl Direction {
    /// Move packets until it is told to stop or a device vanishes.
    pub fn run(mut self) -> Result<(), Failure> {
        // The default slack of 50 us would be added to every delay.
        let _ = nix::sys::prctl::set_timerslack(1);
        let start = Instant::now();
        let mut buffer = vec![0u8; LONGEST_FRAME_BYTES].into_boxed_slice();
        while !self.stop.asked() {
            let now_ns = elapsed_ns(start);
            self.send_due(now_ns)?;
            let reading = self.read_batch(now_ns, &mut buffer)?;
            self.counters.in_flight(self.schedule.in_flight() as u64);
            if reading == Reading::Drained {
                self.wait(start)?;
            }
        }
        Ok(())
    }

    fn send_due(&mut self, now_ns: u64) -> Result<(), Failure> {
        while let Some((_, frame)) = self.schedule.take_due(now_ns) {
            self.write(&frame)?;
        }
        Ok(())
    }

    fn read_batch(&mut self, now_ns: u64, buffer: &mut [u8]) -> Result<Reading, Failure> {
        for _ in 0..BATCH {
            let length = match self.from.read(buffer) {
                Ok(length) => length,
                Err(Errno::EAGAIN) => return Ok(Reading::Drained),
                Err(Errno::EINTR) => continue,
                Err(errno) => return Err(vanished(&self.from, errno)),
            };
            let frame = &buffer[..length];
            self.counters.received(length as u64);
            if length > self.mtu as usize + LINK_HEADER_BYTES {
                self.counters.too_long();
                continue;
            }
            match self.schedule.offer(now_ns, length as u64, || frame.into()) {
                Outcome::Departs => self.write(frame)?,
                Outcome::Held(_) => {}
                Outcome::Dropped(reason) => self.counters.dropped(reason),
            }
        }
        Ok(Reading::More)
    }

    fn write(&self, frame: &[u8]) -> Result<(), Failure> {
        match self.to.write(frame) {
            Ok(_) => self.counters.delivered(frame.len() as u64),
            // down, out of buffers, or a frame that the kernel holds for malformed
            Err(Errno::EIO | Errno::EAGAIN | Errno::ENOBUFS | Errno::ENOMEM | Errno::EINVAL) => {
                self.counters.refused();
            }
            Err(errno) => return Err(vanished(&self.to, errno)),
        }
        Ok(())
    }

    /// Wait for a frame, for the next departure, or to be told to stop.
    fn wait(&self, start: Instant) -> Result<(), Failure> {
        let timeout = self.schedule.next_departure_ns().map(|due_ns| {
            TimeSpec::from(Duration::from_nanos(
                due_ns.saturating_sub(elapsed_ns(start)),
            ))
        });
        let mut watched = [
            PollFd::new(self.from.as_fd(), PollFlags::POLLIN),
            PollFd::new((*self.stop).as_fd(), PollFlags::POLLIN),
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

fn elapsed_ns(start: Instant) -> u64 {
    // 2^64 ns are 584 years
    start.elapsed().as_nanos() as u64
}
