//! Sends requests when they are due and takes their answers, in one loop.
//!
//! ```text
//!   ── sleep, take what comes ──┬── awake for `spin_ns` ──┬ send
//!                               due - spin                due
//! ```
//! One thread: a second one that received would have to be woken for each answer, and would take a
//! core from those that answer. Where the kernel stamps arrivals nothing is lost by reading later.

use super::tally::{Expected, Tally};
use crate::net::echo_channel::{EchoChannel, Inbox};
use crate::packet::header::{Header, Kind};
use crate::protocol::failure::{Failure, errno_name};
use crate::results::latency::Latency;
use crate::timing::clock;
use crate::timing::stop::Stop;
use crate::timing::timetable::Timetable;
use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::os::fd::AsFd;

/// Stamped answers that may wait in the socket while requests are due without a pause.
const GATHERED: u64 = 32;

/// What was sent, and what came back.
pub struct Outcome {
    pub sent: u64,
    /// Tried when the next one was due as well.
    pub overdue: u64,
    pub errors: BTreeMap<String, u64>,
    pub schedule_error: Latency,
    pub tally: Tally,
    pub by_kernel: bool,
}

pub struct Engine<'a> {
    pub channel: &'a EchoChannel,
    pub schedule: Timetable,
    pub expected: Expected,
    /// Awake for so long before each request.
    pub spin_ns: u64,
    pub stop: &'a Stop,
}

struct Progress {
    inbox: Inbox,
    /// Requests as numbered answers were last looked for.
    looked: u64,
    outcome: Outcome,
}

impl Engine<'_> {
    /// Follows the schedule to its end, then waits for the last answers.
    pub fn run(&self) -> Result<Outcome, Failure> {
        clock::use_exact_timers();
        let inbox = self.channel.inbox(self.expected.payload.len());
        let mut progress = Progress {
            looked: 0,
            outcome: Outcome {
                sent: 0,
                overdue: 0,
                errors: BTreeMap::new(),
                schedule_error: Latency::default(),
                tally: Tally::default(),
                by_kernel: inbox.stamped(),
            },
            inbox,
        };
        self.send_all(&mut progress)?;
        self.await_last(&mut progress)?;
        Ok(progress.outcome)
    }

    fn send_all(&self, progress: &mut Progress) -> Result<(), Failure> {
        let mut outbox = self.channel.outbox(&self.expected.payload);
        for sequence in 0..self.expected.count {
            let due_ns = self.schedule.time_ns(sequence);
            let Some(time_ns) = self.until(due_ns, sequence, progress)? else {
                return Ok(());
            };
            let header = Header {
                kind: Kind::Request,
                tag: self.expected.tag,
                flow: 0,
                sequence,
                time_ns,
            };
            let outcome = &mut progress.outcome;
            match outbox.send(self.channel, &header) {
                Ok(()) => outcome.sent += 1,
                Err(error) => {
                    *outcome.errors.entry(errno_name(&error)).or_default() += 1;
                    if matches!(self.channel, EchoChannel::Tcp(_)) {
                        // Half a message may have gone: what follows would not be understood.
                        return Ok(());
                    }
                }
            }
            outcome
                .schedule_error
                .record(time_ns.saturating_sub(due_ns));
            if time_ns >= self.schedule.time_ns(sequence + 1) {
                outcome.overdue += 1;
            }
        }
        Ok(())
    }

    /// Takes answers until the time has come: returns it, or None if the task is to end.
    fn until(
        &self,
        due_ns: u64,
        sequence: u64,
        progress: &mut Progress,
    ) -> Result<Option<u64>, Failure> {
        let awake_ns = due_ns.saturating_sub(self.spin_ns);
        let mut now_ns = clock::monotonic_ns();
        while now_ns < awake_ns {
            if self
                .stop
                .wait_readable(self.channel.socket().as_fd(), awake_ns)
            {
                self.take(progress)?;
            }
            if self.stop.requested() {
                return Ok(None);
            }
            progress.looked = sequence;
            now_ns = clock::monotonic_ns();
        }
        if now_ns < due_ns {
            // Who answers may have been woken on this very CPU, behind this thread that stays awake.
            std::thread::yield_now();
        }
        if sequence - progress.looked >= GATHERED {
            progress.looked = sequence;
            self.take(progress)?;
            now_ns = clock::monotonic_ns();
        }
        while now_ns < due_ns {
            if progress.outcome.by_kernel {
                std::hint::spin_loop();
            } else {
                self.take(progress)?;
            }
            now_ns = clock::monotonic_ns();
        }
        Ok((!self.stop.requested()).then_some(now_ns))
    }

    fn await_last(&self, progress: &mut Progress) -> Result<(), Failure> {
        let deadline_ns = clock::monotonic_ns() + self.expected.timeout_ns;
        loop {
            self.take(progress)?;
            let outcome = &progress.outcome;
            let all = outcome.tally.answered() >= outcome.sent;
            if all || self.stop.requested() || clock::monotonic_ns() >= deadline_ns {
                return Ok(());
            }
            self.stop
                .wait_readable(self.channel.socket().as_fd(), deadline_ns);
        }
    }

    /// Takes all answers that are there.
    fn take(&self, progress: &mut Progress) -> Result<(), Failure> {
        let Progress { inbox, outcome, .. } = progress;
        loop {
            let taken = inbox.receive_now(self.channel, |packet, arrived_ns| {
                outcome.tally.take(
                    self.channel,
                    &self.expected,
                    &self.schedule,
                    packet,
                    arrived_ns,
                );
            });
            match taken {
                Ok(true) => {}
                Ok(false) => return Ok(()),
                Err(error) if is_passing(&error) => {}
                Err(_) if self.stop.requested() => return Ok(()),
                Err(error) => return Err(Failure::io("rtt: receive", &error)),
            }
        }
    }
}

/// Errors that do not mean that no answer will come: an ICMP error for a request, a signal.
fn is_passing(error: &io::Error) -> bool {
    error.kind() == ErrorKind::Interrupted
        || matches!(
            error.raw_os_error(),
            Some(libc::ECONNREFUSED | libc::EHOSTUNREACH | libc::ENETUNREACH)
        )
}
