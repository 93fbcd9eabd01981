//! What init mounts: its own /proc, and a /run whose `culvert` and `netns` are its own. Nothing of
//! it is seen outside; what is mounted outside later is seen inside.

use super::errno_of;
use nix::errno::Errno;
use nix::fcntl::{OFlag, open};
use nix::mount::{MsFlags, mount};
use nix::sys::stat::Mode;
use nix::unistd::Pid;
use std::fs::{self, DirEntry, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::symlink;
use std::path::Path;

const NOTHING: Option<&str> = None;
const RUN: &str = "/run";
/// The lab's own, and `ip netns`'s; everything else of /run stays visible.
const OURS: [&str; 3] = ["culvert", "netns", "culvert-proc"];
/// The /proc of outside: it shows the machine's other processes and the kernel's threads.
const MACHINE_PROC: &str = "/run/culvert-proc";

/// This process's id where /proc was mounted; before `proc`.
pub fn pid_outside() -> Option<Pid> {
    let name = fs::read_link("/proc/self").ok()?;
    name.to_str()?.parse().ok().map(Pid::from_raw)
}

/// The PID namespace's own /proc. The kernel refuses it where parts of the outer one are hidden
/// (mount_too_revealing() in fs/namespace.c), as in most containers.
pub fn proc() -> nix::Result<()> {
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
    mount(Some("proc"), "/proc", Some("proc"), flags, NOTHING)
}

/// A tmpfs of our own on /run, which shows what was there before; before `proc`.
pub fn run() -> nix::Result<()> {
    let private = MsFlags::MS_SLAVE | MsFlags::MS_REC;
    mount(NOTHING, "/", NOTHING, private, NOTHING)?;
    let before = open(RUN, OFlag::O_PATH | OFlag::O_CLOEXEC, Mode::empty())?;
    let entries: Vec<DirEntry> = fs::read_dir(RUN)
        .and_then(Iterator::collect)
        .map_err(|error| errno_of(&error))?;
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
    mount(Some("tmpfs"), RUN, Some("tmpfs"), flags, Some("mode=0755"))?;
    for entry in entries {
        if OURS.iter().all(|ours| entry.file_name() != *ours) {
            let hidden = format!("/proc/self/fd/{}", before.as_raw_fd());
            let source = Path::new(&hidden).join(entry.file_name());
            // What the kernel does not show is missing inside: nothing of the lab depends on it.
            let _ = show(&entry, &source);
        }
    }
    fs::create_dir(MACHINE_PROC).map_err(|error| errno_of(&error))?;
    let with_all_below = MsFlags::MS_BIND | MsFlags::MS_REC;
    mount(
        Some("/proc"),
        MACHINE_PROC,
        NOTHING,
        with_all_below,
        NOTHING,
    )
}

fn show(entry: &DirEntry, source: &Path) -> io::Result<()> {
    let target = entry.path();
    let kind = entry.file_type()?;
    if kind.is_symlink() {
        return symlink(fs::read_link(source)?, target);
    }
    if kind.is_dir() {
        fs::create_dir(&target)?;
    } else {
        File::create(&target)?;
    }
    // With what is mounted below: the kernel does not separate mounts of another user namespace.
    let flags = MsFlags::MS_BIND | MsFlags::MS_REC;
    mount(Some(source), &target, NOTHING, flags, NOTHING).map_err(|errno: Errno| errno.into())
}
