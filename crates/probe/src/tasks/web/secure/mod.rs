//! The common part of all tasks over TLS and QUIC.

pub mod http;
pub mod identity;
pub mod quic;
pub mod runtime;
pub mod server;
