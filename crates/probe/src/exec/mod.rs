//! `culvert-probe exec`: enter a node's namespaces and become another program.
//!
//! There is no process that holds a node's view of the files: every program makes a mount
//! namespace of its own, and the bind mounts in all of them show the same directories.

use nix::errno::Errno;
use nix::fcntl::{self, FcntlArg, FdFlag, OFlag};
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, CpuSet, sched_setaffinity, setns, unshare};
use nix::sys::prctl;
use nix::sys::signal::{SigHandler, SigSet, SigmaskHow, Signal, signal, sigprocmask};
use nix::sys::stat::Mode;
use nix::time::{ClockId, clock_gettime};
use nix::unistd::{Pid, execv, execvp, getppid, setsid, write};
use std::convert::Infallible;
use std::ffi::CString;
use std::fs::File;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::path::PathBuf;
use std::process::ExitCode;

mod bounded;

use bounded::{Capabilities, parse_capabilities};

#[derive(clap::Args)]
pub struct Args {
    /// Network namespace to enter.
    #[arg(long, value_name = "PATH")]
    netns: Option<PathBuf>,

    /// Run in a network namespace that no one else uses, and that ends with the program.
    #[arg(long, conflicts_with = "netns")]
    own_network: bool,

    /// Show SRC at DST, in a mount namespace of the program's own; in the order given.
    #[arg(long, value_name = "SRC:DST", value_parser = parse_bind)]
    bind: Vec<Bind>,

    /// Mount the network namespace's own sysfs on /sys.
    #[arg(long)]
    sysfs: bool,

    /// CPUs the program may use, such as 0,2-3.
    #[arg(long, value_name = "LIST", value_parser = parse_cpus)]
    cpus: Option<Cpus>,

    /// Capabilities that the program and its children may have, by number, such as 12,13; those of
    /// the caller without it.
    #[arg(long, value_name = "LIST", value_parser = parse_capabilities)]
    capabilities: Option<Capabilities>,

    /// Die (SIGKILL) with the parent, which has this process id.
    #[arg(long, value_name = "PID")]
    pdeathsig: Option<i32>,

    /// Write CLOCK_MONOTONIC in ns, 8 bytes little endian, to this descriptor just before the
    /// program is executed. It is closed by the execution; if that fails, the reason follows.
    #[arg(long, value_name = "FD")]
    stamp: Option<RawFd>,

    /// The program and its arguments.
    #[arg(last = true, required = true)]
    argv: Vec<String>,
}

#[derive(Clone)]
struct Bind {
    source: PathBuf,
    target: PathBuf,
}

#[derive(Clone, Debug, PartialEq)]
struct Cpus(Vec<usize>);

/// A step that failed: what, and why.
#[derive(Debug, thiserror::Error)]
#[error("{what}: {why}")]
struct Failure {
    what: String,
    why: String,
    missing: bool,
}

impl Failure {
    fn new(what: impl Into<String>, errno: Errno) -> Self {
        Self {
            what: what.into(),
            why: errno.desc().to_owned(),
            missing: false,
        }
    }
}

pub fn run(args: &Args) -> ExitCode {
    let Err(failure) = become_program(args);
    let line = format!("culvert-probe exec: {failure}\n");
    eprint!("{line}");
    if let Some(fd) = args.stamp {
        // Best effort: the line is on standard error as well.
        let _ = write(borrow(fd), line.as_bytes());
    }
    ExitCode::from(if failure.missing { 127 } else { 126 })
}

fn become_program(args: &Args) -> Result<Infallible, Failure> {
    if let Some(fd) = args.stamp {
        fcntl::fcntl(borrow(fd), FcntlArg::F_SETFD(FdFlag::FD_CLOEXEC))
            .map_err(|errno| Failure::new(format!("stamp descriptor {fd}"), errno))?;
    }
    own_session()?;
    if let Some(parent) = args.pdeathsig {
        die_with(Pid::from_raw(parent))?;
    }
    if let Some(path) = &args.netns {
        enter_netns(path)?;
    }
    if args.own_network {
        unshare(CloneFlags::CLONE_NEWNET)
            .map_err(|errno| Failure::new("network namespace", errno))?;
    }
    if !args.bind.is_empty() || args.sysfs {
        own_view(&args.bind, args.sysfs)?;
    }
    if let Some(cpus) = &args.cpus {
        pin(cpus)?;
    }
    if let Some(kept) = &args.capabilities {
        bounded::keep(kept)?;
    }
    execute(&args.argv, args.stamp)
}

/// A session of its own, so that signals reach the program and its children alone.
fn own_session() -> Result<(), Failure> {
    match setsid() {
        // EPERM: already the leader of a process group, which serves as well.
        Ok(_) | Err(Errno::EPERM) => Ok(()),
        Err(errno) => Err(Failure::new("new session", errno)),
    }
}

fn die_with(parent: Pid) -> Result<(), Failure> {
    prctl::set_pdeathsig(Signal::SIGKILL)
        .map_err(|errno| Failure::new("parent death signal", errno))?;
    // The parent may have died before the signal was requested; then it would never be sent.
    if getppid() == parent {
        return Ok(());
    }
    Err(Failure {
        what: format!("parent {parent}"),
        why: "is gone".to_owned(),
        missing: false,
    })
}

