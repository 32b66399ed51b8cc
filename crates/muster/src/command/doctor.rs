//! `muster doctor`: is this installation in order, and if not, what to do about it (I3).

mod files;
mod server;

use super::{client_command::block_on, store_side::StoreLocation};
use crate::{
    config::Config,
    failure::{Exit, Failure},
    output,
    reach::Reach,
};
use clap::Args;
use muster_court::{Clock, Folder, config, doctor};
use rustix::process::{Resource, getrlimit};
use serde_json::{Value, json};
use server::Depth;
use std::{
    env, io,
    path::{Path, PathBuf},
};

#[derive(Debug, Args)]
pub(crate) struct Doctor {
    #[command(flatten)]
    reach: Reach,
    #[command(flatten)]
    place: StoreLocation,
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
        open_files(report);
        adb(report);
        if let Some(court) = court {
            check_court(&court, report);
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
        server::look_at_store(&self.place, depth, config, report);
    }
}

/// Everything that was looked at, in order.
#[derive(Debug, Default)]
struct Report(Vec<Check>);

/// One thing that was looked at.
#[derive(Debug)]
struct Check {
    name: &'static str,
    verdict: Verdict,
    says: String,
    /// Advice; empty if there is nothing to do.
    todo: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Ok,
    Warn,
    Fail,
    /// Failed because nobody answers.
    Unreachable,
}

impl Verdict {
    const fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warn => "warn",
            Self::Fail | Self::Unreachable => "fail",
        }
    }

    const fn is_failure(self) -> bool {
        matches!(self, Self::Fail | Self::Unreachable)
    }
}

impl Report {
    fn fine(&mut self, name: &'static str, says: String) {
        self.0.push(Check { name, verdict: Verdict::Ok, says, todo: String::new() });
    }

    fn doubtful(&mut self, name: &'static str, says: String, todo: &str) {
        self.0.push(Check { name, verdict: Verdict::Warn, says, todo: todo.to_owned() });
    }

    fn bad(&mut self, name: &'static str, says: String, todo: &str) {
        self.0.push(Check { name, verdict: Verdict::Fail, says, todo: todo.to_owned() });
    }

    fn unreachable(&mut self, name: &'static str, says: String, todo: &str) {
        self.0.push(Check { name, verdict: Verdict::Unreachable, says, todo: todo.to_owned() });
    }

    /// 0 unless something failed; 3 when that is only that nobody answers (I4).
    fn exit(&self) -> Exit {
        let mut failures = self.0.iter().map(|check| check.verdict).filter(|verdict| verdict.is_failure());
        match failures.next() {
            None => Exit::Fine,
            Some(first)
                if [first].into_iter().chain(failures).all(|verdict| verdict == Verdict::Unreachable) =>
            {
                Exit::Unreachable
            }
            Some(_) => Exit::Failed,
        }
    }

    fn print(&self, json: bool, is_quiet: bool) {
        if json {
            return output::document(&self.document());
        }
        for check in self.0.iter().filter(|check| !is_quiet || check.verdict != Verdict::Ok) {
            output::line(&check.line());
        }
    }

    fn document(&self) -> Value {
        let check = |check: &Check| {
            let todo = Some(&check.todo).filter(|todo| !todo.is_empty());
            json!({"check": check.name, "verdict": check.verdict.word(), "says": check.says, "todo": todo})
        };
        json!({"ok": self.exit() == Exit::Fine, "checks": self.0.iter().map(check).collect::<Vec<_>>()})
    }
}

impl Check {
    fn line(&self) -> String {
        let says = self.says.replace(char::is_control, " ");
        let todo = if self.todo.is_empty() {
            String::new()
        } else {
            format!("\n                       → {}", self.todo)
        };
        format!("{:<5} {:<16} {says}{todo}", self.verdict.word(), self.name)
    }
}

