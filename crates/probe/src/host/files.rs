//! Files of this host, in the view of the run's programs.

use super::refusal::Refusal;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use culvert_probe::protocol::failure::Failure;
use serde_json::{Value, json};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

const MAX_BYTES: u64 = 256 << 20;

/// The content, in base64: files of /proc and /sys have no length before they are read.
pub fn read(path: &Path) -> Result<Value, Refusal> {
    let failed = |error: io::Error| Refusal::io(path.display().to_string(), &error);
    let mut content = Vec::new();
    let file = File::open(path).map_err(failed)?;
    file.take(MAX_BYTES + 1)
        .read_to_end(&mut content)
        .map_err(failed)?;
    if content.len() as u64 > MAX_BYTES {
        let why = format!("it is larger than {MAX_BYTES} bytes");
        let what = path.display().to_string();
        return Err(Failure::new(what, why, "read a part of it with another program").into());
    }
    Ok(json!(STANDARD.encode(content)))
}

/// A new file, created with its mode, so that a secret is never readable by others; its
/// directories are made. `append` adds to a file that was written before.
pub fn write(path: &Path, data: &[u8], mode: u32, append: bool) -> Result<(), Refusal> {
    let failed = |error: io::Error| Refusal::io(path.display().to_string(), &error);
    if let Some(parent) = path.parent() {
        let mut directories = DirBuilder::new();
        directories
            .recursive(true)
            .mode(0o755)
            .create(parent)
            .map_err(failed)?;
    }
    let mut options = OpenOptions::new();
    options.mode(mode);
    if append {
        options.append(true);
    } else {
        remove(path)?;
        options.write(true).create_new(true);
    }
    let mut file = options.open(path).map_err(failed)?;
    file.write_all(data).map_err(failed)
}

/// A file that is gone already is no error.
pub fn remove(path: &Path) -> Result<(), Refusal> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(Refusal::io(path.display().to_string(), &error))
        }
        _ => Ok(()),
    }
}

/// The first executable file of that name in the directories of `path`.
pub fn find(program: &str, path: &str) -> Option<String> {
    let is_program = |path: &Path| {
        fs::metadata(path)
            .is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
    };
    if program.contains('/') {
        return is_program(Path::new(program)).then(|| program.to_owned());
    }
    // An empty entry means the working directory, from which root must not run programs.
    path.split(':')
        .filter(|directory| !directory.is_empty())
        .map(|directory| Path::new(directory).join(program))
        .find(|path| is_program(path))
        .map(|path| path.display().to_string())
}
