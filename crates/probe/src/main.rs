//! culvert-probe: the program that Culvert runs on a node, to measure and to start other programs.

mod exec;
mod host;
mod init;
mod rootless;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

#[derive(Parser)]
#[command(version, about)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Serve requests on standard input; write answers to standard output (JSON, one a line).
    Agent,
    /// Run a program inside a node's namespaces.
    Exec(exec::Args),
    /// Serve a controller on this host: start programs, keep files, undo all of it at the end.
    Host(host::Args),
    /// Be process 1 of a node's PID namespace: wait for processes whose parent has ended.
    Init,
    /// Run a program as root of a user, a mount and a PID namespace of its own.
    Rootless(rootless::Args),
}

fn main() -> ExitCode {
    match Cli::parse().command {
        Command::Agent => agent(),
        Command::Exec(args) => exec::run(&args),
        Command::Host(args) => host::run(&args),
        Command::Init => init::run(),
        Command::Rootless(args) => rootless::run(&args),
    }
}

fn agent() -> ExitCode {
    match culvert_probe::agent::serve(std::io::stdin().lock(), std::io::stdout()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("culvert-probe agent: standard input: {error}");
            ExitCode::FAILURE
        }
    }
}
