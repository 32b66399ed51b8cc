//! One control plane for fleets of workers that come and go.

mod assembly;
mod client;
mod command;
mod config;
mod failure;
mod logging;
mod login_file;
mod output;
mod reach;
mod secrets;

use clap::Parser;
use command::Cli;
use std::process::ExitCode;

/// Runs the command that the program's arguments name. The program chooses the allocator.
#[must_use]
pub fn run() -> ExitCode {
    stay_small();
    match Cli::parse().run() {
        Ok(exit) => exit.into(),
        Err(failure) => {
            eprintln!("muster: {failure}");
            failure.exit().into()
        }
    }
}

/// Huge pages make a server with a million devices a sixth faster, and a small agent, worker or merge half again as large.
/// They are handed out with the first bytes that anybody asks for, so this cannot wait until the command line is
/// understood.
fn stay_small() {
    if std::env::args_os().nth(1).is_some_and(|command| SMALL.iter().any(|small| command == *small)) {
        // A kernel that refuses costs memory, nothing else.
        let _ = rustix::thread::disable_transparent_huge_pages(true);
    }
}

const SMALL: [&str; 4] = ["agent", "sim-worker", "manifest", "court"];
