//! How a direction that is in use gets new conditions.

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use nix::errno::Errno;
use nix::sys::eventfd::{EfdFlags, EventFd};

use crate::schedule::Conditions;

/// Passes new conditions to the thread of a direction.
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

    pub fn take(&self) -> Option<Conditions> {
        if !self.full.swap(false, Ordering::AcqRel) {
            return None;
        }
        let _ = self.wake.read();
        self.slot().take()
    }

    fn slot(&self) -> MutexGuard<'_, Option<Conditions>> {
        self.conditions
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl AsFd for Mailbox {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.wake.as_fd()
    }
}
