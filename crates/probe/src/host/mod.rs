//! `culvert-probe host`: everything that a controller does on this host passes through it.
//!
//! ```text
//! guard         outlives the agent, however that ends: it ends what was started, undoes what was
//! │             done, removes the directory
//! └─ agent      requests on standard input, answers on standard output (JSON, one a line)
//!    └─ programs
//! ```
//!
//! The end of the agent's input is the end of all: no process, interface, rule, route or file of
//! the run remains. A connection that is silent for too long counts as ended. The guard is the
//! reaper of processes whose parent has ended (PR_SET_CHILD_SUBREAPER), so that none escapes it;
//! the agent dies with the guard.

mod agent;
mod boot;
mod directory;
mod files;
mod guard;
mod processes;
mod program;
mod requests;
mod socket;
mod undo;
mod usage;
mod view;

use culvert_probe::failure::{Failure, during};
use directory::Opened;
use nix::sys::prctl;
use nix::sys::signal::Signal;
use nix::unistd::{ForkResult, fork, getppid};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

const NOT_POSSIBLE: u8 = 3;
/// Of `--clean`: the run goes on.
const IN_USE: u8 = 5;

#[derive(clap::Args)]
pub struct Args {
    /// The run's own directory on this host, mode 0700. It is removed at the end.
    #[arg(long, value_name = "PATH")]
    directory: PathBuf,

    /// A connection without any request for so long has ended.
    #[arg(long, value_name = "SECONDS", default_value_t = 20)]
    silence_s: u64,

    /// Undo what a run left in the directory whose host or agent crashed, then end.
    #[arg(long)]
    clean: bool,
}

pub fn run(args: &Args) -> ExitCode {
    match serve(args) {
        Ok(code) => code,
        Err(failure) => {
            eprintln!("culvert-probe host: {failure}: {}", failure.remedy);
            ExitCode::from(NOT_POSSIBLE)
        }
    }
}

fn serve(args: &Args) -> Result<ExitCode, Failure> {
    let directory = match directory::open(&args.directory)? {
        Opened::Locked(directory) if args.clean => return Ok(guard::clean(&directory)),
        Opened::InUse(_) if args.clean => return Ok(ExitCode::from(IN_USE)),
        Opened::Missing(_) if args.clean => return Ok(ExitCode::SUCCESS),
        Opened::Locked(directory) => directory,
        Opened::InUse(failure) | Opened::Missing(failure) => return Err(failure),
    };
    boot::keep(directory.path())?;
    view::make(directory.path())?;
    let signals = guard::hold_signals().map_err(during("hold signals back"))?;
    prctl::set_child_subreaper(true).map_err(during("become the reaper"))?;
    let guard = nix::unistd::getpid();
    // SAFETY: there is one thread, so the child may do anything.
    match unsafe { fork() }.map_err(during("start the agent"))? {
        ForkResult::Parent { child } => Ok(guard::watch(child, &signals, &directory)),
        ForkResult::Child => {
            let served = prctl::set_pdeathsig(Signal::SIGKILL)
                .map_err(during("die with the guard"))
                .and_then(|()| guard::let_signals_go().map_err(during("let signals go")));
            if let Err(failure) = served {
                eprintln!("culvert-probe host: {failure}");
                std::process::exit(1);
            }
            // The guard may have died before the signal was requested.
            if getppid() == guard {
                agent::serve(directory.path(), Duration::from_secs(args.silence_s));
            }
            std::process::exit(0);
        }
    }
}
