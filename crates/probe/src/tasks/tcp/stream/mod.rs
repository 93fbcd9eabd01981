//! What both ends of measured TCP connections share.

pub mod read;
pub mod write;

use crate::protocol::failure::Failure;

const MAX_STREAMS: u16 = 128;
const MAX_WRITE: usize = 16 << 20;

pub fn check_streams(streams: u16) -> Result<(), Failure> {
    if (1..=MAX_STREAMS).contains(&streams) {
        return Ok(());
    }
    Err(Failure::new(
        format!("streams {streams}"),
        "out of range",
        format!("give 1 to {MAX_STREAMS}"),
    ))
}

pub fn check_write_size(write_size: usize) -> Result<(), Failure> {
    if (1..=MAX_WRITE).contains(&write_size) {
        return Ok(());
    }
    Err(Failure::new(
        format!("write_size {write_size}"),
        "out of range",
        format!("give 1 to {MAX_WRITE} bytes"),
    ))
}

/// What becomes of each connection, in a thread of its own; of a single one in this thread.
pub fn each<C: Sync, T: Send>(
    connections: &[C],
    one: impl Fn(&C) -> Result<T, Failure> + Sync,
) -> Result<Vec<T>, Failure> {
    if let [connection] = connections {
        return Ok(vec![one(connection)?]);
    }
    std::thread::scope(|scope| {
        let threads: Vec<_> = connections
            .iter()
            .map(|connection| scope.spawn(|| one(connection)))
            .collect();
        let joined = threads.into_iter().map(|thread| thread.join());
        joined
            .map(|outcome| outcome.expect("a stream does not panic"))
            .collect()
    })
}
