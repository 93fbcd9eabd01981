//! `http_server`: objects of any size over HTTP/2 or HTTP/3, for requests of the session.

mod three;
mod two;

pub use two::CONGESTION_CONTROL;

use crate::net::tcp_info::TcpInfo;
use crate::protocol::failure::{Failure, during};
use crate::protocol::values::{Canary, Seconds, Token};
use crate::tasks::context::Context;
use crate::tasks::web::secure::http::{CHUNK, Version};
use crate::tasks::web::secure::identity::Identity;
use crate::tasks::web::secure::quic::Datagrams;
use crate::tasks::web::secure::runtime::{block_on, requested};
use crate::tasks::web::secure::server::{FAREWELL, Ready};
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    version: Version,
    bind: IpAddr,
    #[serde(default)]
    port: u16,
    token: Token,
    #[serde(default)]
    canary: Canary,
    duration_max_s: Seconds,
}

/// `tcp_info` of HTTP/2, `udp` of HTTP/3: of all connections together.
#[derive(Debug, Default, Clone, Serialize)]
pub struct Served {
    connections: u64,
    objects: u64,
    strangers: u64,
    tcp_info: Option<TcpInfo>,
    udp: Datagrams,
}

/// What the connections share.
struct Server {
    token: Token,
    /// As much as is sent at once.
    body: Bytes,
    served: Mutex<Served>,
}

impl Server {
    fn served(&self) -> MutexGuard<'_, Served> {
        self.served.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn stranger(&self) {
        self.served().strangers += 1;
    }
}

pub fn run(parameters: &Parameters, context: &Context) -> Result<Served, Failure> {
    let server = Arc::new(Server {
        token: parameters.token,
        body: parameters.canary.repeated(CHUNK).into(),
        served: Mutex::default(),
    });
    let identity = Identity::new()?;
    let ready = |port| {
        context.ready(Ready {
            port,
            certificate: identity.certificate(),
        });
    };
    block_on(async {
        let mut open = JoinSet::new();
        let ended = async {
            tokio::select! {
                stopped = requested(&context.stop) => stopped.map_err(during("http_server")),
                () = sleep(parameters.duration_max_s.duration()) => Ok(()),
            }
        };
        let ended = std::pin::pin!(ended);
        match parameters.version {
            Version::Two => {
                two::serve(&server, &identity, parameters, ready, &mut open, ended).await?
            }
            Version::Three => {
                three::serve(&server, &identity, parameters, ready, &mut open, ended).await?;
            }
        }
        // What is dropped afterwards counts as well, as far as it came.
        let _ = timeout(FAREWELL, async {
            while open.join_next().await.is_some() {}
        })
        .await;
        open.shutdown().await;
        Ok(())
    })?;
    let served = server.served().clone();
    Ok(served)
}
