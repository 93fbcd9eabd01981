//! `quic_source`: handshakes of QUIC, one after the other, then streams as fast as they go.

use crate::protocol::failure::{Failure, during};
use crate::protocol::values::{Canary, Seconds, Token};
use crate::results::latency::{Latency, Summary};
use crate::tasks::context::{Context, Started};
use crate::tasks::web::quic_sink::PROTOCOL;
use crate::tasks::web::secure::identity::{Certificate, NAME};
use crate::tasks::web::secure::quic::{self, Datagrams, MAX_STREAMS};
use crate::tasks::web::secure::runtime::{block_on, requested};
use crate::timing::clock;
use bytes::Bytes;
use quinn::{Connection, Endpoint, SendStream, VarInt};
use serde::{Deserialize, Serialize};
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::timeout;

const CHUNK: usize = 64 << 10;
const MAX_HANDSHAKES: u16 = 10_000;
/// How long the rest may take to be acknowledged.
const DRAIN: Duration = Duration::from_secs(1);

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    to: IpAddr,
    port: u16,
    token: Token,
    #[serde(default)]
    canary: Canary,
    certificate: Certificate,
    /// Whether the kernel may cut datagrams from larger messages (GSO).
    segmentation: bool,
    streams: u32,
    /// Connections that only greet, before that with the streams.
    handshakes: u16,
    /// For a connection.
    connect_timeout_s: Seconds,
    duration_s: Seconds,
}

/// Of the connection with the streams, but for `handshake`, `connections` and `udp`.
#[derive(Debug, Serialize)]
pub struct Sent {
    connections: u64,
    failed_handshakes: u64,
    handshake: Option<Summary>,
    bytes: u64,
    seconds: f64,
    packets: u64,
    lost_packets: u64,
    congestion_events: u64,
    rtt_us: u64,
    mtu: u16,
    datagrams: u64,
    /// Calls that sent them: with GSO one sends several.
    calls: u64,
    udp: Datagrams,
}

pub fn run(parameters: &Parameters, context: &Context) -> Result<Sent, Failure> {
    check(parameters)?;
    block_on(async {
        let certificate = &parameters.certificate;
        let endpoint = quic::connecting(
            certificate,
            PROTOCOL,
            parameters.segmentation,
            parameters.to,
        )?;
        let mut source = Source {
            parameters,
            endpoint,
            handshake: Latency::default(),
            failed: 0,
            connections: 0,
            udp: Datagrams::default(),
        };
        context.ready(Started {
            started_ns: clock::monotonic_ns(),
        });
        tokio::select! {
            stopped = requested(&context.stop) => {
                stopped.map_err(during("quic_source"))?;
                Err(Failure::new("quic_source", "stopped before its end", "let it end by itself"))
            }
            sent = source.all() => sent,
        }
    })
}

fn check(parameters: &Parameters) -> Result<(), Failure> {
    let (streams, handshakes) = (parameters.streams, parameters.handshakes);
    if (1..=MAX_STREAMS).contains(&streams) && handshakes <= MAX_HANDSHAKES {
        return Ok(());
    }
    Err(Failure::new(
        format!("streams {streams}, handshakes {handshakes}"),
        "out of range",
        format!("give 1 to {MAX_STREAMS} streams and at most {MAX_HANDSHAKES} handshakes"),
    ))
}

struct Source<'a> {
    parameters: &'a Parameters,
    endpoint: Endpoint,
    handshake: Latency,
    failed: u64,
    connections: u64,
    udp: Datagrams,
}

impl Source<'_> {
    async fn all(&mut self) -> Result<Sent, Failure> {
        for _ in 0..self.parameters.handshakes {
            let limit = self.parameters.connect_timeout_s.duration();
            if !matches!(timeout(limit, self.greet()).await, Ok(Ok(()))) {
                self.failed += 1;
            }
        }
        let connection = self.connect().await?;
        let begun_ns = clock::monotonic_ns();
        let bytes = self.flood(&connection).await?;
        let seconds = clock::seconds_since(begun_ns);
        self.close(&connection).await;
        let stats = connection.stats();
        Ok(Sent {
            connections: self.connections,
            failed_handshakes: self.failed,
            handshake: self.handshake.summary(),
            bytes,
            seconds,
            packets: stats.path.sent_packets,
            lost_packets: stats.path.lost_packets,
            congestion_events: stats.path.congestion_events,
            rtt_us: stats.path.rtt.as_micros() as u64,
            mtu: stats.path.current_mtu,
            datagrams: stats.udp_tx.datagrams,
            calls: stats.udp_tx.ios,
            udp: self.udp,
        })
    }

    async fn connect(&mut self) -> Result<Connection, Failure> {
        let to = SocketAddr::new(self.parameters.to, self.parameters.port);
        let limit = self.parameters.connect_timeout_s.duration();
        let begun_ns = clock::monotonic_ns();
        let connecting = self.endpoint.connect(to, NAME).map_err(broken)?;
        let connected = timeout(limit, connecting).await;
        let connection = connected.map_err(broken)?.map_err(broken)?;
        self.handshake.record(clock::monotonic_ns() - begun_ns);
        self.connections += 1;
        Ok(connection)
    }

    /// One connection with nothing but its token, acknowledged.
    async fn greet(&mut self) -> Result<(), Failure> {
        let connection = self.connect().await?;
        let stream = open(&connection, &self.parameters.token).await?;
        end(stream).await;
        self.close(&connection).await;
        Ok(())
    }

    /// Returns the payload written until the end of the duration.
    async fn flood(&self, connection: &Connection) -> Result<u64, Failure> {
        let body = Bytes::from(self.parameters.canary.repeated(CHUNK));
        let end_ns = clock::monotonic_ns() + self.parameters.duration_s.ns();
        let mut writers = JoinSet::new();
        for _ in 0..self.parameters.streams {
            let stream = open(connection, &self.parameters.token).await?;
            writers.spawn(write(stream, body.clone(), end_ns));
        }
        let mut bytes = 0;
        while let Some(written) = writers.join_next().await {
            bytes += written.map_err(broken)??;
        }
        Ok(bytes)
    }

    async fn close(&mut self, connection: &Connection) {
        connection.close(VarInt::from_u32(0), b"");
        connection.closed().await;
        self.udp.add(connection);
    }
}

async fn open(connection: &Connection, token: &Token) -> Result<SendStream, Failure> {
    let mut stream = connection.open_uni().await.map_err(broken)?;
    stream.write_all(&token.0).await.map_err(broken)?;
    Ok(stream)
}

async fn write(mut stream: SendStream, body: Bytes, end_ns: u64) -> Result<u64, Failure> {
    let mut bytes = 0;
    while clock::monotonic_ns() < end_ns {
        let left = Duration::from_nanos(end_ns.saturating_sub(clock::monotonic_ns()));
        // A path that accepts nothing more must not keep it beyond its end.
        match timeout(left, stream.write_chunk(body.clone())).await {
            Ok(written) => written.map_err(broken)?,
            Err(_) => break,
        }
        bytes += body.len() as u64;
    }
    end(stream).await;
    Ok(bytes)
}

/// Waits until all is acknowledged, but not for long: the connection is closed then.
async fn end(mut stream: SendStream) {
    if stream.finish().is_ok() {
        let _ = timeout(DRAIN, stream.stopped()).await;
    }
}

fn broken(error: impl ToString) -> Failure {
    let remedy = "check that the sink runs and that packets of UDP reach it";
    Failure::new("QUIC connection", error.to_string(), remedy)
}
