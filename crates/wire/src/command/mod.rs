//! Cables that exist until the program is stopped or its standard input ends.

pub mod control;
mod line;
mod options;
mod quantity;
pub mod requested;
mod service;

use std::collections::BTreeMap;
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};

use crate::cable::Cable;
use crate::failure::{Failure, Kind};
pub use options::CableArgs;
use service::{ONLY, Service};

/// `culvert-wire cable`: one cable, with its conditions on the command line.
pub fn one(args: &CableArgs) -> Result<(), Failure> {
    let plan = args.plan()?;
    let signals = signals()?;
    let cable = Cable::connect(plan)?;
    let mut service = Service::new(BTreeMap::from([(ONLY.to_string(), cable)]));
    let interval = Duration::from_millis(args.interval_ms);
    let reason = service.serve(&signals, Some(interval), Some(args.mtu))?;
    service.end(reason)
}

/// `culvert-wire cables`: the cables that commands on standard input request.
pub fn many() -> Result<(), Failure> {
    let signals = signals()?;
    let mut service = Service::new(BTreeMap::new());
    let reason = service.serve(&signals, None, None)?;
    service.end(reason)
}

/// Blocked before any thread starts, so that signals are only delivered here.
fn signals() -> Result<SignalFd, Failure> {
    let make = || -> Result<SignalFd, Errno> {
        let mut set = SigSet::empty();
        for signal in [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP] {
            set.add(signal);
        }
        set.thread_block()?;
        SignalFd::with_flags(&set, SfdFlags::SFD_CLOEXEC)
    };
    make().map_err(|errno| Failure::refused("signals", errno, "try again"))
}

/// A failure of the command line itself has its code from clap, which is 2 as well.
pub fn exit_code(failure: &Failure) -> u8 {
    match failure.kind {
        kind @ (Kind::Failed | Kind::Usage | Kind::NotPossible) => kind as u8,
    }
}
