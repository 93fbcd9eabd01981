use std::process::ExitCode;

use clap::{Parser, Subcommand};

use culvert_wire::command::{CableArgs, exit_code, many, one};

/// The wire: an emulated link between nodes, exact per packet.
#[derive(Parser)]
#[command(version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Cable(Box<CableArgs>),
    /// Run the cables that standard input requests, until it ends.
    ///
    /// It reads commands, one JSON object a line, and answers with JSON lines: see the README of
    /// crates/wire.
    ///
    /// Example: {"command": "connect", "cable": "x", "a": "/run/netns/a:u0", "b": "/run/netns/b:u0"}
    Cables,
}

fn main() -> ExitCode {
    let (name, done) = match Cli::parse().command {
        Command::Cable(args) => ("cable", one(&args)),
        Command::Cables => ("cables", many()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("culvert-wire {name}: {failure}");
            ExitCode::from(exit_code(&failure))
        }
    }
}
