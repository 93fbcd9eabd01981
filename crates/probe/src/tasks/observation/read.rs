//! `read`: files of the kernel's view of this node, below /proc and /sys. In a container of the
//! probe alone no other program could read them.

use crate::protocol::failure::Failure;
use crate::tasks::context::Context;
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

const MAX_FILES: usize = 256;
const MAX_BYTES: u64 = 256 << 10;
const ROOTS: [&str; 2] = ["/proc", "/sys"];

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    /// Absolute paths.
    paths: Vec<String>,
}

#[derive(Debug, Serialize)]
pub struct Files {
    files: Vec<Content>,
}

/// A file's text, or why it cannot be read.
#[derive(Debug, Serialize)]
struct Content {
    path: String,
    text: Option<String>,
    error: Option<String>,
}

pub fn run(parameters: &Parameters, _context: &Context) -> Result<Files, Failure> {
    if parameters.paths.len() > MAX_FILES {
        return Err(Failure::new(
            "read",
            format!("{} paths are too many", parameters.paths.len()),
            format!("request at most {MAX_FILES} at once"),
        ));
    }
    let files = parameters.paths.iter().map(|path| content(path)).collect();
    Ok(Files { files })
}

fn content(path: &str) -> Content {
    let (text, error) = match text_of(Path::new(path)) {
        Ok(text) => (Some(text), None),
        Err(error) => (None, Some(error.to_string())),
    };
    Content {
        path: path.to_owned(),
        text,
        error,
    }
}

fn text_of(path: &Path) -> io::Result<String> {
    // Links are followed first: /proc/1/root leads elsewhere.
    let real = fs::canonicalize(path)?;
    if !ROOTS.iter().any(|root| real.starts_with(root)) {
        return Err(io::Error::new(
            io::ErrorKind::PermissionDenied,
            "it is not below /proc or /sys",
        ));
    }
    let mut bytes = Vec::new();
    File::open(real)?.take(MAX_BYTES).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
