//! The tasks of the probe, each in a thread of its own until it ends.

pub mod applications;
pub mod context;
pub mod crowd;
pub mod observation;
pub mod round_trips;
pub mod tcp;
pub mod udp;
pub mod web;
