//! What became of a flow's messages.

use crate::protocol::failure::errno_name;
use crate::timing::clock;
use serde::Serialize;
use std::collections::BTreeMap;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The fate of one message.
pub enum Fate {
    Answered,
    Unanswered,
    /// By the kernel, or by the resolver's library.
    Refused(String),
}

impl Fate {
    pub fn of_error(error: &io::Error) -> Fate {
        match error.kind() {
            io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => Fate::Unanswered,
            _ => Fate::Refused(errno_name(error)),
        }
    }
}

/// Times are CLOCK_REALTIME.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Tallied {
    name: String,
    attempts: u64,
    answered: u64,
    unanswered: u64,
    refused: BTreeMap<String, u64>,
    first_answer_ns: Option<u64>,
    last_answer_ns: Option<u64>,
    /// Longest time between two attempts.
    longest_pause_ns: u64,
}

#[derive(Default)]
pub struct Tally(Mutex<(Tallied, Option<u64>)>);

impl Tally {
    /// A message is about to be sent.
    pub fn begin(&self) {
        let mut both = self.lock();
        let (tallied, last_ns) = &mut *both;
        let now_ns = clock::monotonic_ns();
        tallied.attempts += 1;
        if let Some(before_ns) = last_ns.replace(now_ns) {
            tallied.longest_pause_ns = tallied.longest_pause_ns.max(now_ns - before_ns);
        }
    }

    pub fn end(&self, fate: Fate) {
        let (tallied, _) = &mut *self.lock();
        match fate {
            Fate::Answered => {
                let now_ns = clock::realtime_ns();
                tallied.answered += 1;
                tallied.first_answer_ns.get_or_insert(now_ns);
                tallied.last_answer_ns = Some(now_ns);
            }
            Fate::Unanswered => tallied.unanswered += 1,
            Fate::Refused(name) => *tallied.refused.entry(name).or_default() += 1,
        }
    }

    pub fn finish(self, name: String) -> Tallied {
        let (tallied, _) = self.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        Tallied { name, ..tallied }
    }

    fn lock(&self) -> MutexGuard<'_, (Tallied, Option<u64>)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
