//! The measuring part of culvert-probe.
//!
//! Pure logic (requests, packets, schedules, sequences, histograms, deltas) takes no part in I/O, so
//! that it can be tested by property and fuzzed; the tasks in [`tasks`] are thin shells around it.
//!
//! ```text
//!   line -> protocol -> agent -> tasks -> timing: when is it due?   -> packet -> net -> the path
//!   line <- protocol <- agent <- tasks <- results: what became of it? <- packet <- net <- the path
//! ```

pub mod accounting;
pub mod agent;
pub mod entry_points;
pub mod interference;
pub mod net;
pub mod packet;
pub mod protocol;
pub mod results;
pub mod tasks;
pub mod timing;
