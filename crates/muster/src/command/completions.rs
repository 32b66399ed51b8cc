//! `muster completions SHELL`.

use crate::{command::Cli, failure::Exit};
use clap::{Args, CommandFactory};
use clap_complete::Shell;

#[derive(Debug, Args)]
pub(crate) struct Completions {
    /// For which shell
    shell: Shell,
}

impl Completions {
    pub(crate) fn run(self) -> Exit {
        clap_complete::generate(self.shell, &mut Cli::command(), "muster", &mut std::io::stdout());
        Exit::Fine
    }
}
