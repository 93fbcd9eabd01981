//! HTTP/3 over QUIC.

use super::Fetched;
use crate::protocol::failure::Failure;
use crate::protocol::values::Token;
use crate::tasks::web::secure::http::{Version, request};
use crate::tasks::web::secure::identity::{Certificate, NAME};
use crate::tasks::web::secure::quic;
use crate::timing::clock;
use bytes::{Buf, Bytes};
use h3::client::SendRequest;
use quinn::{Endpoint, VarInt};
use std::future::poll_fn;
use std::net::SocketAddr;
use tokio::task::JoinHandle;

type Requests = SendRequest<h3_quinn::OpenStreams, Bytes>;

pub struct Connector {
    endpoint: Endpoint,
    to: SocketAddr,
}

pub struct Connection {
    requests: Requests,
    driver: JoinHandle<()>,
    quic: quinn::Connection,
}

impl Connector {
    pub fn new(certificate: &Certificate, to: SocketAddr) -> Result<Connector, Failure> {
        let protocol = Version::Three.protocol();
        let endpoint = quic::connecting(certificate, protocol, true, to.ip())?;
        Ok(Connector { endpoint, to })
    }

    pub async fn connect(&self) -> Result<Connection, String> {
        let connecting = self
            .endpoint
            .connect(self.to, NAME)
            .map_err(|error| error.to_string())?;
        let quic = connecting
            .await
            .map_err(|error| format!("connect: {error}"))?;
        let (mut connection, requests) = h3::client::new(h3_quinn::Connection::new(quic.clone()))
            .await
            .map_err(|error| error.to_string())?;
        let driver = tokio::spawn(async move {
            // An error of the connection is one of each of its requests.
            let _ = poll_fn(|context| connection.poll_close(context)).await;
        });
        Ok(Connection {
            requests,
            driver,
            quic,
        })
    }
}

impl Connection {
    pub fn requests(&self) -> Requests {
        self.requests.clone()
    }

    /// The connection, with its counts.
    pub async fn close(self) -> quinn::Connection {
        drop(self.requests);
        self.quic.close(VarInt::from_u32(0x100), b"");
        self.quic.closed().await;
        self.driver.abort();
        self.quic
    }
}

pub async fn fetch(
    mut requests: Requests,
    token: Token,
    size: u32,
) -> Result<Fetched, h3::error::StreamError> {
    let asked_ns = clock::monotonic_ns();
    let mut stream = requests.send_request(request(&token, size)).await?;
    stream.finish().await?;
    stream.recv_response().await?;
    let first_byte_ns = clock::monotonic_ns() - asked_ns;
    let mut bytes = 0;
    while let Some(mut part) = stream.recv_data().await? {
        bytes += part.remaining() as u64;
        part.advance(part.remaining());
    }
    Ok(Fetched {
        bytes,
        first_byte_ns,
    })
}
