//! `culvert-probe exec`: enter a node's namespaces and become another program.
//!
//! There is no process that holds a node's view of the files: every program makes a mount
//! namespace of its own, and the bind mounts in all of them show the same directories.

use nix::errno::Errno;
use nix::fcntl::{self, FcntlArg, FdFlag};
use nix::sched::{CloneFlags, CpuSet, sched_setaffinity, setns, unshare};
use nix::sys::prctl;
use nix::sys::signal::{SigHandler, SigSet, SigmaskHow, Signal, signal, sigprocmask};
use nix::time::{ClockId, clock_gettime};
use nix::unistd::{Pid, execv, execvp, getppid, setsid, write};
use std::convert::Infallible;
use std::ffi::CString;
use std::fs::File;
use std::os::fd::{BorrowedFd, RawFd};
use std::path::PathBuf;
use std::process::ExitCode;

mod apart;
mod bounded;
mod view;

use bounded::{Capabilities, parse_capabilities};
use view::{Bind, parse_bind};

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

    /// Mount the PID namespace's own procfs on /proc.
    #[arg(long)]
    procfs: bool,

    /// Make all that the machine shows read-only, but for what --bind shows, and run in a UTS and an
    /// IPC namespace of the program's own. Of /proc/sys, net can be written.
    #[arg(long)]
    apart: bool,

    /// CPUs the program may use, such as 0,2-3.
    #[arg(long, value_name = "LIST", value_parser = parse_cpus)]
    cpus: Option<Cpus>,

    /// Capabilities that the program and its children may have, by number, such as 12,13; those of
    /// the caller without it.
    #[arg(long, value_name = "LIST", value_parser = parse_capabilities)]
    capabilities: Option<Capabilities>,

    /// Die (SIGKILL) with the parent, which has this process id; 0 if it is outside of the PID
    /// namespace.
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
    if !args.bind.is_empty() || args.sysfs || args.procfs || args.apart {
        let own = view::Own {
            processes: args.procfs,
            network: args.sysfs,
            machine: args.apart,
        };
        view::make(&args.bind, own)?;
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
}
