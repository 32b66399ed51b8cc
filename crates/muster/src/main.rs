//! One control plane for fleets of workers that come and go.

mod assembly;
mod client;
mod command;
mod config;
mod failure;
mod logging;
mod output;
mod reach;
mod secrets;

use clap::Parser;
use command::Cli;
use std::process::ExitCode;

fn main() -> ExitCode {
    match Cli::parse().run() {
        Ok(exit) => exit.into(),
        Err(failure) => {
            eprintln!("muster: {failure}");
            failure.exit().into()
        }
    }
}
