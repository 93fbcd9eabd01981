//! A cable: two devices, two directions, two threads.

use std::sync::Arc;
use std::thread::JoinHandle;

use crate::device::endpoint::Endpoint;
use crate::device::tap::{Offloads, Tap};
use crate::direction::counters::{Counters, Counts};
use crate::direction::egress::Egress;
use crate::direction::mailbox::Mailbox;
use crate::direction::{Direction, Setup};
use crate::failure::{Failure, Kind};
use crate::schedule::Conditions;
use crate::schedule::chance::Chance;
use crate::stop::Stop;

/// The settings of a cable.
#[derive(Debug, Clone)]
pub struct Plan {
    pub a: Endpoint,
    pub b: Endpoint,
    /// Bytes of the longest IP packet, at both ends.
    pub mtu: u32,
    pub offloads: Offloads,
    /// From a to b, and from b to a.
    pub conditions: [Conditions; 2],
    pub seed: u64,
}

/// A cable in use. Its devices are removed when it is dropped.
pub struct Cable {
    ends: [Tap; 2],
    lines: [Line; 2],
    threads: Vec<JoinHandle<Result<(), Failure>>>,
    stop: Arc<Stop>,
}

/// State that a direction shares with the owner of the cable.
struct Line {
    counters: Arc<Counters>,
    mailbox: Arc<Mailbox>,
}

/// The counts of each direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct Statistics {
    pub a_to_b: Counts,
    pub b_to_a: Counts,
}

impl Cable {
    /// Create both devices (down: the owner of the nodes brings them up) and move packets.
    pub fn connect(plan: Plan) -> Result<Self, Failure> {
        let ends = [
            Tap::make(&plan.a, plan.mtu, plan.offloads)?,
            Tap::make(&plan.b, plan.mtu, plan.offloads)?,
        ];
        let refused = |errno| Failure::refused("a cable", errno, "raise ulimit -n");
        let line = || -> Result<Line, Failure> {
            Ok(Line {
                counters: Arc::default(),
                mailbox: Arc::new(Mailbox::new().map_err(refused)?),
            })
        };
        let mut cable = Self {
            ends,
            lines: [line()?, line()?],
            threads: Vec::new(),
            stop: Arc::new(Stop::new().map_err(refused)?),
        };
        for (from, conditions) in plan.conditions.into_iter().enumerate() {
            let Line { counters, mailbox } = &cable.lines[from];
            let to = cable.ends[1 - from].handle()?;
            let joins = plan.offloads == Offloads::SuperPackets;
            let setup = Setup {
                from: cable.ends[from].handle()?,
                egress: Egress::new(to, Arc::clone(counters), joins),
                mtu: plan.mtu,
                conditions,
                chance: Chance::new(plan.seed, from as u64),
                counters: Arc::clone(counters),
                mailbox: Arc::clone(mailbox),
                stop: Arc::clone(&cable.stop),
            };
            cable.start(["a to b", "b to a"][from], setup)?;
        }
        Ok(cable)
    }

    fn start(&mut self, name: &str, setup: Setup) -> Result<(), Failure> {
        let stop = Arc::clone(&self.stop);
        let thread = std::thread::Builder::new()
            .name(name.to_string())
            .spawn(move || {
                let result = Direction::new(setup).run();
                // a cable needs both directions
                stop.request();
                result
            })
            .map_err(|error| Failure::new(Kind::Failed, "a thread", error, "raise ulimit -u"))?;
        self.threads.push(thread);
        Ok(())
    }

    /// Set new conditions for the direction from the end `from` (0: a, 1: b).
    pub fn change(&self, from: usize, conditions: Conditions) {
        self.lines[from].mailbox.put(conditions);
    }

    /// Becomes ready to read when the cable has ended by itself.
    pub fn ended(&self) -> &Stop {
        &self.stop
    }

    pub fn statistics(&mut self) -> Statistics {
        let mut read = |from: usize| Counts {
            ring_full_packets: self.ends[from].ring_full_packets().unwrap_or(0),
            ..self.lines[from].counters.read()
        };
        Statistics {
            a_to_b: read(0),
            b_to_a: read(1),
        }
    }

    /// Stop moving packets; returns the error if it had ended by itself.
    pub fn stop(&mut self) -> Result<(), Failure> {
        self.stop_threads()
    }

    fn stop_threads(&mut self) -> Result<(), Failure> {
        self.stop.request();
        let mut result = Ok(());
        for thread in self.threads.drain(..) {
            let ended = thread.join().unwrap_or_else(|_| {
                Err(Failure::new(
                    Kind::Failed,
                    "a cable",
                    "one of its threads died",
                    "this is a bug in Culvert: please report it",
                ))
            });
            result = result.and(ended);
        }
        result
    }
}

impl Drop for Cable {
    fn drop(&mut self) {
        let _ = self.stop_threads();
    }
}
