//! The witness: recorded packets, kept in memory and saved as pcapng.
//!
//! ```text
//!   node a ── sent ── [ rate, loss, delay ... ] ── delivered ── node b       and the other way
//! ```
//!
//! Each direction has a tape at both points, so that recording adds no waiting between directions.
//! Several recordings can run at once, each with its own limits.

mod file;
mod flow;
mod marks;
mod ring;

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::Deserialize;

use crate::schedule::chance::Chance;
pub use file::{Interface, save};
pub use flow::Protocol;
pub use marks::Marks;
pub use ring::Limits;
use ring::Ring;

/// Where in a direction to record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Point {
    /// Packets from a node before any impairment, stamped when they are read.
    Sent,
    /// What arrives, stamped when it is written.
    Delivered,
    Nowhere,
}

/// The number of packets in a file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct Saved {
    pub packets: u64,
    /// Recorded packets that were overwritten by later ones.
    pub forgotten: u64,
}

#[derive(Debug)]
struct Recording {
    ring: Ring,
    running: bool,
}

/// All recordings of one direction at one point, by name.
#[derive(Debug)]
pub struct Tape {
    running: AtomicBool,
    recordings: Mutex<BTreeMap<String, Recording>>,
    chance: Chance,
}

impl Tape {
    /// `chance` draws what is recorded of a sample.
    pub fn new(chance: Chance) -> Self {
        Self {
            running: AtomicBool::new(false),
            recordings: Mutex::default(),
            chance,
        }
    }

    /// Start anew, with an empty ring.
    pub fn start(&self, name: &str, limits: &Limits) {
        let recording = Recording {
            ring: Ring::new(limits.clone(), self.chance),
            running: true,
        };
        let mut recordings = self.recordings();
        recordings.insert(name.to_string(), recording);
        self.settle(&recordings);
    }

    /// Stop a recording; its packets are kept. Returns whether there is such a recording.
    pub fn stop(&self, name: &str) -> bool {
        let mut recordings = self.recordings();
        let found = recordings.get_mut(name);
        let is_there = found.is_some();
        if let Some(recording) = found {
            recording.running = false;
        }
        self.settle(&recordings);
        is_there
    }

    /// Stop a recording and free its memory.
    pub fn forget(&self, name: &str) {
        let mut recordings = self.recordings();
        recordings.remove(name);
        self.settle(&recordings);
    }

    /// What was recorded until now; None if there is no such recording.
    pub fn interface(&self, name: &str, label: String, point: Point) -> Option<Interface> {
        let recordings = self.recordings();
        let ring = &recordings.get(name)?.ring;
        Some(Interface {
            name: label,
            point,
            packets: ring.read(),
            forgotten: ring.forgotten,
            searched: ring.searched(),
        })
    }

    /// Packets pass now; `write` puts one of them, as it is on a wire, into the buffer.
    pub fn record(
        &self,
        packets: Range<u16>,
        buffer: &mut Vec<u8>,
        write: impl Fn(u16, &mut Vec<u8>),
    ) {
        if !self.running.load(Ordering::Acquire) {
            return;
        }
        let at_ns = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default()
            .as_nanos() as u64;
        let mut recordings = self.recordings();
        for packet in packets {
            let mut written = false;
            for recording in recordings.values_mut().filter(|one| one.running) {
                let drawn = recording.ring.draws();
                if drawn || recording.ring.searches() {
                    if !std::mem::replace(&mut written, true) {
                        write(packet, buffer);
                    }
                    recording.ring.take(at_ns, buffer, drawn);
                }
            }
        }
    }

    fn settle(&self, recordings: &BTreeMap<String, Recording>) {
        let running = recordings.values().any(|recording| recording.running);
        self.running.store(running, Ordering::Release);
    }

    fn recordings(&self) -> MutexGuard<'_, BTreeMap<String, Recording>> {
        self.recordings
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recorded(tape: &Tape, name: &str) -> Option<Vec<Vec<u8>>> {
        let interface = tape.interface(name, String::new(), Point::Sent)?;
        Some(interface.packets.into_iter().map(|one| one.bytes).collect())
    }

    #[test]
    fn recordings_run_beside_each_other() {
        let tape = Tape::new(Chance::new(1, 1));
        let limits = |packet_bytes| Limits {
            ring_bytes: 1000,
            packet_bytes,
            sample_one_in: 1,
            marks: None,
            flow: None,
        };
        let pass = |byte| {
            tape.record(0..2, &mut Vec::new(), |packet, out| {
                out.clear();
                out.extend([byte, packet as u8, 0]);
            });
        };
        pass(1);
        tape.start("short", &limits(2));
        pass(2);
        tape.start("long", &limits(9));
        pass(3);
        assert!(tape.stop("short"));
        pass(4);
        let short = [[2, 0], [2, 1], [3, 0], [3, 1]].map(Vec::from);
        let long = [[3, 0, 0], [3, 1, 0], [4, 0, 0], [4, 1, 0]].map(Vec::from);
        assert_eq!(recorded(&tape, "short"), Some(short.to_vec()));
        assert_eq!(recorded(&tape, "long"), Some(long.to_vec()));
        tape.forget("long");
        assert_eq!(recorded(&tape, "long"), None);
        assert!(!tape.stop("long"));
        assert!(!tape.running.load(Ordering::Acquire));
    }
}
