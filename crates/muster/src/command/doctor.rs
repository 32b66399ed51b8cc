//! `muster doctor`: is this installation in order, and if not, what to do about it (I3).

mod files;
mod host;
mod report;
mod server;
mod store;

use super::{block_on, store_side::Place};
use crate::{
    config::Config,
    failure::{Exit, Failure},
    reach::Reach,
};
use clap::Args;
use report::Report;
use std::{io, path::PathBuf};
use store::Depth;

#[derive(Debug, Args)]
pub(crate) struct Doctor {
    #[command(flatten)]
    reach: Reach,
    #[command(flatten)]
    place: Place,
    /// Look at the court in this directory too [default: the one that court.directory names]
    #[arg(long, value_name = "DIR")]
    court: Option<PathBuf>,
    /// Look at the server only, not at this machine; with `--quiet` what a container's health check needs
    #[arg(long)]
    server_only: bool,
    /// Look at every page of an embedded store also while a server uses it; its log grows meanwhile
    #[arg(long)]
    deep: bool,
    /// Say only what is not in order
    #[arg(long)]
    quiet: bool,
}

impl Doctor {
    /// Looks at everything, changes nothing; ends with 0 unless something failed.
    pub(crate) fn run(self) -> Result<Exit, Failure> {
        let mut report = Report::default();
        if !self.server_only {
            self.look_here(&mut report);
        }
        block_on(server::look(&self.reach, &mut report))?;
        report.print(self.reach.json, self.quiet);
        Ok(report.exit())
    }

    fn look_here(&self, report: &mut Report) {
        let mut court = self.court.clone();
        match self.place.settings() {
            Ok(config) => {
                report.fine("settings", "they are understood".to_owned());
                self.look_at_data(&config, report);
                court = court.or(config.court);
            }
            Err(error) => {
                report.bad("settings", error.to_string(), "mend them; `muster config` shows those in force")
            }
        }
        host::open_files(report);
        host::adb(report);
        if let Some(court) = court {
            host::court(&court, report);
        }
    }

    /// A machine that is none of a server's has no data; whoever names a directory means it.
    fn look_at_data(&self, config: &Config, report: &mut Report) {
        const NAME: &str = "data directory";
        let shown = config.data.display();
        match config.data.metadata() {
            Ok(about) if about.is_dir() => files::look(config, report),
            Ok(_) => report.bad(NAME, format!("{shown} is no directory"), "name another with --data"),
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                report.bad(NAME, format!("{shown}: {error}"), "run this as the server's user");
            }
            Err(_) if self.place.data.is_some() || self.place.config.is_some() => {
                let todo = "start `muster serve` once, or name another with --data";
                report.bad(NAME, format!("{shown} does not exist"), todo);
            }
            Err(_) => {
                let says = format!("{shown} does not exist: no server was started here");
                report.doubtful(NAME, says, "name the server's with --data if there is one");
            }
        }
        let depth = if self.deep { Depth::Deep } else { Depth::Easy };
        store::look((&self.place, depth), config, report);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        doctor: Doctor,
    }

    /// I3: only what is not there is said not to be there.
    #[test]
    fn a_directory_that_cannot_be_reached_is_told() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("file");
        std::fs::write(&file, "").unwrap();
        for (data, says) in [
            (home.path().join("none"), "does not exist"),
            (file.clone(), "is no directory"),
            (file.join("below"), "Not a directory"),
        ] {
            let line = Line::parse_from(["doctor", "--data", data.to_str().unwrap()]);
            let mut report = Report::default();
            line.doctor.look_at_data(&line.doctor.place.settings().unwrap(), &mut report);
            assert_eq!(report.exit(), Exit::Failed);
            assert!(format!("{report:?}").contains(says), "{report:?}");
        }
    }
}
