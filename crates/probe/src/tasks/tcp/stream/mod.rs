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
