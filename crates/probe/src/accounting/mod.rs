//! Who used the processors, and where packets were dropped, between two moments.

pub mod delta;
pub mod idle;
pub mod network;
pub mod processes;
pub mod processors;
pub mod snapshot;
pub mod surroundings;
pub mod threads;
