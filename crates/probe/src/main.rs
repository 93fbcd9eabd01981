//! culvert-probe: the program that Culvert runs on a node, to measure and to start other programs.

mod exec;

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
    /// Run a program inside a node's namespaces.
    Exec(exec::Args),
}

fn main() -> ExitCode {
    match Cli::parse().command {
        Command::Exec(args) => exec::run(&args),
    }
}
