//! Files that conditions name.

use std::path::Path;
use std::sync::Arc;

use super::{LONGEST_DELAY_NS, wrong};
use crate::failure::Failure;

/// The largest file of a trace or of a list of delays.
const LONGEST_FILE_BYTES: u64 = 512 << 20;

/// Nanoseconds from lines of milliseconds; the error is a reason.
pub fn delays(text: &str) -> Result<Arc<[u64]>, String> {
    let mut values = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let value = line
            .parse::<f64>()
            .ok()
            .map(|ms| ms * 1e6)
            .filter(|ns| (0.0..=LONGEST_DELAY_NS as f64).contains(ns))
            .ok_or_else(|| format!("line {} is no delay", index + 1))?;
        values.push(value.round() as u64);
    }
    if values.is_empty() {
        return Err("it has no delay".to_string());
    }
    Ok(values.into())
}

pub(super) fn read(path: &Path, what: &str) -> Result<String, Failure> {
    let unreadable = |why: &dyn std::fmt::Display| wrong(what, why, "check the path and its mode");
    let size = std::fs::metadata(path)
        .map_err(|error| unreadable(&error))?
        .len();
    if size > LONGEST_FILE_BYTES {
        return Err(unreadable(&"it is longer than 512 MiB"));
    }
    std::fs::read_to_string(path).map_err(|error| unreadable(&error))
}
