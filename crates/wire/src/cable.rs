//! A cable: two devices, two directions, two threads.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;

use crate::device::endpoint::Endpoint;
use crate::device::tap::{Offloads, Tap};
use crate::direction::counters::{Counters, Counts};
use crate::direction::egress::Egress;
use crate::direction::mailbox::Mailbox;
use crate::direction::{Direction, Setup};
use crate::failure::{Failure, Kind};
use crate::record::{self, Limits, Point, Saved, Tape};
use crate::schedule::Conditions;
use crate::schedule::chance::Chance;
use crate::stop::Stop;

/// Directions draw from the streams before.
const FIRST_TAPE_STREAM: u64 = 16;

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
    /// Of what is sent, and of what is delivered.
    tapes: [Arc<Tape>; 2],
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
        let line = |from: u64| -> Result<Line, Failure> {
            let tape = |point: u64| {
                let stream = FIRST_TAPE_STREAM + 2 * from + point;
                Arc::new(Tape::new(Chance::new(plan.seed, stream)))
            };
            Ok(Line {
                counters: Arc::default(),
                mailbox: Arc::new(Mailbox::new().map_err(refused)?),
                tapes: [tape(0), tape(1)],
            })
        };
        let mut cable = Self {
            ends,
            lines: [line(0)?, line(1)?],
            threads: Vec::new(),
            stop: Arc::new(Stop::new().map_err(refused)?),
        };
        for (from, conditions) in plan.conditions.into_iter().enumerate() {
            let Line {
                counters,
                mailbox,
                tapes: [sent, delivered],
            } = &cable.lines[from];
            let to = cable.ends[1 - from].handle()?;
            let joins = plan.offloads == Offloads::SuperPackets;
            let setup = Setup {
                from: cable.ends[from].handle()?,
                egress: Egress::new(to, Arc::clone(counters), Arc::clone(delivered), joins),
                tape: Arc::clone(sent),
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

    /// Start a recording of that name at these points of both directions; it replaces an existing
    /// one.
    pub fn record(&self, name: &str, limits: &Limits, points: [Point; 2]) {
        self.forget(name);
        for (line, point) in self.lines.iter().zip(points) {
            match point {
                Point::Sent => line.tapes[0].start(name, limits),
                Point::Delivered => line.tapes[1].start(name, limits),
                Point::Nowhere => {}
            }
        }
    }

    /// Stop a recording; its packets are kept. Returns whether there is such a recording.
    pub fn stop_recording(&self, name: &str) -> bool {
        let stopped = self.tapes().map(|tape| tape.stop(name));
        // not any(): all are to be stopped
        stopped.fold(false, |before, stopped| before | stopped)
    }

    /// Free the memory of a recording.
    pub fn forget(&self, name: &str) {
        self.tapes().for_each(|tape| tape.forget(name));
    }

    /// Save what was recorded as pcapng, with an interface for each point; None if there is no such
    /// recording.
    pub fn save(&self, name: &str, path: &Path) -> Option<io::Result<Saved>> {
        let mut interfaces = Vec::new();
        for (line, direction) in self.lines.iter().zip(["a to b", "b to a"]) {
            let [sent, delivered] = &line.tapes;
            let label = format!("{direction}, sent");
            interfaces.extend(sent.interface(name, label, Point::Sent));
            let label = direction.to_string();
            interfaces.extend(delivered.interface(name, label, Point::Delivered));
        }
        (!interfaces.is_empty()).then(|| record::save(&interfaces, path))
    }

    fn tapes(&self) -> impl Iterator<Item = &Arc<Tape>> {
        self.lines.iter().flat_map(|line| &line.tapes)
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