fn enter_netns(path: &PathBuf) -> Result<(), Failure> {
    let what = || format!("network namespace {}", path.display());
    let file = File::open(path).map_err(|error| Failure {
        what: what(),
        why: error.to_string(),
        missing: false,
    })?;
    setns(file, CloneFlags::CLONE_NEWNET).map_err(|errno| Failure::new(what(), errno))
}

const NOTHING: Option<&str> = None;

fn own_view(binds: &[Bind], sysfs: bool) -> Result<(), Failure> {
    unshare(CloneFlags::CLONE_NEWNS).map_err(|errno| Failure::new("mount namespace", errno))?;
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

fn pin(cpus: &Cpus) -> Result<(), Failure> {
    let mut set = CpuSet::new();
    for &cpu in &cpus.0 {
        set.set(cpu)
            .map_err(|errno| Failure::new(format!("CPU {cpu}"), errno))?;
    }
    sched_setaffinity(Pid::from_raw(0), &set)
        .map_err(|errno| Failure::new(format!("CPUs {:?}", cpus.0), errno))
}

fn execute(argv: &[String], stamp: Option<RawFd>) -> Result<Infallible, Failure> {
    let program = &argv[0];
    let failed = |errno: Errno| Failure {
        missing: errno == Errno::ENOENT,
        ..Failure::new(program.clone(), errno)
    };
    let words = argv
        .iter()
        .map(|word| CString::new(word.as_str()))
        .collect::<Result<Vec<_>, _>>()
        .map_err(|_| failed(Errno::EINVAL))?;
    default_signals()?;
    if let Some(fd) = stamp {
        let now = clock_gettime(ClockId::CLOCK_MONOTONIC)
            .map_err(|errno| Failure::new("CLOCK_MONOTONIC", errno))?;
        let ns = now.tv_sec() as u64 * 1_000_000_000 + now.tv_nsec() as u64;
        write(borrow(fd), &ns.to_le_bytes())
            .map_err(|errno| Failure::new(format!("stamp descriptor {fd}"), errno))?;
    }
    // execvp() would run a file that is no program with the shell: an error is clearer.
    let execute = if program.contains('/') { execv } else { execvp };
    execute(&words[0], &words).map_err(failed)
}

/// What is ignored or blocked is inherited: SIGPIPE by Rust's runtime, the others by a shell's
/// background job or nohup.
fn default_signals() -> Result<(), Failure> {
    let failed = |errno| Failure::new("signals", errno);
    for ignored in [
        Signal::SIGPIPE,
        Signal::SIGINT,
        Signal::SIGQUIT,
        Signal::SIGHUP,
    ] {
        // SAFETY: the default action is no handler of ours.
        unsafe { signal(ignored, SigHandler::SigDfl) }.map_err(failed)?;
    }
    sigprocmask(SigmaskHow::SIG_SETMASK, Some(&SigSet::empty()), None).map_err(failed)
}

fn borrow(fd: RawFd) -> BorrowedFd<'static> {
    // SAFETY: the parent passed this descriptor and nothing here closes it before the execution.
    unsafe { BorrowedFd::borrow_raw(fd) }
}

fn parse_bind(text: &str) -> Result<Bind, String> {
    let (source, target) = text.split_once(':').ok_or("expected SRC:DST")?;
    if !source.starts_with('/') || !target.starts_with('/') {
        return Err("both paths must be absolute".to_owned());
    }
    Ok(Bind {
        source: source.into(),
        target: target.into(),
    })
}

fn parse_cpus(text: &str) -> Result<Cpus, String> {
    let number = |word: &str| {
        word.trim()
            .parse::<usize>()
            .map_err(|_| format!("'{word}' is not a CPU number"))
    };
    let mut cpus = Vec::new();
    for part in text.split(',') {
        let (first, last) = match part.split_once('-') {
            Some((first, last)) => (number(first)?, number(last)?),
            None => (number(part)?, number(part)?),
        };
        if first > last || last >= CpuSet::count() {
            return Err(format!("'{part}' is not a range of CPUs"));
        }
        cpus.extend(first..=last);
    }
    Ok(Cpus(cpus))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_lists_are_numbers_and_ranges() {
        assert_eq!(parse_cpus("0,2-3").unwrap(), Cpus(vec![0, 2, 3]));
        assert_eq!(parse_cpus("1").unwrap(), Cpus(vec![1]));
        for wrong in ["", "a", "3-1", "0-", "99999"] {
            assert!(parse_cpus(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn binds_are_two_absolute_paths() {
        let bind = parse_bind("/tmp/a:/run").unwrap();
        assert_eq!((bind.source, bind.target), ("/tmp/a".into(), "/run".into()));
        for wrong in ["/tmp", "a:/run", "/tmp:run"] {
            assert!(parse_bind(wrong).is_err(), "{wrong}");
        }
    }
}
