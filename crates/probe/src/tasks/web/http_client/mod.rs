//! `http_client`: loads a page of many objects, again and again, over HTTP/2 or HTTP/3.
//!
//! All objects of a page are requested at once, on one connection.

mod three;
mod two;

use crate::net::tcp_info::TcpInfo;
use crate::protocol::failure::{Failure, during};
use crate::protocol::values::{Seconds, Token};
use crate::results::latency::{Latency, Summary};
use crate::tasks::context::{Context, Started};
use crate::tasks::web::secure::http::{MAX_OBJECT, Version};
use crate::tasks::web::secure::identity::Certificate;
use crate::tasks::web::secure::quic::{Datagrams, MAX_STREAMS};
use crate::tasks::web::secure::runtime::{block_on, requested};
use crate::timing::clock;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::Display;
use std::net::{IpAddr, SocketAddr};
use tokio::task::JoinSet;
use tokio::time::timeout;

/// Pages whose times are kept.
const MAX_PAGES: usize = 100_000;
/// Failures in a row after which the task gives up.
const MAX_FAILURES: usize = 5;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    version: Version,
    to: IpAddr,
    port: u16,
    token: Token,
    certificate: Certificate,
    /// Bytes of each object of the page.
    objects: Vec<u32>,
    /// Whether each page has a connection of its own.
    fresh: bool,
    /// Pages that began before its end are finished.
    duration_s: Seconds,
    /// For a page with its connection.
    page_timeout_s: Seconds,
}

/// `tcp_info` of HTTP/2, `udp` of HTTP/3: of all connections together.
#[derive(Debug, Serialize)]
pub struct Loaded {
    seconds: f64,
    connections: u64,
    objects: u64,
    bytes: u64,
    errors: BTreeMap<String, u64>,
    /// From before its connection, if that is fresh, to the last byte of its last object.
    page: Option<Summary>,
    /// Of each object: from its request to the first byte of the response.
    first_byte: Option<Summary>,
    connect: Option<Summary>,
    /// `[began_ns, page_ns]`
    pages: Vec<(u64, u64)>,
    tcp_info: Option<TcpInfo>,
    udp: Datagrams,
}

/// What connections have counted.
#[derive(Default)]
struct Counted {
    tcp_info: Option<TcpInfo>,
    udp: Datagrams,
}

/// One object.
struct Fetched {
    bytes: u64,
    first_byte_ns: u64,
}

/// Where connections go.
enum Connector {
    Two(two::Connector),
    Three(three::Connector),
}

enum Connection {
    Two(two::Connection),
    Three(three::Connection),
}

impl Connector {
    fn new(parameters: &Parameters) -> Result<Connector, Failure> {
        let to = SocketAddr::new(parameters.to, parameters.port);
        Ok(match parameters.version {
            Version::Two => Connector::Two(two::Connector::new(&parameters.certificate, to)?),
            Version::Three => Connector::Three(three::Connector::new(&parameters.certificate, to)?),
        })
    }

    async fn connect(&self) -> Result<Connection, String> {
        Ok(match self {
            Connector::Two(connector) => Connection::Two(connector.connect().await?),
            Connector::Three(connector) => Connection::Three(connector.connect().await?),
        })
    }
}

impl Connection {
    /// Requests all objects at once; returns them when the last has come.
    async fn fetch(&self, token: &Token, objects: &[u32]) -> Result<Vec<Fetched>, String> {
        let mut open = JoinSet::new();
        for &size in objects {
            match self {
                Connection::Two(connection) => {
                    open.spawn(reported(two::fetch(connection.requests(), *token, size)))
                }
                Connection::Three(connection) => {
                    open.spawn(reported(three::fetch(connection.requests(), *token, size)))
                }
            };
        }
        let mut fetched = Vec::with_capacity(objects.len());
        while let Some(one) = open.join_next().await {
            fetched.push(one.map_err(|error| error.to_string())??);
        }
        let wanted: u64 = objects.iter().map(|&size| u64::from(size)).sum();
        if fetched.iter().map(|one| one.bytes).sum::<u64>() != wanted {
            return Err("an object was cut short".to_owned());
        }
        Ok(fetched)
    }

    async fn close(self, counted: &mut Counted) {
        match self {
            Connection::Two(connection) => {
                if let Some(info) = connection.close().await {
                    info.add_to(&mut counted.tcp_info);
                }
            }
            Connection::Three(connection) => counted.udp.add(&connection.close().await),
        }
    }
}

