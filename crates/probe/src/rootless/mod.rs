//! `culvert-probe rootless`: run a program as root of namespaces of its own, without being root; or
//! with `--keep-rights` as the root that the caller is.
//!
//! ```text
//! supervisor    the caller's process: it waits, passes signals on, and has the program's exit code
//! └─ init       process 1 of a new PID namespace: it mounts, and reaps orphans
//!    └─ program
//! ```
//!
//! The user namespace maps the caller to root (user_namespaces(7)), so the program can make network
//! namespaces. It stays in the machine's itself, where it has no rights, unless it gets its own. If
//! the supervisor ends, however it ends, the kernel kills init and, as it was process 1, all
//! processes of the namespace (pid_namespaces(7)). All three stay in the caller's process group, so
//! a terminal's signals and job control reach the program directly.

mod mounts;
mod signals;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sched::{CloneFlags, unshare};
use nix::sys::prctl;
use nix::sys::signal::Signal;
use nix::unistd::{ForkResult, Pid, execvp, fork, getegid, geteuid, getpid, pipe2, read, write};
use signals::Ended;
use std::ffi::CString;
use std::fs;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd, RawFd};
use std::process::ExitCode;

/// Pass the process id of init, as seen outside, to programs inside: the second with `--keep-rights`.
const WITHOUT_ROOT: &str = "CULVERT_WITHOUT_ROOT";
const AS_ROOT: &str = "CULVERT_AS_ROOT";
const KILLED: u8 = 128 + 9;
const NOT_POSSIBLE: u8 = 3;

#[derive(clap::Args)]
pub struct Args {
    /// Where a step that the kernel refuses is reported: {"step": ..., "errno": ...}, to this
    /// descriptor instead of standard error.
    #[arg(long, value_name = "FD")]
    report: Option<RawFd>,

    /// A network namespace besides, empty but for a loopback that is down.
    #[arg(long)]
    net: bool,

    /// No user namespace: root keeps its rights on the machine.
    #[arg(long)]
    keep_rights: bool,

    /// The program and its arguments.
    #[arg(last = true, required = true)]
    argv: Vec<String>,
}

/// Operations that the kernel may refuse.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    UserNamespace,
    Mapping,
    Namespaces,
    Processes,
    Run,
    Proc,
    Program,
}

impl Step {
    fn name(self) -> &'static str {
        match self {
            Self::UserNamespace => "user-namespace",
            Self::Mapping => "mapping",
            Self::Namespaces => "namespaces",
            Self::Processes => "processes",
            Self::Run => "run",
            Self::Proc => "proc",
            Self::Program => "program",
        }
    }
}

#[derive(Debug, thiserror::Error)]
#[error("{}: {}", .step.name(), .errno.desc())]
struct Refusal {
    step: Step,
    errno: Errno,
}

/// Turns an errno into the refusal of a step.
fn refused(step: Step) -> impl Fn(Errno) -> Refusal {
    move |errno| Refusal { step, errno }
}

pub fn run(args: &Args) -> ExitCode {
    match supervise(args) {
        Ok(Some(Ended::Code(code))) => ExitCode::from(code),
        Ok(Some(Ended::Signal(number))) => ExitCode::from(signals::die_by(number)),
        Ok(None) => ExitCode::from(KILLED),
        Err(refusal) => {
            report(args.report, &refusal);
            ExitCode::from(NOT_POSSIBLE)
        }
    }
}

/// How the program ended; None if init was killed before it could report it.
fn supervise(args: &Args) -> Result<Option<Ended>, Refusal> {
    if !args.keep_rights {
        own_user_namespace()?;
    }
    let mut kinds = CloneFlags::CLONE_NEWNS | CloneFlags::CLONE_NEWPID;
    kinds.set(CloneFlags::CLONE_NEWNET, args.net);
    unshare(kinds).map_err(refused(Step::Namespaces))?;
    let processes = refused(Step::Processes);
    let mask = signals::hold().map_err(&processes)?;
    let flags = nix::fcntl::OFlag::O_CLOEXEC;
    let (outcome, write_end) = pipe2(flags).map_err(&processes)?;
    // Nobody writes to it: it is closed by the supervisor's end.
    let (life, lives) = pipe2(flags).map_err(&processes)?;
    // SAFETY: there is one thread, so the child may do anything.
    match unsafe { fork() }.map_err(&processes)? {
        ForkResult::Parent { child } => {
            drop((write_end, life));
            signals::pass_on_until_end(child, child).map_err(&processes)?;
            drop(lives);
            Ok(read_end(&outcome))
        }
        ForkResult::Child => {
            drop((outcome, lives));
            if let Err(refusal) = be_init(args, &mask, &write_end, &life) {
                report(args.report, &refusal);
                let _ = write(&write_end, &Ended::Code(NOT_POSSIBLE).bytes());
            }
            std::process::exit(0);
        }
    }
}

