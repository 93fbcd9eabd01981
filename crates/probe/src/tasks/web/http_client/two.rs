//! HTTP/2 over TLS and TCP.

use super::Fetched;
use crate::net::socket;
use crate::net::tcp_info::TcpInfo;
use crate::protocol::failure::Failure;
use crate::protocol::values::Token;
use crate::tasks::tcp::stream::write::set_options;
use crate::tasks::web::http_server::CONGESTION_CONTROL;
use crate::tasks::web::secure::http::{Version, request};
use crate::tasks::web::secure::identity::{Certificate, NAME, client};
use crate::tasks::web::secure::quic::{CONNECTION_WINDOW, STREAM_WINDOW};
use crate::timing::clock;
use bytes::Bytes;
use h2::client::{Builder, SendRequest};
use rustls::pki_types::ServerName;
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpSocket;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

/// How long the end of a connection may take.
const FAREWELL: Duration = Duration::from_secs(1);

pub struct Connector {
    tls: TlsConnector,
    to: SocketAddr,
}

pub struct Connection {
    requests: SendRequest<Bytes>,
    driver: JoinHandle<()>,
    socket: OwnedFd,
}

impl Connector {
    pub fn new(certificate: &Certificate, to: SocketAddr) -> Result<Connector, Failure> {
        let config = client(certificate, Version::Two.protocol())?;
        Ok(Connector {
            tls: TlsConnector::from(Arc::new(config)),
            to,
        })
    }

    pub async fn connect(&self) -> Result<Connection, String> {
        let socket = socket::tcp_socket(self.to.ip()).map_err(|failure| failure.to_string())?;
        set_options(&socket, CONGESTION_CONTROL, true).map_err(|failure| failure.to_string())?;
        socket
            .set_nonblocking(true)
            .map_err(|error| error.to_string())?;
        let stream = TcpSocket::from_std_stream(socket.into())
            .connect(self.to)
            .await;
        let stream = stream.map_err(|error| format!("connect: {error}"))?;
        let socket = stream
            .as_fd()
            .try_clone_to_owned()
            .map_err(|error| error.to_string())?;
        let name = ServerName::try_from(NAME).map_err(|error| error.to_string())?;
        let tls = self.tls.connect(name, stream).await;
        let tls = tls.map_err(|error| format!("TLS: {error}"))?;
        let (requests, connection) = Builder::new()
            .initial_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .enable_push(false)
            .handshake(tls)
            .await
            .map_err(|error| error.to_string())?;
        let driver = tokio::spawn(async {
            // An error of the connection is one of each of its requests.
            let _ = connection.await;
        });
        Ok(Connection {
            requests,
            driver,
            socket,
        })
    }
}

impl Connection {
    pub fn requests(&self) -> SendRequest<Bytes> {
        self.requests.clone()
    }

    /// The kernel's figures of all of it.
    pub async fn close(self) -> Option<TcpInfo> {
        drop(self.requests);
        let abort = self.driver.abort_handle();
        let _ = timeout(FAREWELL, self.driver).await;
        abort.abort();
        TcpInfo::of(&self.socket).ok()
    }
}

pub async fn fetch(
    requests: SendRequest<Bytes>,
    token: Token,
    size: u32,
) -> Result<Fetched, h2::Error> {
    let mut requests = requests.ready().await?;
    let asked_ns = clock::monotonic_ns();
    let (response, _) = requests.send_request(request(&token, size), true)?;
    let mut body = response.await?.into_body();
    let first_byte_ns = clock::monotonic_ns() - asked_ns;
    let mut bytes = 0;
    while let Some(part) = body.data().await {
        let part = part?;
        bytes += part.len() as u64;
        body.flow_control().release_capacity(part.len())?;
    }
    Ok(Fetched {
        bytes,
        first_byte_ns,
    })
}
