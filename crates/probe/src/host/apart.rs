//! The guard runs apart from the program that started it: sudo, sshd or a service's manager that
//! ends what it has started does not end the guard in the middle of its work.

use super::guard;
use culvert_probe::protocol::failure::{Failure, during};
use nix::sys::prctl;
use nix::sys::signal::{Signal, kill, raise};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{ForkResult, Pid, fork, getpid, getppid, setsid};
use std::process::ExitCode;

/// Runs `work` in a process and a session of its own; returns its exit code. A signal to this
/// process is one to that process, and so is the end of this one.
pub fn run(work: impl FnOnce() -> ExitCode) -> Result<ExitCode, Failure> {
    let signals = guard::hold_signals().map_err(during("hold signals back"))?;
    let caller = getpid();
    // SAFETY: there is one thread, so the child may do anything.
    match unsafe { fork() }.map_err(during("start the guard"))? {
        ForkResult::Parent { child } => loop {
            match signals.wait() {
                Ok(Signal::SIGCHLD) => {
                    if let Some(code) = ended(child) {
                        return Ok(code);
                    }
                }
                Ok(_) | Err(_) => {
                    let _ = kill(child, Signal::SIGTERM);
                }
            }
        },
        ForkResult::Child => {
            setsid().map_err(during("a session of its own"))?;
            prctl::set_pdeathsig(Signal::SIGTERM).map_err(during("end with the caller"))?;
            // The caller may have died before the signal was requested.
            if getppid() != caller {
                raise(Signal::SIGTERM).map_err(during("end with the caller"))?;
            }
            Ok(work())
        }
    }
}

fn ended(child: Pid) -> Option<ExitCode> {
    match waitpid(child, Some(WaitPidFlag::WNOHANG)) {
        Ok(WaitStatus::Exited(_, code)) => Some(ExitCode::from(code as u8)),
        Ok(WaitStatus::Signaled(_, signal, _)) => Some(ExitCode::from(128 + signal as u8)),
        Ok(_) => None,
        Err(_) => Some(ExitCode::FAILURE),
    }
}
