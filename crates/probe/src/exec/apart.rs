//! A program that can change its own files only, whatever user it is.
//!
//! ```text
//! /                        read-only, and all that is mounted below
//! ├─ what is bound         as it was: the node's /run, /tmp, /dev/shm, its own directory ...
//! ├─ /dev/pts              terminals of the program's own
//! ├─ /sys                  read-only, but for devices/virtual/net of the network namespace
//! └─ /proc                 as it was
//!    ├─ sys                read-only: core_pattern and the like belong to the machine
//!    │  └─ net             as it was, that of the network namespace
//!    └─ irq, bus ...       read-only, as in containers
//! ```
//!
//! Devices, sockets and pipes can be opened for writing on a read-only mount (mount(2)).

use super::Failure;
use nix::errno::Errno;
use nix::mount::{MsFlags, mount};
use nix::sys::statvfs::{FsFlags, statvfs};
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

pub const NOTHING: Option<&str> = None;

/// Of the machine, though in /proc; a directory before what is in it.
const MACHINES: [&str; 7] = [
    "/proc/sys",
    "/proc/sysrq-trigger",
    "/proc/irq",
    "/proc/bus",
    "/proc/fs",
    "/proc/acpi",
    "/proc/scsi",
];
/// Of the network namespace.
const NETWORK: [&str; 2] = ["/proc/sys/net", "/sys/devices/virtual/net"];
const TERMINALS: &str = "/dev/pts";

/// `struct mount_attr` (mount_setattr(2), Linux 5.12).
#[repr(C)]
#[derive(Default)]
struct Attributes {
    set: u64,
    clear: u64,
    propagation: u64,
    user_namespace: u64,
}

/// Make all mounts read-only but those at `own`, which are mounted already.
pub fn keep_the_machine<'a>(own: impl Iterator<Item = &'a Path>) -> Result<(), Failure> {
    for path in MACHINES.iter().chain(&NETWORK).map(Path::new) {
        if path.exists() {
            bind_on_itself(path).map_err(failed(path))?;
        }
    }
    let network = NETWORK.iter().map(Path::new);
    let writable: Vec<&Path> = own
        .chain([Path::new("/proc")])
        .chain(network)
        .filter(|path| is_writable(path))
        .collect();
    let read_only = Attributes {
        set: libc::MOUNT_ATTR_RDONLY,
        ..Attributes::default()
    };
    change(Path::new("/"), &read_only, libc::AT_RECURSIVE).map_err(failed(Path::new("/")))?;
    let as_before = Attributes {
        clear: libc::MOUNT_ATTR_RDONLY,
        ..Attributes::default()
    };
    for path in writable {
        change(path, &as_before, 0).map_err(failed(path))?;
    }
    let terminals = Path::new(TERMINALS);
    if terminals.exists() {
        own_terminals(terminals).map_err(failed(terminals))?;
    }
    Ok(())
}

fn bind_on_itself(path: &Path) -> nix::Result<()> {
    let bound = |flags| mount(Some(path), path, NOTHING, flags, NOTHING);
    match bound(MsFlags::MS_BIND) {
        // The kernel does not separate mounts of another user namespace.
        Err(Errno::EINVAL) => bound(MsFlags::MS_BIND | MsFlags::MS_REC),
        result => result,
    }
}

fn is_writable(path: &Path) -> bool {
    statvfs(path).is_ok_and(|found| !found.flags().contains(FsFlags::ST_RDONLY))
}

fn own_terminals(path: &Path) -> nix::Result<()> {
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NOEXEC;
    let options = Some("newinstance,ptmxmode=0666,mode=0620");
    mount(Some("devpts"), path, Some("devpts"), flags, options)
}

fn change(path: &Path, attributes: &Attributes, flags: libc::c_int) -> nix::Result<()> {
    let name = CString::new(path.as_os_str().as_bytes()).map_err(|_| Errno::EINVAL)?;
    // SAFETY: both pointers are valid until it returns, and the size is that of the structure.
    let result = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            libc::AT_FDCWD,
            name.as_ptr(),
            flags,
            std::ptr::from_ref(attributes),
            size_of::<Attributes>(),
        )
    };
    Errno::result(result).map(drop)
}

fn failed(path: &Path) -> impl Fn(Errno) -> Failure {
    move |errno| {
        Failure::new(
            format!("a machine that stays as it is, {}", path.display()),
            errno,
        )
    }
}
