//! `https`: requests to a server on an open schedule; each one is kept.
//!
//! A request that is due is sent at once, on an idle connection or on a new one: a slow answer
//! delays none of those that follow.

mod connection;

use crate::protocol::failure::Failure;
use crate::protocol::values::Rate;
use crate::tasks::context::{Context, Started};
use crate::timing::clock;
use connection::{HttpsConnection, Target};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::io::Read;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

const LEAD_NS: u64 = 1_000_000;
const MAX_REQUESTS: u64 = 1_000_000;
const MAX_CONNECTIONS: usize = 256;
/// Of a token's file; those of a cluster have about 1,000.
const MOST_TOKEN_BYTES: u64 = 1 << 16;
const REMEDY: &str = "check the address and the certificate of the server";

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    to: IpAddr,
    port: u16,
    path: String,
    /// A file on the node with the certificates (PEM) that the server's is checked against.
    authority_file: PathBuf,
    /// A file on the node with the bearer token (RFC 6750) of every request, if they have one.
    token_file: Option<PathBuf>,
    rate_per_s: Rate,
    count: u64,
    #[serde(default = "five_seconds")]
    timeout_ms: u64,
    /// Connections at once; requests that are due wait for one of them.
    #[serde(default = "many")]
    connections: usize,
}

fn five_seconds() -> u64 {
    5000
}

fn many() -> usize {
    32
}

#[derive(Debug, Serialize)]
pub struct Answered {
    started_ns: u64,
    seconds: f64,
    sent: u64,
    connections: usize,
    statuses: BTreeMap<u16, u64>,
    errors: BTreeMap<String, u64>,
    /// Of every request, in the order of their due times.
    requests: Vec<Row>,
}

/// `[due_ns, sent_ns, answered_ns, status, bytes]`: times since the start; the answer's is `null`
/// if there was none, and its status then 0.
type Row = (u64, u64, Option<u64>, u16, u64);

pub fn run(parameters: &Parameters, context: &Context) -> Result<Answered, Failure> {
    check(parameters)?;
    let target = Arc::new(target(parameters)?);
    let gap_ns = 1e9 / parameters.rate_per_s.per_second();
    let started_ns = clock::monotonic_ns() + LEAD_NS;
    context.ready(Started { started_ns });
    let line = Line::default();
    let mut rows = vec![None; parameters.count as usize];
    let done = Mutex::new((&mut rows, BTreeMap::new()));
    let mut workers = 0;
    let mut sent = 0;
    std::thread::scope(|scope| {
        for number in 0..parameters.count {
            let due_ns = started_ns + (number as f64 * gap_ns) as u64;
            let wait = Duration::from_nanos(due_ns.saturating_sub(clock::monotonic_ns()));
            std::thread::sleep(wait);
            if context.stop.requested() {
                break;
            }
            sent += 1;
            if line.push(number as usize, due_ns) && workers < parameters.connections {
                workers += 1;
                let (target, line, done) = (Arc::clone(&target), &line, &done);
                scope.spawn(move || serve(&target, line, done, started_ns));
            }
        }
        line.close();
    });
    let (rows_done, errors) = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    let requests: Vec<Row> = rows_done.iter().flatten().copied().collect();
    let mut statuses = BTreeMap::new();
    for row in requests.iter().filter(|row| row.2.is_some()) {
        *statuses.entry(row.3).or_default() += 1;
    }
    Ok(Answered {
        started_ns,
        seconds: clock::seconds_since(started_ns),
        sent,
        connections: workers,
        statuses,
        errors,
        requests,
    })
}

type Done<'a> = Mutex<(&'a mut Vec<Option<Row>>, BTreeMap<String, u64>)>;

/// Makes requests on one connection until the line is closed.
fn serve(target: &Target, line: &Line, done: &Done<'_>, started_ns: u64) {
    let mut connection: Option<HttpsConnection> = None;
    while let Some((number, due_ns)) = line.take() {
        let sent_ns = clock::monotonic_ns();
        let answer = connection
            .take()
            .map_or_else(|| HttpsConnection::open(target), Ok)
            .and_then(|mut open| open.request(target).map(|answer| (answer, open)));
        let answered_ns = clock::monotonic_ns() - started_ns;
        let since = |ns: u64| ns.saturating_sub(started_ns);
        let mut kept = lock(done);
        let row = match answer {
            Ok((answer, open)) => {
                connection = answer.reusable.then_some(open);
                (
                    since(due_ns),
                    since(sent_ns),
                    Some(answered_ns),
                    answer.status,
                    answer.bytes,
                )
            }
            Err(error) => {
                *kept.1.entry(error.kind().to_string()).or_default() += 1;
                (since(due_ns), since(sent_ns), None, 0, 0)
            }
        };
        kept.0[number] = Some(row);
    }
}

