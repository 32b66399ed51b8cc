//! `muster checkpoint`: everything about sessions in one file, and back again (S20).

mod export;
mod restore;

use crate::{
    failure::{Exit, Failure},
    reach::Reach,
};
use clap::{Args, Subcommand};
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(crate) struct Checkpoint {
    #[command(flatten)]
    reach: Reach,
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Fetch a checkpoint of everything about sessions
    Export {
        /// Where to put it [default: standard output]
        file: Option<PathBuf>,
        /// Replace the file if it is there
        #[arg(long)]
        force: bool,
    },
    /// Write a checkpoint into a store that knows of no sessions, while no server runs on it
    Restore(restore::Restore),
}

impl Checkpoint {
    pub(crate) fn run(self) -> Result<Exit, Failure> {
        match self.action {
            Action::Export { file, force } => export::run(&self.reach, file, force),
            Action::Restore(restore) => restore.run(self.reach.json),
        }
    }
}
