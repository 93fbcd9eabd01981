//! HTTP/2 over TLS and TCP.

use super::{Parameters, Server};
use crate::net::socket;
use crate::net::tcp_info::TcpInfo;
use crate::protocol::failure::{Failure, during};
use crate::tasks::tcp::stream::write::set_options;
use crate::tasks::web::secure::http::{CHUNK, Version, wanted};
use crate::tasks::web::secure::identity::Identity;
use crate::tasks::web::secure::quic::MAX_STREAMS;
use crate::tasks::web::secure::server::{GREETING, admit};
use bytes::Bytes;
use h2::server::{Builder, SendResponse};
use std::future::{Future, poll_fn};
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;

const MAX_HEADERS: u32 = 4096;
/// As of the clients: the condition's congestion control.
pub const CONGESTION_CONTROL: &str = "cubic";
const ACCEPT: &str = "accept TCP";

pub async fn serve(
    server: &Arc<Server>,
    identity: &Identity,
    parameters: &Parameters,
    ready: impl FnOnce(u16),
    open: &mut JoinSet<()>,
    mut ended: impl Future<Output = Result<(), Failure>> + Unpin,
) -> Result<(), Failure> {
    let listener = listen(parameters)?;
    let acceptor = TlsAcceptor::from(Arc::new(identity.server(Version::Two.protocol())?));
    ready(listener.local_addr().map_err(during(ACCEPT))?.port());
    loop {
        tokio::select! {
            outcome = &mut ended => return outcome,
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    let (server_too, acceptor) = (Arc::clone(server), acceptor.clone());
                    if !admit(open, connection(server_too, acceptor, stream)) {
                        server.stranger();
                    }
                }
                // A caller that gave up, or too many open files: those inside go on.
                Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
            }
        }
    }
}

fn listen(parameters: &Parameters) -> Result<TcpListener, Failure> {
    let address = SocketAddr::new(parameters.bind, parameters.port);
    let listener = socket::tcp_socket(parameters.bind)?;
    set_options(&listener, CONGESTION_CONTROL, true)?;
    socket::listen_tcp(&listener, address, GREETING)?;
    listener.set_nonblocking(true).map_err(during(ACCEPT))?;
    TcpListener::from_std(listener.into()).map_err(during(ACCEPT))
}

/// The kernel's figures of a connection are added up when it ends, however it does.
struct Counted(Arc<Server>, OwnedFd);

impl Drop for Counted {
    fn drop(&mut self) {
        if let Ok(info) = TcpInfo::of(&self.1) {
            info.add_to(&mut self.0.served().tcp_info);
        }
    }
}

async fn connection(server: Arc<Server>, acceptor: TlsAcceptor, stream: TcpStream) {
    let Ok(copy) = stream.as_fd().try_clone_to_owned() else {
        return server.stranger();
    };
    let greeted = timeout(GREETING, async {
        let tls = acceptor.accept(stream).await.ok()?;
        let mut connection = Builder::new()
            .max_concurrent_streams(MAX_STREAMS)
            .max_header_list_size(MAX_HEADERS)
            .handshake::<_, Bytes>(tls)
            .await
            .ok()?;
        let (request, respond) = connection.accept().await?.ok()?;
        wanted(&request, &server.token).map(|size| (connection, respond, size))
    });
    let Ok(Some((mut connection, respond, size))) = greeted.await else {
        return server.stranger();
    };
    let _counted = Counted(Arc::clone(&server), copy);
    server.served().connections += 1;
    let mut answers = JoinSet::new();
    answers.spawn(answer(Arc::clone(&server), respond, size));
    while let Some(Ok((request, respond))) = connection.accept().await {
        while answers.try_join_next().is_some() {}
        match wanted(&request, &server.token) {
            Some(size) => drop(answers.spawn(answer(Arc::clone(&server), respond, size))),
            None => return server.stranger(),
        }
    }
}

async fn answer(server: Arc<Server>, respond: SendResponse<Bytes>, size: u32) {
    // A connection that breaks is the caller's to report.
    if send(&server.body, respond, size as usize).await.is_ok() {
        server.served().objects += 1;
    }
}

async fn send(
    body: &Bytes,
    mut respond: SendResponse<Bytes>,
    mut left: usize,
) -> Result<(), h2::Error> {
    let mut stream = respond.send_response(http::Response::new(()), false)?;
    while left > 0 {
        stream.reserve_capacity(left.min(CHUNK));
        let Some(granted) = poll_fn(|context| stream.poll_capacity(context)).await else {
            return Err(h2::Reason::CANCEL.into());
        };
        let part = body.slice(..granted?.min(left).min(CHUNK));
        left -= part.len();
        stream.send_data(part, left == 0)?;
    }
    Ok(())
}
