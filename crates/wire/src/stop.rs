//! The signal that stops threads.

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicBool, Ordering};

use nix::errno::Errno;
use nix::sys::eventfd::EventFd;

/// Stops threads, whether they are busy or waiting.
pub struct Stop {
    requested: AtomicBool,
    wake: EventFd,
}

impl Stop {
    pub fn new() -> Result<Self, Errno> {
        Ok(Self {
            requested: AtomicBool::new(false),
            wake: EventFd::new()?,
        })
    }

    pub fn request(&self) {
        self.requested.store(true, Ordering::Release);
        // It is never read, so that it wakes every waiting thread, now or later; it cannot overflow.
        let _ = self.wake.write(1);
    }

    pub fn requested(&self) -> bool {
        self.requested.load(Ordering::Acquire)
    }
}

impl AsFd for Stop {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.wake.as_fd()
    }
}
