//! Signals on their way to the program, and its end on the way back.

use nix::errno::Errno;
use nix::sys::signal::{SigSet, SigmaskHow, Signal, kill, raise, sigprocmask};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;
use std::mem::MaybeUninit;

const PASSED_ON: [Signal; 6] = [
    Signal::SIGHUP,
    Signal::SIGINT,
    Signal::SIGQUIT,
    Signal::SIGTERM,
    Signal::SIGUSR1,
    Signal::SIGUSR2,
];

/// How a program has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    Code(u8),
    Signal(u8),
}

impl Ended {
    pub fn bytes(self) -> [u8; 2] {
        match self {
            Self::Code(code) => [0, code],
            Self::Signal(number) => [1, number],
        }
    }

    pub fn of(bytes: [u8; 2]) -> Self {
        match bytes {
            [0, code] => Self::Code(code),
            [_, number] => Self::Signal(number),
        }
    }

    fn of_status(status: WaitStatus) -> Option<(Pid, Self)> {
        match status {
            WaitStatus::Exited(pid, code) => Some((pid, Self::Code(code as u8))),
            WaitStatus::Signaled(pid, signal, _) => Some((pid, Self::Signal(signal as u8))),
            _ => None,
        }
    }
}

/// Hold back the signals that are passed on; the mask as it was.
pub fn hold() -> nix::Result<SigSet> {
    // A caller that ignores it would have our children reaped unseen.
    // SAFETY: the default action is no handler of ours.
    unsafe { libc::signal(libc::SIGCHLD, libc::SIG_DFL) };
    let mut before = SigSet::empty();
    sigprocmask(SigmaskHow::SIG_BLOCK, Some(&watched()), Some(&mut before))?;
    Ok(before)
}

pub fn let_go(mask: &SigSet) -> nix::Result<()> {
    // Rust ignores SIGPIPE, and what is ignored is inherited.
    // SAFETY: the default action is no handler of ours.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
    sigprocmask(SigmaskHow::SIG_SETMASK, Some(mask), None)
}

/// Pass signals on to ``child`` until it has ended; children among ``reaped`` are waited for.
pub fn pass_on_until_end(child: Pid, reaped: Pid) -> nix::Result<Ended> {
    loop {
        let (signal, sent) = next()?;
        if signal == Signal::SIGCHLD {
            if let Some(ended) = reap(child, reaped)? {
                return Ok(ended);
            }
        } else if sent {
            match kill(child, signal) {
                Ok(()) | Err(Errno::ESRCH) => {}
                Err(errno) => return Err(errno),
            }
        }
    }
}

/// End as the program did. What is returned is the exit code if the signal does not end us.
pub fn die_by(number: u8) -> u8 {
    if let Ok(signal) = Signal::try_from(i32::from(number)) {
        // SAFETY: the default action is no handler of ours.
        unsafe { libc::signal(libc::c_int::from(number), libc::SIG_DFL) };
        let limit = nix::sys::resource::Resource::RLIMIT_CORE;
        let _ = nix::sys::resource::setrlimit(limit, 0, 0); // the program has left its own
        let mut only = SigSet::empty();
        only.add(signal);
        let _ = raise(signal);
        let _ = sigprocmask(SigmaskHow::SIG_UNBLOCK, Some(&only), None);
    }
    128 + number
}

fn watched() -> SigSet {
    PASSED_ON.into_iter().chain([Signal::SIGCHLD]).collect()
}

/// The next signal, and whether a process sent it. A terminal's signals come from the kernel and
/// reach the whole process group, the program included.
fn next() -> nix::Result<(Signal, bool)> {
    let mut about = MaybeUninit::<libc::siginfo_t>::uninit();
    loop {
        // SAFETY: both structures are ours; the kernel fills the second.
        let number = unsafe { libc::sigwaitinfo(watched().as_ref(), about.as_mut_ptr()) };
        match Errno::result(number) {
            // SAFETY: it was filled.
            Ok(number) => {
                let sent = unsafe { about.assume_init() }.si_code <= 0;
                return Ok((Signal::try_from(number)?, sent));
            }
            Err(Errno::EINTR) => {}
            Err(errno) => return Err(errno),
        }
    }
}

fn reap(child: Pid, reaped: Pid) -> nix::Result<Option<Ended>> {
    let mut found = None;
    loop {
        match waitpid(reaped, Some(WaitPidFlag::WNOHANG)) {
            Ok(WaitStatus::StillAlive) | Err(Errno::ECHILD) => return Ok(found),
            Ok(status) => match Ended::of_status(status) {
                Some((pid, ended)) if pid == child => found = Some(ended),
                _ => {}
            },
            Err(errno) => return Err(errno),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_survives_its_way_through_a_pipe() {
        for ended in [Ended::Code(0), Ended::Code(130), Ended::Signal(9)] {
            assert_eq!(Ended::of(ended.bytes()), ended);
        }
    }
}
