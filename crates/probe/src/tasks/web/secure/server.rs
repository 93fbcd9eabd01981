//! The door of a server: how many callers it lets in, and how long they may take.

use serde::Serialize;
use std::future::Future;
use std::time::Duration;
use tokio::task::JoinSet;

/// How long a caller may take to show that it is of the session.
pub const GREETING: Duration = Duration::from_secs(10);
/// How long connections may take to end after a request to end.
pub const FAREWELL: Duration = Duration::from_secs(1);
/// Connections at once; more are turned away.
const MAX_CONNECTIONS: usize = 64;

/// The `ready` of a server.
#[derive(Serialize)]
pub struct Ready {
    pub port: u16,
    pub certificate: String,
}

/// Adds a connection; false if there are too many. Those that have ended make room.
pub fn admit(
    open: &mut JoinSet<()>,
    connection: impl Future<Output = ()> + Send + 'static,
) -> bool {
    while open.try_join_next().is_some() {}
    let admitted = open.len() < MAX_CONNECTIONS;
    if admitted {
        open.spawn(connection);
    }
    admitted
}
