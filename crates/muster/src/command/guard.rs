//! `muster guard`: runs one program and ends all of it when the agent is gone. Only the agent calls it.

use clap::Args;
use std::{ffi::OsString, path::PathBuf};

#[derive(Debug, Args)]
pub(crate) struct Guard {
    /// Locked while the program or any child of it lives
    #[arg(long, value_name = "FILE")]
    lock: PathBuf,
    /// The program and its arguments
    #[arg(last = true, required = true)]
    argv: Vec<OsString>,
}

impl Guard {
    /// Ends with the program's own code.
    pub(crate) fn run(&self) -> ! {
        // What suits the agent need not suit the program.
        let _ = rustix::thread::disable_transparent_huge_pages(false);
        std::process::exit(muster_worker_kit::process::guard(&self.lock, &self.argv))
    }
}
