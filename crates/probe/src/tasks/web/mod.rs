//! HTTP over TLS and QUIC, and QUIC alone.

pub mod http_client;
pub mod http_server;
pub mod https;
pub mod quic_sink;
pub mod quic_source;
pub mod secure;
