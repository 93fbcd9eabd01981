//! Who used the processors, and where packets were dropped, between two moments.

pub mod delta;
pub mod network;
pub mod processes;
pub mod snapshot;
