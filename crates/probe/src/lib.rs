//! The measuring part of culvert-probe.
//!
//! Pure logic (requests, packets, schedules, sequences, histograms, deltas) takes no part in I/O, so
//! that it can be tested by property and fuzzed; the tasks in [`tasks`] are thin shells around it.

pub mod accounting;
pub mod agent;
pub mod clock;
pub mod context;
pub mod emitter;
pub mod entry_points;
pub mod extent;
pub mod failure;
pub mod frames;
pub mod gaps;
pub mod hello;
pub mod interference;
pub mod latency;
pub mod lines;
pub mod net;
pub mod on_off;
pub mod one_way;
pub mod pace;
pub mod packet;
pub mod protocol;
pub mod random;
pub mod requests;
pub mod runs;
pub mod schedule;
pub mod sequence;
pub mod series;
pub mod sizes;
pub mod stop;
pub mod tasks;
pub mod timetable;
pub mod values;
pub mod work;
