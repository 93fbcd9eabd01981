//! `culvert-probe init`: process 1 of a node's PID namespace.
//!
//! Processes whose parent has ended become its children. It waits for them, so that their processor
//! time is in its own accounting (`cutime`, `cstime` in proc_pid_stat(5)). If it ends, the kernel
//! kills all processes of the namespace (pid_namespaces(7)).

use nix::errno::Errno;
use nix::sys::signal::{SigSet, Signal};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use std::convert::Infallible;
use std::process::ExitCode;

/// Returns only if the kernel refuses to wait.
pub fn run() -> ExitCode {
    let Err(errno) = reap();
    eprintln!("culvert-probe init: {}", errno.desc());
    ExitCode::FAILURE
}

fn reap() -> nix::Result<Infallible> {
    let ended = SigSet::from(Signal::SIGCHLD);
    // Blocked: one that ends between the look and the wait is not missed.
    ended.thread_block()?;
    loop {
        match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
            Ok(WaitStatus::StillAlive) | Err(Errno::ECHILD) => ended.wait().map(drop)?,
            Ok(_) | Err(Errno::EINTR) => {}
            Err(errno) => return Err(errno),
        }
    }
}
