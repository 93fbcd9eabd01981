//! The guard: waits for the agent's end, however it comes, and then removes all of the run.

use super::directory::Directory;
use super::{boot, processes, report, undo};
use nix::errno::Errno;
use nix::sys::signal::{SigSet, SigmaskHow, Signal, kill, sigprocmask};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;
use std::process::ExitCode;

const SOMETHING_REMAINS: u8 = 1;

/// The signals that the guard waits for, blocked from now on.
pub fn hold_signals() -> nix::Result<SigSet> {
    let held = watched();
    sigprocmask(SigmaskHow::SIG_BLOCK, Some(&held), None)?;
    Ok(held)
}

/// For the agent and its programs.
pub fn let_signals_go() -> nix::Result<()> {
    sigprocmask(SigmaskHow::SIG_SETMASK, Some(&SigSet::empty()), None)
}

fn watched() -> SigSet {
    [
        Signal::SIGCHLD,
        Signal::SIGTERM,
        Signal::SIGHUP,
        Signal::SIGINT,
        Signal::SIGQUIT,
    ]
    .into_iter()
    .collect()
}

/// Returns when the agent has ended and all of the run is removed.
pub fn watch(agent: Pid, signals: &SigSet, directory: &Directory) -> ExitCode {
    loop {
        match signals.wait() {
            Ok(Signal::SIGCHLD) => {
                if reaped(Some(agent)) {
                    break;
                }
            }
            Ok(_) | Err(_) => {
                // A signal to the guard ends the run.
                let _ = kill(agent, Signal::SIGKILL);
            }
        }
    }
    remove_all(directory)
}

/// Removes what a crashed run has left. After a restart of the host that is its directory only.
pub fn clean(directory: &Directory) -> ExitCode {
    if boot::is_same(directory.path()) {
        remove_all(directory)
    } else {
        remove_directory(directory, Vec::new())
    }
}

fn remove_all(directory: &Directory) -> ExitCode {
    let mut remains = Vec::new();
    let left = || {
        reaped(None);
        let own = processes::descendants(std::process::id() as i32);
        [own, processes::of_view(directory.identity())].concat()
    };
    if !processes::end(left) {
        remains.push("processes that do not end after SIGKILL".to_owned());
    }
    remains.extend(undo::all(directory.path()));
    remove_directory(directory, remains)
}

/// With what remains besides.
fn remove_directory(directory: &Directory, mut remains: Vec<String>) -> ExitCode {
    if let Err(error) = directory.remove() {
        remains.push(format!("{}: {error}", directory.path().display()));
    }
    for one in &remains {
        report(format!("remains: {one}"));
    }
    if remains.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(SOMETHING_REMAINS)
    }
}

/// Reaps all children that have ended; true if `wanted` was one of them.
pub fn reaped(wanted: Option<Pid>) -> bool {
    let mut seen = false;
    loop {
        match waitpid(Pid::from_raw(-1), Some(WaitPidFlag::WNOHANG)) {
            Ok(WaitStatus::Exited(pid, _) | WaitStatus::Signaled(pid, _, _)) => {
                seen |= Some(pid) == wanted;
            }
            Ok(WaitStatus::StillAlive) | Err(Errno::ECHILD) => return seen,
            Ok(_) | Err(Errno::EINTR) => {}
            Err(_) => return seen,
        }
    }
}