fn own_user_namespace() -> Result<(), Refusal> {
    let (user, group) = (geteuid(), getegid());
    unshare(CloneFlags::CLONE_NEWUSER).map_err(refused(Step::UserNamespace))?;
    let set = |file: &str, text: String| {
        fs::write(format!("/proc/self/{file}"), text)
            .map_err(|error| refused(Step::Mapping)(errno_of(&error)))
    };
    // Without it no unprivileged process may map groups (user_namespaces(7)).
    set("setgroups", "deny".to_owned())?;
    set("uid_map", format!("0 {user} 1"))?;
    set("gid_map", format!("0 {group} 1"))
}

/// Mount, start the program and reap until it has ended; how it ended goes to ``write_end``.
fn be_init(
    args: &Args,
    mask: &nix::sys::signal::SigSet,
    write_end: &OwnedFd,
    life: &OwnedFd,
) -> Result<(), Refusal> {
    let processes = refused(Step::Processes);
    prctl::set_pdeathsig(Signal::SIGKILL).map_err(&processes)?;
    // The supervisor may have ended before; then the signal would never be sent.
    if ended(life.as_fd()).map_err(&processes)? {
        return Ok(());
    }
    let directory = std::env::current_dir();
    let outside = mounts::pid_outside().unwrap_or_else(getpid);
    mounts::run().map_err(refused(Step::Run))?;
    mounts::proc().map_err(refused(Step::Proc))?;
    if let Ok(directory) = directory {
        // A directory below /run is in the new /run now. Where it cannot be entered it stays.
        let _ = std::env::set_current_dir(directory);
    }
    // SAFETY: there is one thread, so the child may do anything.
    match unsafe { fork() }.map_err(&processes)? {
        ForkResult::Parent { child } => {
            let ended = signals::pass_on_until_end(child, Pid::from_raw(-1)).map_err(&processes)?;
            let _ = write(write_end, &ended.bytes());
            Ok(())
        }
        ForkResult::Child => {
            let failure = execute(args, mask, outside);
            report(args.report, &failure);
            std::process::exit(i32::from(if failure.errno == Errno::ENOENT {
                127u8
            } else {
                126
            }));
        }
    }
}

fn execute(args: &Args, mask: &nix::sys::signal::SigSet, outside: Pid) -> Refusal {
    let words: Result<Vec<CString>, _> = args
        .argv
        .iter()
        .map(|word| CString::new(word.as_str()))
        .collect();
    let refused = refused(Step::Program);
    let Ok(words) = words else {
        return refused(Errno::EINVAL);
    };
    let variable = if args.keep_rights {
        AS_ROOT
    } else {
        WITHOUT_ROOT
    };
    // SAFETY: there is one thread.
    unsafe { std::env::set_var(variable, outside.to_string()) };
    if let Err(errno) = signals::let_go(mask) {
        return refused(errno);
    }
    match execvp(&words[0], &words) {
        Ok(never) => match never {},
        Err(errno) => refused(errno),
    }
}

/// True if all writers of a pipe are gone.
fn ended(pipe: BorrowedFd) -> nix::Result<bool> {
    let mut watched = [PollFd::new(pipe, PollFlags::empty())];
    poll(&mut watched, PollTimeout::ZERO)?;
    Ok(watched[0]
        .revents()
        .is_some_and(|events| events.contains(PollFlags::POLLHUP)))
}

fn read_end(outcome: &OwnedFd) -> Option<Ended> {
    let mut bytes = [0; 2];
    (read(outcome, &mut bytes) == Ok(2)).then(|| Ended::of(bytes))
}

fn report(descriptor: Option<RawFd>, refusal: &Refusal) {
    match descriptor {
        Some(number) => {
            let line = format!(
                "{{\"step\": \"{}\", \"errno\": {}}}\n",
                refusal.step.name(),
                refusal.errno as i32
            );
            // SAFETY: the caller passed this descriptor, and nothing here closes it.
            let descriptor = unsafe { BorrowedFd::borrow_raw(number) };
            let _ = write(descriptor, line.as_bytes());
        }
        None => eprintln!("culvert-probe rootless: {refusal}"),
    }
}

fn errno_of(error: &std::io::Error) -> Errno {
    error.raw_os_error().map_or(Errno::EIO, Errno::from_raw)
}
