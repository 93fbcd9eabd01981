//! What becomes of a stream of packets: how long they took, which were lost, and where. Pure.

pub mod extent;
pub mod forwarded;
pub mod latency;
pub mod one_way;
pub mod runs;
pub mod sequence;
