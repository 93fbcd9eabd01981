//! `culvert-probe exec`: enter a node's namespaces and become another program.

use std::process::ExitCode;

#[derive(clap::Args)]
pub struct Args {
    /// The program and its arguments.
    #[arg(last = true, required = true)]
    argv: Vec<String>,
}

pub fn run(_args: &Args) -> ExitCode {
    unimplemented!()
}
