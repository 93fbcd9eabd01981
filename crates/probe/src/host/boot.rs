//! Which start of the kernel, and which network, a run's directory belongs to: what must be undone
//! is in the kernel's memory, so it is gone after a restart, and whatever has its name is another's.

use culvert_probe::protocol::failure::{Failure, during};
use std::fs;
use std::io;
use std::path::Path;

/// In the run's directory.
pub const FILE: &str = "boot";
/// Of each start of the kernel (random(4)).
const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";
/// A container that is started again has another one.
const NETWORK: &str = "/proc/self/ns/net";

/// Keeps it in the directory, before anything is done that must be undone.
pub fn keep(directory: &Path) -> Result<(), Failure> {
    now()
        .and_then(|now| fs::write(directory.join(FILE), now))
        .map_err(during("keep the kernel's boot id"))
}

/// Whether the directory is of this start of the kernel; one that keeps nothing is not.
pub fn is_same(directory: &Path) -> bool {
    match (now(), fs::read_to_string(directory.join(FILE))) {
        (Ok(now), Ok(kept)) => now == kept,
        _ => false,
    }
}

fn now() -> io::Result<String> {
    let network = fs::read_link(NETWORK)?;
    Ok(format!(
        "{}{}\n",
        fs::read_to_string(BOOT_ID)?,
        network.display()
    ))
}
