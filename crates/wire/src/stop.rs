//! The signal that stops threads.

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicBool, Ordering};

use nix::errno::Errno;
use nix::sys::eventfd::EventFd;

/// Stops threads, whether they are busy or waiting.
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
        // It is never read, so that it wakes every waiting thread, now or later; it cannot overflow.
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