/// Each waiting node and each open page is one; the server takes as many as the system lets it.
fn open_files(report: &mut Report) {
    let most = getrlimit(Resource::Nofile).maximum;
    match most {
        Some(most) if most < OPEN_FILES_EASY => {
            let says = format!("at most {most} at once");
            report.doubtful(
                "open files",
                says,
                "raise the limit (LimitNOFILE= of the service) for more than a few hundred nodes",
            );
        }
        Some(most) => report.fine("open files", format!("{most} at once")),
        None => report.fine("open files", "as many as there are".to_owned()),
    }
}

/// Only agents with real phones need it.
fn adb(report: &mut Report) {
    let path = env::var_os("PATH").unwrap_or_default();
    match env::split_paths(&path).map(|directory| directory.join("adb")).find(|adb| adb.is_file()) {
        Some(adb) => report.fine("adb", adb.display().to_string()),
        None => {
            let todo =
                "needed only where `muster agent --devices adb` runs: install the platform tools there";
            report.doubtful("adb", "not found in PATH".to_owned(), todo);
        }
    }
}

/// Result of `muster court doctor` in one line.
fn check_court(home: &Path, report: &mut Report) {
    const NAME: &str = "court";
    let look = || {
        let court = config::Court::read(home).map_err(|error| error.to_string())?;
        let folder = Folder::look(home).map_err(|error| error.to_string())?;
        doctor::stuck(&folder, &court, Clock.now()).map_err(|error| error.to_string())
    };
    match look() {
        Ok(findings) if findings.stuck.is_empty() => {
            report.fine(NAME, format!("nothing is stuck in {}", home.display()));
        }
        Ok(findings) => {
            let todo = format!("`muster court doctor --home {}` says what and why", home.display());
            report.bad(NAME, format!("{} things are stuck", findings.stuck.len()), &todo);
        }
        Err(error) => report.bad(NAME, error, "name a court's directory; `muster court init` makes one"),
    }
}

const OPEN_FILES_EASY: u64 = 4096;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::Exit;
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

    fn exit(fill: impl FnOnce(&mut Report)) -> Exit {
        let mut report = Report::default();
        report.fine("a", String::new());
        fill(&mut report);
        report.exit()
    }

    /// I4: 0 when nothing failed, 3 when only nobody answers, else 1.
    #[test]
    fn the_exit_code_is_that_of_the_worst() {
        assert_eq!(exit(|report| report.doubtful("b", String::new(), "")), Exit::Fine);
        assert_eq!(exit(|report| report.unreachable("b", String::new(), "")), Exit::Unreachable);
        assert_eq!(exit(|report| report.bad("b", String::new(), "")), Exit::Failed);
        let both = |report: &mut Report| {
            report.unreachable("b", String::new(), "");
            report.bad("c", String::new(), "");
        };
        assert_eq!(exit(both), Exit::Failed);
    }

    #[test]
    fn a_line_says_what_to_do() {
        let check = Check {
            name: "disk",
            verdict: Verdict::Warn,
            says: "1 GiB\u{1b} free".to_owned(),
            todo: "make room".to_owned(),
        };
        assert_eq!(check.line(), "warn  disk             1 GiB  free\n                       → make room");
    }

    #[test]
    fn a_court_that_is_none_is_told() {
        let home = tempfile::tempdir().unwrap();
        let mut report = Report::default();
        check_court(&home.path().join("nowhere"), &mut report);
        assert_eq!(report.exit(), Exit::Failed);
    }

    /// I3, C21: a doctor's visit makes nothing.
    #[test]
    fn a_court_is_only_looked_at() {
        let home = tempfile::tempdir().unwrap();
        muster_court::init::init(home.path()).unwrap();
        let count = || std::fs::read_dir(home.path()).unwrap().count();
        let before = count();
        let mut report = Report::default();
        check_court(home.path(), &mut report);
        assert_eq!((report.exit(), count()), (Exit::Fine, before));
    }
}