/// Requests that are due and not taken yet.
#[derive(Default)]
struct Line {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    due: VecDeque<(usize, u64)>,
    idle: usize,
    closed: bool,
}

impl Line {
    /// Adds a request; whether no idle thread is left for it.
    fn push(&self, number: usize, due_ns: u64) -> bool {
        let mut state = lock(&self.state);
        state.due.push_back((number, due_ns));
        self.changed.notify_one();
        state.due.len() > state.idle
    }

    fn take(&self) -> Option<(usize, u64)> {
        let mut state = lock(&self.state);
        loop {
            if let Some(next) = state.due.pop_front() {
                return Some(next);
            }
            if state.closed {
                return None;
            }
            state.idle += 1;
            state = self
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
            state.idle -= 1;
        }
    }

    fn close(&self) {
        lock(&self.state).closed = true;
        self.changed.notify_all();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn check(parameters: &Parameters) -> Result<(), Failure> {
    let refuse = |why: String| Err(Failure::new("https", why, "see docs/probe-protocol.md"));
    if !(1..=MAX_REQUESTS).contains(&parameters.count) {
        return refuse(format!("{} requests are out of range", parameters.count));
    }
    if !(1..=MAX_CONNECTIONS).contains(&parameters.connections) {
        return refuse(format!(
            "{} connections are out of range",
            parameters.connections
        ));
    }
    if !parameters.path.starts_with('/') || parameters.path.contains([' ', '\r', '\n']) {
        return refuse("the path is not one".to_owned());
    }
    Ok(())
}

/// The token in a file. No error has a part of it.
fn bearer_token(file: &Path) -> Result<String, Failure> {
    let refuse = |why: String| {
        let remedy = "give a file with one token, which this user may read";
        Failure::new(format!("the token in {}", file.display()), why, remedy)
    };
    let mut text = String::new();
    File::open(file)
        .and_then(|opened| opened.take(MOST_TOKEN_BYTES).read_to_string(&mut text))
        .map_err(|error| refuse(error.to_string()))?;
    let token = text.trim();
    if token.is_empty() || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(refuse(
            "it is not one word of visible characters".to_owned(),
        ));
    }
    Ok(token.to_owned())
}

fn target(parameters: &Parameters) -> Result<Target, Failure> {
    let mut roots = RootCertStore::empty();
    let certificates = CertificateDer::pem_file_iter(&parameters.authority_file)
        .map_err(|error| Failure::new("the authority", error.to_string(), REMEDY))?;
    for certificate in certificates {
        certificate
            .map_err(|error| error.to_string())
            .and_then(|found| roots.add(found).map_err(|error| error.to_string()))
            .map_err(|why| Failure::new("the authority", why, REMEDY))?;
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| Failure::new("https", error.to_string(), REMEDY))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    let host = if parameters.to.is_ipv6() {
        format!("[{}]:{}", parameters.to, parameters.port)
    } else {
        format!("{}:{}", parameters.to, parameters.port)
    };
    let authorization = match &parameters.token_file {
        None => String::new(),
        Some(file) => format!("Authorization: Bearer {}\r\n", bearer_token(file)?),
    };
    let request = format!(
        "GET {} HTTP/1.1\r\nHost: {host}\r\nAccept: application/json\r\n{authorization}\r\n",
        parameters.path
    );
    Ok(Target {
        address: SocketAddr::new(parameters.to, parameters.port),
        name: ServerName::IpAddress(parameters.to.into()),
        config: Arc::new(config),
        request: request.into_bytes(),
        timeout: Duration::from_millis(parameters.timeout_ms.max(1)),
    })
}

#[cfg(test)]
mod tests {
    use super::bearer_token;

    #[test]
    fn a_token_is_one_word_and_no_error_has_a_part_of_it() {
        let file = std::env::temp_dir().join(format!("culvert-token-{}", std::process::id()));
        std::fs::write(&file, "abc.def-g\n").unwrap();
        assert_eq!(bearer_token(&file).unwrap(), "abc.def-g");
        for text in ["", " \n", "secret\r\nHost: other", "two secrets"] {
            std::fs::write(&file, text).unwrap();
            let failure = bearer_token(&file).unwrap_err();
            assert!(!format!("{failure:?}").contains("secret"), "{failure:?}");
        }
        std::fs::remove_file(&file).unwrap();
        assert!(bearer_token(&file).is_err());
    }
}
