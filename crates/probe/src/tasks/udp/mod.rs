//! Streams of numbered datagrams.

pub mod sink;
pub mod source;
