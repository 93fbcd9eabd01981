//! `culvert-probe host`: everything that a controller does on this host passes through it.
//!
//! ```text
//! caller           what sudo or sshd started: it waits for the guard
//! └─ guard         outlives the agent, however that ends: it ends what was started, undoes what
//!    │             was done, removes the directory
//!    └─ agent      requests on standard input, answers on standard output (JSON, one a line)
//!       └─ programs
//! ```
//!
//! The end of the agent's input is the end of all: no process, interface, rule, route or file of
//! the run remains. A connection that is silent for too long counts as ended. The guard is the
//! reaper of processes whose parent has ended (PR_SET_CHILD_SUBREAPER), so that none escapes it;
//! the agent dies with the guard.

mod agent;
mod apart;
mod boot;
mod directory;
mod files;
mod guard;
mod processes;
mod program;
mod refusal;
mod requests;
mod socket;
mod undo;
mod usage;
mod view;

use culvert_probe::protocol::failure::{Failure, during};
use directory::{Directory, Opened};
use nix::sys::prctl;
use nix::sys::signal::Signal;
use nix::unistd::{ForkResult, fork, getppid};
use std::fmt::Display;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;
use view::View;

const NOT_POSSIBLE: u8 = 3;
/// Of `--clean`: the run goes on.
const IN_USE: u8 = 5;

#[derive(clap::Args)]
pub struct Args {
    /// The run's own directory on this host, mode 0700. It is removed at the end.
    #[arg(long, value_name = "PATH")]
    directory: PathBuf,

    /// The id of the user that the directory belongs to; without it, the user that runs this.
    #[arg(long, value_name = "UID")]
    owner: Option<u32>,

    /// A connection without any request for so long has ended.
    #[arg(long, value_name = "SECONDS", default_value_t = 20)]
    silence_s: u64,

    /// Undo what a run left in the directory whose host or agent crashed, then end.
    #[arg(long)]
    clean: bool,
}

pub fn run(args: &Args) -> ExitCode {
    let refused = |failure: Failure| {
        report(format!("{failure}: {}", failure.remedy));
        ExitCode::from(NOT_POSSIBLE)
    };
    apart::run(|| serve(args).unwrap_or_else(refused)).unwrap_or_else(refused)
}

/// On standard error, if somebody reads it: when the connection is lost nobody does, and the run
/// must be removed all the same.
fn report(what: impl Display) {
    let _ = writeln!(std::io::stderr(), "culvert-probe host: {what}");
}

fn serve(args: &Args) -> Result<ExitCode, Failure> {
    let directory = match directory::open(&args.directory, args.owner)? {
        Opened::Locked(directory) if args.clean => return Ok(guard::clean(&directory)),
        Opened::InUse(_) if args.clean => return Ok(ExitCode::from(IN_USE)),
        Opened::Missing(_) if args.clean => return Ok(ExitCode::SUCCESS),
        Opened::Locked(directory) => directory,
        Opened::InUse(failure) | Opened::Missing(failure) => return Err(failure),
    };
    begin(&directory, args).inspect_err(|_| {
        let _ = directory.remove();
    })
}

/// The guard and its agent.
fn begin(directory: &Directory, args: &Args) -> Result<ExitCode, Failure> {
    boot::keep(directory.path())?;
    let view = View::make(directory.name(), directory.identity())?;
    let signals = guard::hold_signals().map_err(during("hold signals back"))?;
    prctl::set_child_subreaper(true).map_err(during("become the reaper"))?;
    let guard = nix::unistd::getpid();
    // SAFETY: there is one thread, so the child may do anything.
    match unsafe { fork() }.map_err(during("start the agent"))? {
        ForkResult::Parent { child } => Ok(guard::watch(child, &signals, directory)),
        ForkResult::Child => {
            let served = prctl::set_pdeathsig(Signal::SIGKILL)
                .map_err(during("die with the guard"))
                .and_then(|()| guard::let_signals_go().map_err(during("let signals go")));
            if let Err(failure) = served {
                report(failure);
                std::process::exit(1);
            }
            // The guard may have died before the signal was requested.
            if getppid() == guard {
                agent::serve(directory.path(), &view, Duration::from_secs(args.silence_s));
            }
            std::process::exit(0);
        }
    }
}
