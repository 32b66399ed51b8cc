//! `muster man` and `muster completions`: manual pages and completions, made from the same words as `--help`.

use super::Cli;
use crate::failure::{Exit, Failure};
use clap::{Args, Command, CommandFactory};
use clap_complete::Shell;
use clap_mangen::Man as Page;
use std::{
    fs,
    io::{self, Write},
    path::PathBuf,
};

#[derive(Debug, Args)]
pub(crate) struct Man {
    /// Write the pages of all commands into this directory; without it the page of `muster` is printed
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,
}

impl Man {
    pub(crate) fn run(self) -> Result<Exit, Failure> {
        let mut command = Cli::command();
        command.build();
        match self.output {
            None => {
                // A reader who went away is no error.
                let _ = io::stdout().lock().write_all(&render(&command)?);
            }
            Some(directory) => {
                fs::create_dir_all(&directory)?;
                for (name, page) in pages(&command)? {
                    fs::write(directory.join(name), page)?;
                }
            }
        }
        Ok(Exit::Fine)
    }
}

/// The pages of a command and of all below it, by their file names.
fn pages(command: &Command) -> io::Result<Vec<(String, Vec<u8>)>> {
    let name = command.get_display_name().unwrap_or_else(|| command.get_name());
    let mut pages = vec![(format!("{name}.1"), render(command)?)];
    let shown = |below: &&Command| !below.is_hide_set() && below.get_name() != "help";
    for below in command.get_subcommands().filter(shown) {
        pages.extend(self::pages(below)?);
    }
    Ok(pages)
}

fn render(command: &Command) -> io::Result<Vec<u8>> {
    let mut page = Vec::new();
    Page::new(command.clone()).render(&mut page)?;
    Ok(page)
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_has_a_page() {
        let mut command = Cli::command();
        command.build();
        let pages = pages(&command).unwrap();
        let page = |name: &str| pages.iter().find(|(known, _)| known == name).map(|(_, page)| page);
        for name in
            ["muster.1", "muster-serve.1", "muster-run.1", "muster-run-submit.1", "muster-court-init.1"]
        {
            let page = page(name).unwrap_or_else(|| panic!("{name} is missing"));
            assert!(String::from_utf8_lossy(page).contains(".SH SYNOPSIS"), "{name}");
        }
        assert!(page("muster-guard.1").is_none(), "what is hidden has none");
    }
}
