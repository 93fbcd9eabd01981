//! Endpoints of QUIC, and what their connections count.

use super::identity::{Certificate, Identity, client};
use crate::net::socket::{self, Buffer};
use crate::protocol::failure::{Failure, during};
use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn::{Connection, Endpoint, EndpointConfig, TokioRuntime, TransportConfig, VarInt};
use serde::Serialize;
use std::net::IpAddr;
use std::sync::Arc;

/// For the datagrams of a burst: the kernel's default holds a hundred.
const SOCKET_BUFFER: usize = 8 << 20;
/// Bytes in flight to a receiver, as Chrome has them: of a stream, and of all.
pub const STREAM_WINDOW: u32 = 6 << 20;
pub const CONNECTION_WINDOW: u32 = 15 << 20;
/// Streams that a peer may open at once.
pub const MAX_STREAMS: u32 = 256;

/// Datagrams of UDP as the connections counted them, with their payload.
#[derive(Debug, Default, Clone, Copy, Serialize)]
pub struct Datagrams {
    pub sent: u64,
    pub sent_bytes: u64,
    pub received: u64,
    pub received_bytes: u64,
}

impl Datagrams {
    pub fn add(&mut self, connection: &Connection) {
        let stats = connection.stats();
        self.sent += stats.udp_tx.datagrams;
        self.sent_bytes += stats.udp_tx.bytes;
        self.received += stats.udp_rx.datagrams;
        self.received_bytes += stats.udp_rx.bytes;
    }
}

/// `segmentation`: whether the kernel may cut datagrams from larger messages (GSO).
fn transport(segmentation: bool) -> Arc<TransportConfig> {
    let mut transport = TransportConfig::default();
    transport
        .stream_receive_window(VarInt::from_u32(STREAM_WINDOW))
        .receive_window(VarInt::from_u32(CONNECTION_WINDOW))
        .send_window(u64::from(CONNECTION_WINDOW))
        .max_concurrent_bidi_streams(VarInt::from_u32(MAX_STREAMS))
        .max_concurrent_uni_streams(VarInt::from_u32(MAX_STREAMS))
        .enable_segmentation_offload(segmentation);
    Arc::new(transport)
}

/// An endpoint that accepts connections.
pub fn server(
    identity: &Identity,
    protocol: &[u8],
    segmentation: bool,
    bind: IpAddr,
    port: u16,
) -> Result<Endpoint, Failure> {
    let crypto = QuicServerConfig::try_from(identity.server(protocol)?).map_err(refused)?;
    let mut config = quinn::ServerConfig::with_crypto(Arc::new(crypto));
    config.transport_config(transport(segmentation));
    endpoint(Some(config), bind, port)
}

/// An endpoint that connects to a server with that certificate.
pub fn connecting(
    certificate: &Certificate,
    protocol: &[u8],
    segmentation: bool,
    to: IpAddr,
) -> Result<Endpoint, Failure> {
    let crypto = QuicClientConfig::try_from(client(certificate, protocol)?).map_err(refused)?;
    let mut config = quinn::ClientConfig::new(Arc::new(crypto));
    config.transport_config(transport(segmentation));
    let mut endpoint = endpoint(None, socket::any(to), 0)?;
    endpoint.set_default_client_config(config);
    Ok(endpoint)
}

fn endpoint(
    config: Option<quinn::ServerConfig>,
    bind: IpAddr,
    port: u16,
) -> Result<Endpoint, Failure> {
    let socket = socket::bind_udp(bind, port)?;
    Buffer::Receive.set(&socket, SOCKET_BUFFER)?;
    Endpoint::new(
        EndpointConfig::default(),
        config,
        socket,
        Arc::new(TokioRuntime),
    )
    .map_err(during("make a QUIC endpoint"))
}

fn refused(error: impl ToString) -> Failure {
    Failure::new(
        "QUIC",
        error.to_string(),
        "report this as a bug of culvert-probe",
    )
}