async fn reported<E: Display>(
    fetched: impl Future<Output = Result<Fetched, E>>,
) -> Result<Fetched, String> {
    fetched.await.map_err(|error| error.to_string())
}

/// The state of a run.
struct Run<'a> {
    parameters: &'a Parameters,
    connector: Connector,
    connection: Option<Connection>,
    counted: Counted,
    connections: u64,
    objects: u64,
    bytes: u64,
    errors: BTreeMap<String, u64>,
    page: Latency,
    first_byte: Latency,
    connect: Latency,
    pages: Vec<(u64, u64)>,
}

pub fn run(parameters: &Parameters, context: &Context) -> Result<Loaded, Failure> {
    check(parameters)?;
    block_on(async {
        let mut run = Run::new(parameters)?;
        let started_ns = clock::monotonic_ns();
        context.ready(Started { started_ns });
        let end_ns = started_ns + parameters.duration_s.ns();
        tokio::select! {
            stopped = requested(&context.stop) => stopped.map_err(during("http_client"))?,
            () = run.pages_until(end_ns) => {}
        }
        let seconds = clock::seconds_since(started_ns);
        run.close().await;
        Ok(run.result(seconds))
    })
}

fn check(parameters: &Parameters) -> Result<(), Failure> {
    let objects = &parameters.objects;
    let fits = |size: &u32| (1..=MAX_OBJECT).contains(size);
    if objects.is_empty() || objects.len() > MAX_STREAMS as usize || !objects.iter().all(fits) {
        return Err(Failure::new(
            "objects",
            format!("{} objects, or one of a size out of range", objects.len()),
            format!("give 1 to {MAX_STREAMS} of 1 to {MAX_OBJECT} bytes"),
        ));
    }
    Ok(())
}

impl<'a> Run<'a> {
    fn new(parameters: &'a Parameters) -> Result<Run<'a>, Failure> {
        Ok(Run {
            connector: Connector::new(parameters)?,
            parameters,
            connection: None,
            counted: Counted::default(),
            connections: 0,
            objects: 0,
            bytes: 0,
            errors: BTreeMap::new(),
            page: Latency::default(),
            first_byte: Latency::default(),
            connect: Latency::default(),
            pages: Vec::new(),
        })
    }

    async fn pages_until(&mut self, end_ns: u64) {
        let mut failures = 0;
        while clock::monotonic_ns() < end_ns && self.pages.len() < MAX_PAGES {
            let limit = self.parameters.page_timeout_s.duration();
            let loaded = timeout(limit, self.load()).await;
            if let Err(error) = loaded.unwrap_or_else(|_| Err("timeout".to_owned())) {
                *self.errors.entry(error).or_default() += 1;
                failures += 1;
                self.close().await;
                if failures == MAX_FAILURES {
                    return;
                }
            } else {
                failures = 0;
            }
        }
    }

    /// One page.
    async fn load(&mut self) -> Result<(), String> {
        if self.parameters.fresh {
            self.close().await;
        }
        let mut began_ns = clock::monotonic_ns();
        if self.connection.is_none() {
            self.connection = Some(self.connector.connect().await?);
            let connected_ns = clock::monotonic_ns();
            self.connect.record(connected_ns - began_ns);
            self.connections += 1;
            if !self.parameters.fresh {
                began_ns = connected_ns;
            }
        }
        let Some(connection) = &self.connection else {
            return Ok(());
        };
        let fetched = connection
            .fetch(&self.parameters.token, &self.parameters.objects)
            .await?;
        let page_ns = clock::monotonic_ns() - began_ns;
        self.page.record(page_ns);
        self.pages.push((began_ns, page_ns));
        for object in &fetched {
            self.objects += 1;
            self.bytes += object.bytes;
            self.first_byte.record(object.first_byte_ns);
        }
        Ok(())
    }

    async fn close(&mut self) {
        if let Some(connection) = self.connection.take() {
            connection.close(&mut self.counted).await;
        }
    }

    fn result(self, seconds: f64) -> Loaded {
        Loaded {
            seconds,
            connections: self.connections,
            objects: self.objects,
            bytes: self.bytes,
            errors: self.errors,
            page: self.page.summary(),
            first_byte: self.first_byte.summary(),
            connect: self.connect.summary(),
            pages: self.pages,
            tcp_info: self.counted.tcp_info,
            udp: self.counted.udp,
        }
    }
}
