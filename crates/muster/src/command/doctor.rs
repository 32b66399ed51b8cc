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
use std::path::PathBuf;

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
        if config.data.is_dir() {
            files::look(config, report);
        } else if self.place.data.is_some() || self.place.config.is_some() {
            let says = format!("{} does not exist", config.data.display());
            report.bad("data directory", says, "start `muster serve` once, or name another with --data");
        } else {
            let says = format!("{} does not exist: no server was started here", config.data.display());
            report.doubtful("data directory", says, "name the server's with --data if there is one");
        }
        store::look(&self.place, config, report);
    }
}
