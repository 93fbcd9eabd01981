//! Streams of numbered datagrams.

pub mod reception;
pub mod sink;
pub mod source;
pub mod watch_gap;
