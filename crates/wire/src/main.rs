use std::process::ExitCode;

use clap::{Parser, Subcommand};

use culvert_wire::command::{CableArgs, exit_code, run};

/// The wire: an emulated link between nodes, exact per packet.
#[derive(Parser)]
#[command(version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Cable(CableArgs),
}

fn main() -> ExitCode {
    let Command::Cable(args) = Cli::parse().command;
    match run(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("culvert-wire cable: {failure}");
            ExitCode::from(exit_code(&failure))
        }
    }
}
