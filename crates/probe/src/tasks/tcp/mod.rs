//! Streams and transactions over TCP.

pub mod lobby;
pub mod responder;
pub mod sink;
pub mod source;
pub mod stream;
pub mod transactions;
