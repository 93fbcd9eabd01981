//! `quic_sink`: receives streams of QUIC and counts their bytes.

use crate::protocol::failure::{Failure, during};
use crate::protocol::values::{Seconds, Token};
use crate::tasks::context::Context;
use crate::tasks::web::secure::identity::Identity;
use crate::tasks::web::secure::quic::{self, Datagrams};
use crate::tasks::web::secure::runtime::{block_on, requested};
use crate::tasks::web::secure::server::{FAREWELL, GREETING, Ready, admit};
use crate::timing::clock;
use quinn::{Connection, Incoming, RecvStream, VarInt};
use serde::{Deserialize, Serialize};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval, sleep, timeout};

/// The name of the streams in ALPN.
pub const PROTOCOL: &[u8] = b"culvert";
const CHUNK: usize = 64 << 10;
/// Points of the series.
const MAX_INTERVALS: usize = 100_000;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    bind: IpAddr,
    #[serde(default)]
    port: u16,
    token: Token,
    /// Whether the kernel may cut datagrams from larger messages (GSO).
    segmentation: bool,
    interval_ms: u32,
    duration_max_s: Seconds,
}

#[derive(Debug, Clone, Serialize)]
struct Interval {
    t_ns: u64,
    bytes: u64,
}

/// `bytes` without tokens.
#[derive(Debug, Default, Clone, Serialize)]
pub struct Received {
    connections: u64,
    strangers: u64,
    bytes: u64,
    first_ns: Option<u64>,
    last_ns: Option<u64>,
    intervals: Vec<Interval>,
    udp: Datagrams,
}

struct Sink {
    token: Token,
    received: Mutex<Received>,
}

impl Sink {
    fn received(&self) -> MutexGuard<'_, Received> {
        self.received.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn stranger(&self) {
        self.received().strangers += 1;
    }

    fn arrived(&self, bytes: usize) {
        let now_ns = clock::monotonic_ns();
        let mut received = self.received();
        received.bytes += bytes as u64;
        received.first_ns.get_or_insert(now_ns);
        received.last_ns = Some(now_ns);
    }
}

pub fn run(parameters: &Parameters, context: &Context) -> Result<Received, Failure> {
    let sink = Arc::new(Sink {
        token: parameters.token,
        received: Mutex::default(),
    });
    let identity = Identity::new()?;
    block_on(async {
        let endpoint = quic::server(
            &identity,
            PROTOCOL,
            parameters.segmentation,
            parameters.bind,
            parameters.port,
        )?;
        context.ready(Ready {
            port: endpoint.local_addr().map_err(during("own port"))?.port(),
            certificate: identity.certificate(),
        });
        let mut open = JoinSet::new();
        let mut stopped = std::pin::pin!(requested(&context.stop));
        let mut deadline = std::pin::pin!(sleep(parameters.duration_max_s.duration()));
        let step = Duration::from_millis(u64::from(parameters.interval_ms.max(1)));
        let mut ticks = interval(step);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut before = 0;
        loop {
            tokio::select! {
                outcome = &mut stopped => {
                    outcome.map_err(during("quic_sink"))?;
                    break;
                }
                () = &mut deadline => break,
                _ = ticks.tick() => before = boundary(&sink, before),
                Some(incoming) = endpoint.accept() => {
                    let admitted = admit(&mut open, connection(Arc::clone(&sink), incoming));
                    if !admitted {
                        sink.stranger();
                    }
                }
            }
        }
        endpoint.close(VarInt::from_u32(0), b"");
        // What is dropped afterwards counts as well, as far as it came.
        let _ = timeout(FAREWELL, async {
            while open.join_next().await.is_some() {}
        })
        .await;
        open.shutdown().await;
        boundary(&sink, before);
        Ok(())
    })?;
    let received = sink.received().clone();
    Ok(received)
}

/// Returns the bytes so far.
fn boundary(sink: &Sink, before: u64) -> u64 {
    let mut received = sink.received();
    let bytes = received.bytes;
    if received.first_ns.is_some() && received.intervals.len() < MAX_INTERVALS {
        let interval = Interval {
            t_ns: clock::monotonic_ns(),
            bytes: bytes - before,
        };
        received.intervals.push(interval);
    }
    bytes
}

/// What a connection has counted is added up when it ends, however it does.
struct Counted(Arc<Sink>, Connection);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.received().udp.add(&self.1);
    }
}

async fn connection(sink: Arc<Sink>, incoming: Incoming) {
    let greeted = timeout(GREETING, async {
        let connection = incoming.await.ok()?;
        let mut first = connection.accept_uni().await.ok()?;
        shows(&mut first, &sink.token)
            .await
            .then_some((connection, first))
    });
    let Ok(Some((connection, first))) = greeted.await else {
        return sink.stranger();
    };
    let _counted = Counted(Arc::clone(&sink), connection.clone());
    sink.received().connections += 1;
    let mut streams = JoinSet::new();
    streams.spawn(read(Arc::clone(&sink), first));
    while let Ok(mut next) = connection.accept_uni().await {
        while streams.try_join_next().is_some() {}
        let sink = Arc::clone(&sink);
        streams.spawn(async move {
            if shows(&mut next, &sink.token).await {
                read(sink, next).await;
            }
        });
    }
}

/// Whether a stream begins with the token.
async fn shows(stream: &mut RecvStream, token: &Token) -> bool {
    let mut shown = [0; 16];
    stream.read_exact(&mut shown).await.is_ok() && shown == token.0
}

async fn read(sink: Arc<Sink>, mut stream: RecvStream) {
    // A stream that breaks is the source's to report. Data count when they arrive, not when what was
    // lost before them has arrived as well.
    while let Ok(Some(chunk)) = stream.read_chunk(CHUNK, false).await {
        sink.arrived(chunk.bytes.len());
    }
}
