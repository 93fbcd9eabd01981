//! The host's files as the run's programs see them: /run and /etc/resolv.conf are the run's own,
//! so that a second daemon of a kind does not meet the first one's sockets and process ids.

use culvert_probe::failure::{Failure, during};
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

const NOTHING: Option<&str> = None;
const RESOLV_CONF: &str = "/etc/resolv.conf";

/// Makes the directories below `directory`, and mounts them in a mount namespace of this process
/// and its children. The directory itself must not be below /run.
pub fn make(directory: &Path) -> Result<(), Failure> {
    let run = directory.join("run");
    for made in [
        &run,
        &run.join("lock"),
        &run.join("wireguard"),
        &directory.join("logs"),
    ] {
        let what = || format!("directory {}", made.display());
        match DirBuilder::new().mode(0o755).create(made) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                return Err(Failure::io(what(), &error));
            }
            _ => {}
        }
    }
    unshare(CloneFlags::CLONE_NEWNS).map_err(during("a mount namespace"))?;
    // Slave: our mounts stay here, but what the host unmounts is unmounted here too.
    let flags = MsFlags::MS_REC | MsFlags::MS_SLAVE;
    mount(NOTHING, "/", NOTHING, flags, NOTHING).map_err(during("mount propagation"))?;
    let resolver = fs::canonicalize(RESOLV_CONF).unwrap_or_else(|_| PathBuf::from(RESOLV_CONF));
    let content = fs::read(&resolver).unwrap_or_default();
    bind(&run, Path::new("/run"))?;
    if !Path::new("/var/run").is_symlink() && Path::new("/var/run").is_dir() {
        bind(&run, Path::new("/var/run"))?;
    }
    if resolver.starts_with("/run") {
        let parent = resolver.parent().unwrap_or(Path::new("/run"));
        fs::create_dir_all(parent).map_err(during(RESOLV_CONF))?;
        return fs::write(&resolver, content).map_err(during(RESOLV_CONF));
    }
    if resolver.exists() {
        let own = directory.join("resolv.conf");
        fs::write(&own, content).map_err(during(RESOLV_CONF))?;
        bind(&own, &resolver)?;
    }
    Ok(())
}

fn bind(source: &Path, target: &Path) -> Result<(), Failure> {
    mount(Some(source), target, NOTHING, MsFlags::MS_BIND, NOTHING)
        .map_err(during(format!("bind on {}", target.display())))
}
