//! The host's files as the run's programs see them: /run and /etc/resolv.conf are the run's own,
//! so that a second daemon of a kind does not meet the first one's sockets and process ids.
//!
//! ```text
//! /run                     a tmpfs in the run's mount namespace: it is gone with the last process
//! ├─ lock  wireguard
//! └─ culvert-RUN           configurations, secrets, logs; root's, mode 0700
//! ```
//!
//! No directory on the way there is a user's: a program that is root without CAP_DAC_OVERRIDE may
//! not enter those of mode 0700, such as the directory of the upload, or a home.

use culvert_probe::protocol::failure::{Failure, during};
use nix::errno::Errno;
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sched::{CloneFlags, unshare};
use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

const NOTHING: Option<&str> = None;
const RUN: &str = "/run";
const VAR_RUN: &str = "/var/run";
const RESOLV_CONF: &str = "/etc/resolv.conf";
/// A log that grows without end must not take the host's memory.
const OPTIONS: &str = "mode=0755,size=25%";

pub struct View {
    name: String,
    /// As `processes::of_view` finds it.
    identity: String,
    /// The file that /etc/resolv.conf is, and its content.
    resolver: PathBuf,
    resolution: Vec<u8>,
}

impl View {
    /// In a mount namespace of this process and its children. `name` is the run's, `identity` that
    /// of its directory.
    pub fn make(name: &str, identity: &str) -> Result<View, Failure> {
        let resolver = fs::canonicalize(RESOLV_CONF).unwrap_or_else(|_| RESOLV_CONF.into());
        let resolution = fs::read(&resolver).unwrap_or_default();
        let view = View {
            name: name.to_owned(),
            identity: identity.to_owned(),
            resolver,
            resolution,
        };
        unshare(CloneFlags::CLONE_NEWNS).map_err(during("a mount namespace"))?;
        // Slave: our mounts stay here, but what the host unmounts is unmounted here too.
        let flags = MsFlags::MS_REC | MsFlags::MS_SLAVE;
        mount(NOTHING, "/", NOTHING, flags, NOTHING).map_err(during("mount propagation"))?;
        view.mount()?;
        Ok(view)
    }

    /// The files of the run.
    pub fn directory(&self) -> PathBuf {
        Path::new(RUN).join(&self.name)
    }

    /// As it was made: what programs and the controller have written there is gone.
    pub fn renew(&self) -> Result<(), Failure> {
        for place in [&self.resolver, Path::new(VAR_RUN), Path::new(RUN)] {
            if place == Path::new(RUN) || self.is_bound(place) {
                match umount2(place, MntFlags::MNT_DETACH) {
                    Ok(()) | Err(Errno::EINVAL) => {}
                    other => other.map_err(during(format!("unmount {}", place.display())))?,
                }
            }
        }
        self.mount()
    }

    fn mount(&self) -> Result<(), Failure> {
        let no_flags = MsFlags::empty();
        mount(
            Some(self.identity.as_str()),
            RUN,
            Some("tmpfs"),
            no_flags,
            Some(OPTIONS),
        )
        .map_err(during(format!("mount {RUN}")))?;
        let own = self.directory();
        directory(&Path::new(RUN).join("lock"), 0o755)?;
        directory(&Path::new(RUN).join("wireguard"), 0o755)?;
        directory(&own, 0o700)?;
        directory(&own.join("logs"), 0o755)?;
        if self.is_bound(Path::new(VAR_RUN)) {
            bind(Path::new(RUN), Path::new(VAR_RUN))?;
        }
        let written = |path: &Path| fs::write(path, &self.resolution).map_err(during(RESOLV_CONF));
        if self.resolver.starts_with(RUN) {
            let parent = self.resolver.parent().unwrap_or(Path::new(RUN));
            fs::create_dir_all(parent).map_err(during(RESOLV_CONF))?;
            written(&self.resolver)?;
        } else if self.is_bound(&self.resolver) {
            let copy = own.join("resolv.conf");
            written(&copy)?;
            bind(&copy, &self.resolver)?;
        }
        Ok(())
    }

    /// Whether the place is one of the host's, on which ours is bound.
    fn is_bound(&self, place: &Path) -> bool {
        if place == Path::new(VAR_RUN) {
            return !place.is_symlink() && place.is_dir();
        }
        !place.starts_with(RUN) && place.exists()
    }
}

fn directory(path: &Path, mode: u32) -> Result<(), Failure> {
    let made = DirBuilder::new().mode(mode).create(path);
    made.map_err(during(format!("directory {}", path.display())))
}

fn bind(source: &Path, target: &Path) -> Result<(), Failure> {
    mount(Some(source), target, NOTHING, MsFlags::MS_BIND, NOTHING)
        .map_err(during(format!("bind on {}", target.display())))
}
