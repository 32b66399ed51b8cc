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

/// Frees without touching its neighbours: with a million devices a command costs a third less than with the system's.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    match Cli::parse().run() {
        Ok(exit) => exit.into(),
        Err(failure) => {
            eprintln!("muster: {failure}");
            failure.exit().into()
        }
    }
}
