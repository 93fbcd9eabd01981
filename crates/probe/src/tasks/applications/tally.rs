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
    /// Longest time without an attempt, from the start to the end.
    longest_pause_ns: u64,
}

/// With the time of the last turn.
pub struct Tally(Mutex<(Tallied, u64)>);

impl Tally {
    pub fn new(started_ns: u64) -> Tally {
        Tally(Mutex::new((Tallied::default(), started_ns)))
    }

    /// A message is due, or the flow ends.
    pub fn turn(&self, now_ns: u64) {
        let (tallied, last_ns) = &mut *self.lock();
        let pause_ns = now_ns.saturating_sub(std::mem::replace(last_ns, now_ns));
        tallied.longest_pause_ns = tallied.longest_pause_ns.max(pause_ns);
    }

    /// A message is about to be sent.
    pub fn begin(&self) {
        self.lock().0.attempts += 1;
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

    fn lock(&self) -> MutexGuard<'_, (Tallied, u64)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn silence_before_the_first_message_and_behind_the_last_is_a_pause() {
        let longest = |turns_ns: &[u64]| {
            let tally = Tally::new(1000);
            turns_ns.iter().for_each(|now_ns| tally.turn(*now_ns));
            tally.finish(String::new()).longest_pause_ns
        };
        assert_eq!(longest(&[1100, 1180, 1200]), 100);
        assert_eq!(longest(&[1900, 1920]), 900);
        assert_eq!(longest(&[1020, 1040, 1990]), 950);
        assert_eq!(longest(&[2000]), 1000);
    }
}
