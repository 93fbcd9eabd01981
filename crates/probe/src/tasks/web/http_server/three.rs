//! HTTP/3 over QUIC.

use super::{Parameters, Server};
use crate::protocol::failure::{Failure, during};
use crate::tasks::web::secure::http::{CHUNK, Version, wanted};
use crate::tasks::web::secure::identity::Identity;
use crate::tasks::web::secure::quic;
use crate::tasks::web::secure::server::{GREETING, admit};
use bytes::Bytes;
use h3::server::RequestResolver;
use quinn::{Connection, Incoming, VarInt};
use std::future::Future;
use std::sync::Arc;
use tokio::task::JoinSet;
use tokio::time::timeout;

type Resolver = RequestResolver<h3_quinn::Connection, Bytes>;

pub async fn serve(
    server: &Arc<Server>,
    identity: &Identity,
    parameters: &Parameters,
    ready: impl FnOnce(u16),
    open: &mut JoinSet<()>,
    mut ended: impl Future<Output = Result<(), Failure>> + Unpin,
) -> Result<(), Failure> {
    let protocol = Version::Three.protocol();
    let endpoint = quic::server(identity, protocol, true, parameters.bind, parameters.port)?;
    ready(endpoint.local_addr().map_err(during("own port"))?.port());
    loop {
        tokio::select! {
            outcome = &mut ended => {
                endpoint.close(VarInt::from_u32(0), b"");
                return outcome;
            }
            Some(incoming) = endpoint.accept() => {
                if !admit(open, connection(Arc::clone(server), incoming)) {
                    server.stranger();
                }
            }
        }
    }
}

/// What a connection has counted is added up when it ends, however it does.
struct Counted(Arc<Server>, Connection);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.served().udp.add(&self.1);
    }
}

async fn connection(server: Arc<Server>, incoming: Incoming) {
    let greeted = timeout(GREETING, async {
        let connection = incoming.await.ok()?;
        let own = h3_quinn::Connection::new(connection.clone());
        let mut requests = h3::server::builder().build::<_, Bytes>(own).await.ok()?;
        let first = requests.accept().await.ok()??;
        Some((connection, requests, first))
    });
    let Ok(Some((connection, mut requests, first))) = greeted.await else {
        return server.stranger();
    };
    let _counted = Counted(Arc::clone(&server), connection.clone());
    server.served().connections += 1;
    let mut answers = JoinSet::new();
    answers.spawn(answer(Arc::clone(&server), connection.clone(), first));
    while let Ok(Some(next)) = requests.accept().await {
        while answers.try_join_next().is_some() {}
        answers.spawn(answer(Arc::clone(&server), connection.clone(), next));
    }
}

/// A stranger's request ends its connection.
async fn answer(server: Arc<Server>, connection: Connection, resolver: Resolver) {
    let Ok((request, mut stream)) = resolver.resolve_request().await else {
        return;
    };
    let Some(size) = wanted(&request, &server.token) else {
        server.stranger();
        return connection.close(VarInt::from_u32(0), b"");
    };
    // A connection that breaks is the caller's to report.
    let sent = async {
        stream.send_response(http::Response::new(())).await?;
        let mut left = size as usize;
        while left > 0 {
            let part = server.body.slice(..left.min(CHUNK));
            left -= part.len();
            stream.send_data(part).await?;
        }
        stream.finish().await
    };
    if sent.await.is_ok() {
        server.served().objects += 1;
    }
}
