//! A mount namespace of the program's own: directories of its node in place of the machine's, and
//! what else the machine shows read-only.

use super::Failure;
use super::apart::{self, NOTHING};
use nix::errno::Errno;
use nix::fcntl::{self, OFlag};
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use nix::sys::stat::Mode;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::PathBuf;

#[derive(Clone)]
pub struct Bind {
    source: PathBuf,
    target: PathBuf,
    /// Stays read-only where the rest of the machine is.
    shown: bool,
}

pub fn make(binds: &[Bind], sysfs: bool, apart: bool) -> Result<(), Failure> {
    let mut kinds = CloneFlags::CLONE_NEWNS;
    kinds.set(CloneFlags::CLONE_NEWUTS | CloneFlags::CLONE_NEWIPC, apart);
    unshare(kinds).map_err(|errno| Failure::new("mount namespace", errno))?;
    // Slave, not private: our mounts stay here, but what the host unmounts goes here too, so that
    // a long-lived program does not keep other people's file systems busy.
    mount(
        NOTHING,
        "/",
        NOTHING,
        MsFlags::MS_REC | MsFlags::MS_SLAVE,
        NOTHING,
    )
    .map_err(|errno| Failure::new("mount propagation", errno))?;
    // All sources are opened first: a bind may hide the source of the next one.
    let sources = binds
        .iter()
        .map(open_source)
        .collect::<Result<Vec<_>, _>>()?;
    for (bind, source) in binds.iter().zip(&sources) {
        let path = format!("/proc/self/fd/{}", source.as_raw_fd());
        let bound = |flags| mount(Some(path.as_str()), &bind.target, NOTHING, flags, NOTHING);
        match bound(MsFlags::MS_BIND) {
            // The kernel does not separate mounts of another user namespace.
            Err(Errno::EINVAL) => bound(MsFlags::MS_BIND | MsFlags::MS_REC),
            result => result,
        }
        .map_err(|errno| Failure::new(format!("bind on {}", bind.target.display()), errno))?;
    }
    if sysfs {
        own_sysfs().map_err(|errno| Failure::new("sysfs on /sys", errno))?;
    }
    if apart {
        let own = binds.iter().filter(|bind| !bind.shown);
        apart::keep_the_machine(own.map(|bind| bind.target.as_path()))?;
    }
    Ok(())
}

fn own_sysfs() -> nix::Result<()> {
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
    let mounted = |flags| mount(Some("sysfs"), "/sys", Some("sysfs"), flags, NOTHING);
    match mounted(flags) {
        // In a container /sys is read-only: a user namespace there gets no other
        // (mnt_already_visible() in fs/namespace.c).
        Err(Errno::EPERM) => mounted(flags | MsFlags::MS_RDONLY),
        result => result,
    }
}

fn open_source(bind: &Bind) -> Result<OwnedFd, Failure> {
    fcntl::open(
        &bind.source,
        OFlag::O_PATH | OFlag::O_CLOEXEC,
        Mode::empty(),
    )
    .map_err(|errno| Failure::new(format!("bind {}", bind.source.display()), errno))
}

/// SRC:DST, or SRC:DST:ro.
pub fn parse_bind(text: &str) -> Result<Bind, String> {
    let (paths, shown) = match text.strip_suffix(":ro") {
        Some(paths) => (paths, true),
        None => (text, false),
    };
    let (source, target) = paths.split_once(':').ok_or("expected SRC:DST")?;
    if !source.starts_with('/') || !target.starts_with('/') {
        return Err("both paths must be absolute".to_owned());
    }
    Ok(Bind {
        source: source.into(),
        target: target.into(),
        shown,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn binds_are_two_absolute_paths() {
        let bind = parse_bind("/tmp/a:/run").unwrap();
        assert_eq!((bind.source, bind.target), ("/tmp/a".into(), "/run".into()));
        assert!(!bind.shown);
        assert!(parse_bind("/proc:/run/proc:ro").unwrap().shown);
        for wrong in ["/tmp", "a:/run", "/tmp:run"] {
            assert!(parse_bind(wrong).is_err(), "{wrong}");
        }
    }
}
