//! Asynchronous code in a task's own thread.

use crate::protocol::failure::{Failure, during};
use crate::timing::stop::Stop;
use std::future::Future;
use std::io;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::runtime::Builder;

/// Runs it to its end; what it has spawned ends with it.
pub fn block_on<T>(future: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let runtime = Builder::new_current_thread().enable_all().build();
    runtime.map_err(during("start a runtime"))?.block_on(future)
}

/// Returns when the task is requested to end.
pub async fn requested(stop: &Stop) -> io::Result<()> {
    // SAFETY: the descriptor is its own, and open for as long as it is registered.
    let event = unsafe { AsyncFd::register_with_interest(stop.event()?, Interest::READABLE) }?;
    event.readable().await.map(drop)
}
