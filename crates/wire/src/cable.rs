//! A cable: two devices, two directions, two threads.

use std::sync::Arc;
use std::thread::JoinHandle;

use crate::chance::Chance;
use crate::counters::{Counters, Counts};
use crate::direction::{Direction, Stop};
use crate::endpoint::Endpoint;
use crate::failure::{Failure, Kind};
use crate::schedule::{Conditions, Schedule};
use crate::tap::Tap;

/// What a cable is to be.
#[derive(Debug, Clone)]
pub struct Plan {
    pub a: Endpoint,
    pub b: Endpoint,
    /// Bytes of the longest IP packet, at both ends.
    pub mtu: u32,
    pub a_to_b: Conditions,
    pub b_to_a: Conditions,
    pub seed: u64,
}

/// A cable in use. Its devices are gone when it is dropped.
pub struct Cable {
    ends: [Tap; 2],
    counters: [Arc<Counters>; 2],
    threads: Vec<JoinHandle<Result<(), Failure>>>,
    stop: Arc<Stop>,
}

/// What was seen, by direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct Statistics {
    pub a_to_b: Counts,
    pub b_to_a: Counts,
}

impl Cable {
    /// Make both devices (down: whoever owns the nodes brings them up) and move packets.
    pub fn connect(plan: &Plan) -> Result<Self, Failure> {
        let ends = [Tap::make(&plan.a, plan.mtu)?, Tap::make(&plan.b, plan.mtu)?];
        let stop = Stop::new()
            .map(Arc::new)
            .map_err(|errno| Failure::refused("a cable", errno, "raise ulimit -n"))?;
        let mut cable = Self {
            ends,
            counters: Default::default(),
            threads: Vec::new(),
            stop,
        };
        cable.start(0, plan.a_to_b, plan)?;
        cable.start(1, plan.b_to_a, plan)?;
        Ok(cable)
    }

    /// Start the direction away from the end `from` (0: a, 1: b).
    fn start(&mut self, from: usize, conditions: Conditions, plan: &Plan) -> Result<(), Failure> {
        let direction = Direction {
            from: self.ends[from].handle()?,
            to: self.ends[1 - from].handle()?,
            mtu: plan.mtu,
            schedule: Schedule::new(conditions, Chance::new(plan.seed, from as u64)),
            counters: Arc::clone(&self.counters[from]),
            stop: Arc::clone(&self.stop),
        };
        let stop = Arc::clone(&self.stop);
        let thread = std::thread::Builder::new()
            .name(["a to b", "b to a"][from].to_string())
            .spawn(move || {
                let result = direction.run();
                // one direction alone is no cable
                stop.ask();
                result
            })
            .map_err(|error| Failure::new(Kind::Failed, "a thread", error, "raise ulimit -u"))?;
        self.threads.push(thread);
        Ok(())
    }

    /// Becomes ready to read when the cable has ended by itself.
    pub fn ended(&self) -> &Stop {
        &self.stop
    }

    pub fn statistics(&mut self) -> Statistics {
        let mut read = |from: usize| Counts {
            ring_full_packets: self.ends[from].ring_full_packets().unwrap_or(0),
            ..self.counters[from].read()
        };
        Statistics {
            a_to_b: read(0),
            b_to_a: read(1),
        }
    }

    /// Stop moving packets and remove the devices; tells why it ended by itself, if it did.
    pub fn disconnect(mut self) -> (Statistics, Result<(), Failure>) {
        let result = self.stop_threads();
        (self.statistics(), result)
    }

    fn stop_threads(&mut self) -> Result<(), Failure> {
        self.stop.ask();
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
