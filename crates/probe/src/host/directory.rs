//! The run's directory: it must be the caller's own, and one agent's at a time.

use culvert_probe::protocol::failure::{Failure, during};
use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

const LOCK: &str = "lock";

/// The directory, locked as long as this lives.
pub struct Directory {
    path: PathBuf,
    identity: String,
    _lock: Flock<File>,
}

impl Directory {
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its last part, which names the run.
    pub fn name(&self) -> &str {
        self.path
            .file_name()
            .and_then(|name| name.to_str())
            .unwrap_or_default()
    }

    /// Of no other directory: hosts may share processes, such as a machine and its containers, and
    /// have a directory of the same name each.
    pub fn identity(&self) -> &str {
        &self.identity
    }

    /// Removes it with all that is in it.
    pub fn remove(&self) -> std::io::Result<()> {
        match fs::remove_dir_all(&self.path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
            other => other,
        }
    }
}

/// A directory that is the owner's, or none.
pub enum Opened {
    Locked(Directory),
    InUse(Failure),
    Missing(Failure),
}

/// Refuses a directory of another user than `owner` (or this one), or one that others may use.
pub fn open(path: &Path, owner: Option<u32>) -> Result<Opened, Failure> {
    let what = || format!("directory {}", path.display());
    let path = match path.canonicalize() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Ok(Opened::Missing(Failure::io(what(), &error)));
        }
        other => other.map_err(during(what()))?,
    };
    let found = fs::symlink_metadata(&path).map_err(during(what()))?;
    if found.uid() != owner.unwrap_or_else(|| nix::unistd::geteuid().as_raw()) {
        let why = format!("it belongs to another user (id {})", found.uid());
        return Err(Failure::new(what(), why, "use a directory of your own"));
    }
    if found.mode() & 0o077 != 0 {
        let why = format!("others may use it (mode {:04o})", found.mode() & 0o7777);
        return Err(Failure::new(what(), why, "make it with mode 0700"));
    }
    let file = File::create(path.join(LOCK)).map_err(during(what()))?;
    match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
        Ok(lock) => Ok(Opened::Locked(Directory {
            path,
            identity: format!("culvert-{:x}-{:x}", found.dev(), found.ino()),
            _lock: lock,
        })),
        Err((_, Errno::EAGAIN)) => Ok(Opened::InUse(Failure::new(
            what(),
            "the agent of another connection uses it",
            "wait for its end, or use another run id",
        ))),
        Err((_, errno)) => Err(Failure::io(what(), &errno.into())),
    }
}
