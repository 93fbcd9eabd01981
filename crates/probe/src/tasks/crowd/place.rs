//! Where a member's socket is made.

use crate::protocol::failure::{Failure, during};
use nix::sched::{CloneFlags, setns};
use std::fs::File;
use std::path::{Path, PathBuf};

const OWN: &str = "/proc/thread-self/ns/net";

/// Makes something for each member in its network namespace (None: this process's own).
///
/// In a thread of its own: the namespaces end with it, sockets stay where they were made.
pub fn each_there<T: Send>(
    namespaces: &[Option<PathBuf>],
    mut make: impl FnMut(usize) -> Result<T, Failure> + Send,
) -> Result<Vec<T>, Failure> {
    std::thread::scope(|scope| {
        let made = scope.spawn(move || {
            let home = File::open(OWN).map_err(during(OWN))?;
            let mut here: Option<&Path> = None;
            let mut made = Vec::with_capacity(namespaces.len());
            for (number, wanted) in namespaces.iter().enumerate() {
                let wanted = wanted.as_deref();
                if wanted != here {
                    enter(wanted, &home)?;
                    here = wanted;
                }
                made.push(make(number)?);
            }
            Ok(made)
        });
        made.join().expect("making sockets does not panic")
    })
}

fn enter(namespace: Option<&Path>, home: &File) -> Result<(), Failure> {
    let Some(path) = namespace else {
        return setns(home, CloneFlags::CLONE_NEWNET).map_err(during(OWN));
    };
    let what = || format!("network namespace {}", path.display());
    let file = File::open(path).map_err(during(what()))?;
    setns(file, CloneFlags::CLONE_NEWNET).map_err(during(what()))
}
