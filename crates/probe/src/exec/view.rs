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

const GUARDED: MsFlags = MsFlags::MS_NOSUID
    .union(MsFlags::MS_NODEV)
    .union(MsFlags::MS_NOEXEC);

#[derive(Clone)]
pub struct Bind {
    source: PathBuf,
    target: PathBuf,
    /// Stays read-only where the rest of the machine is.
    shown: bool,
}

/// What the program sees of its own, beside the binds.
#[derive(Clone, Copy)]
pub struct Own {
    /// /proc is that of its PID namespace.
    pub processes: bool,
    /// /sys is that of its network namespace.
    pub network: bool,
    /// Host name, System V IPC, and nothing of the machine that it could write to.
    pub machine: bool,
}

pub fn make(binds: &[Bind], own: Own) -> Result<(), Failure> {
    let mut kinds = CloneFlags::CLONE_NEWNS;
    kinds.set(
        CloneFlags::CLONE_NEWUTS | CloneFlags::CLONE_NEWIPC,
        own.machine,
    );
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
    if own.processes {
        let failed = |errno| Failure::new("procfs on /proc", errno);
        mount(Some("proc"), "/proc", Some("proc"), GUARDED, NOTHING).map_err(failed)?;
    }
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
    if own.network {
        own_sysfs().map_err(|errno| Failure::new("sysfs on /sys", errno))?;
    }
    if own.machine {
        let own = binds.iter().filter(|bind| !bind.shown);
        apart::keep_the_machine(own.map(|bind| bind.target.as_path()))?;
    }
    Ok(())
}

fn own_sysfs() -> nix::Result<()> {
    let mounted = |flags| mount(Some("sysfs"), "/sys", Some("sysfs"), flags, NOTHING);
    match mounted(GUARDED) {
        // In a container /sys is read-only: a user namespace there gets no other
        // (mnt_already_visible() in fs/namespace.c).
        Err(Errno::EPERM) => mounted(GUARDED.union(MsFlags::MS_RDONLY)),
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
