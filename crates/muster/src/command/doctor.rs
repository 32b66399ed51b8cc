//! `muster doctor`: is this installation in order, and if not, what to do about it (I3).

mod server;

use super::{client_command::block_on, store_copy::StoreLocation};
use crate::{
    config::{Config, StoreChoice},
    failure::{Exit, Failure},
    output,
    reach::Reach,
    secrets,
};
use clap::Args;
use muster_court::{Clock, Folder, config, doctor};
use rustix::{
    fs::{Access, access, statvfs},
    process::{Resource, getrlimit},
};
use serde_json::{Value, json};
use server::Depth;
use std::{
    env, fs, io,
    os::unix::fs::{MetadataExt, PermissionsExt},
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
            Ok(about) if about.is_dir() => look_into(config, report),
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

/// The data directory and what lies in it: whose it is, secrets, room, places to write to.
fn look_into(config: &Config, report: &mut Report) {
    directory(&config.data, report);
    if config.store == StoreChoice::Sqlite {
        secret_files(&config.data, report);
    }
    room(&config.data, report);
    writable("output root", &config.simulation.output_root, report);
    writable("artifacts", &config.artifact_root, report);
}

/// Secrets and everybody's work lie there: it is for its owner alone.
fn directory(data: &Path, report: &mut Report) {
    const NAME: &str = "data directory";
    let shown = data.display();
    let about = match fs::metadata(data) {
        Ok(about) => about,
        Err(error) => {
            return report.bad(NAME, format!("{shown}: {error}"), "make it readable for the server's user");
        }
    };
    let mode = about.permissions().mode() & 0o777;
    if mode & 0o077 != 0 {
        let says = format!("{shown} is open to others (mode {mode:o})");
        return report.bad(NAME, says, "chmod 700 it; others may have read the secrets: replace those");
    }
    let own = rustix::process::geteuid();
    if about.uid() != own.as_raw() && !own.is_root() {
        let says = format!("{shown} belongs to user {}, and you are {}", about.uid(), own.as_raw());
        return report.doubtful(NAME, says, "run this as the server's user");
    }
    report.fine(NAME, format!("{shown}, for its owner alone"));
}

/// Checks the files of secrets. One that the environment gives needs no file; one with neither is made at the next start.
fn secret_files(data: &Path, report: &mut Report) {
    const NAME: &str = "secrets";
    let mut missing = Vec::new();
    let (mut found, mut is_bad) = (0, false);
    for (name, variable) in secrets::files() {
        match fs::metadata(data.join(name)).map(|about| about.permissions().mode() & 0o777) {
            Ok(mode) if mode & 0o077 != 0 => {
                is_bad = true;
                let says = format!("{name} is open to others (mode {mode:o})");
                report.bad(NAME, says, "chmod 600 it, and replace it: others may have read it");
            }
            Ok(_) => found += 1,
            Err(_) if variable.is_some_and(|variable| std::env::var_os(variable).is_some()) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => missing.push(name),
            Err(error) => {
                is_bad = true;
                report.bad(NAME, format!("{name}: {error}"), "run this as the server's user");
            }
        }
    }
    if !missing.is_empty() {
        let todo = "they are made when the server starts, unless its environment gives them";
        report.doubtful(NAME, format!("{} not there", missing.join(", ")), todo);
    } else if !is_bad {
        report.fine(NAME, format!("{found} files, for their owner alone"));
    }
}

fn room(data: &Path, report: &mut Report) {
    const NAME: &str = "disk";
    let about = match statvfs(data) {
        Ok(about) => about,
        Err(error) => return report.doubtful(NAME, format!("its room cannot be told: {error}"), ""),
    };
    let free = about.f_bavail.saturating_mul(about.f_frsize);
    let says = format!("{} MiB free, {} inodes", free / MIB, about.f_favail);
    let is_out_of_inodes = about.f_files > 0 && about.f_favail < 1000;
    if free < FREE_MIN || is_out_of_inodes {
        return report.bad(NAME, says, "make room: a store that cannot write stops the server");
    }
    if free < FREE_EASY {
        return report.doubtful(NAME, says, "make room, or shorten retention.history_days");
    }
    report.fine(NAME, says);
}

/// A place that the server makes itself is fine if it can be made.
fn writable(name: &'static str, place: &Path, report: &mut Report) {
    let existing = place.ancestors().find(|ancestor| ancestor.exists()).unwrap_or(Path::new("."));
    let existing = if existing.as_os_str().is_empty() { Path::new(".") } else { existing };
    match access(existing, Access::WRITE_OK | Access::EXEC_OK) {
        Ok(()) if !existing.is_dir() => {
            let says = format!("{} is no directory", existing.display());
            report.bad(name, says, "name another place in the settings");
        }
        Ok(()) => report.fine(name, format!("{} can be written to", place.display())),
        Err(error) => {
            let says = format!("{}: {error}", existing.display());
            report.bad(
                name,
                says,
                "make it writable for the server's user, or name another place in the settings",
            );
        }
    }
}

const MIB: u64 = 1024 * 1024;
const FREE_MIN: u64 = 256 * MIB;
const FREE_EASY: u64 = 2048 * MIB;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::tests::parse_flags;
    use crate::{config::Layers, failure::Exit};

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
            let doctor: Doctor = parse_flags(["doctor", "--data", data.to_str().unwrap()]).unwrap();
            let mut report = Report::default();
            doctor.look_at_data(&doctor.place.settings().unwrap(), &mut report);
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

    fn set_mode(path: &Path, mode: u32) {
        fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
    }

    /// I6: a data directory or a secret that others can read is found.
    #[test]
    fn what_others_can_read_is_found() {
        let home = tempfile::tempdir().unwrap();
        let data = home.path();
        set_mode(data, 0o700);
        assert_eq!(exit(|report| directory(data, report)), Exit::Fine);
        set_mode(data, 0o750);
        assert_eq!(exit(|report| directory(data, report)), Exit::Failed);
        let secret = data.join("admin-token");
        fs::write(&secret, "x").unwrap();
        set_mode(&secret, 0o644);
        assert_eq!(exit(|report| secret_files(data, report)), Exit::Failed);
        set_mode(&secret, 0o600);
        assert_eq!(exit(|report| secret_files(data, report)), Exit::Fine);
    }

    /// I3, I6: nothing is said to be fine beside what is not; what cannot be reached is not missing.
    #[test]
    fn only_what_is_fine_is_called_so() {
        let home = tempfile::tempdir().unwrap();
        let told = |data: &Path| {
            let mut report = Report::default();
            secret_files(data, &mut report);
            format!("{report:?}")
        };
        for (name, _) in secrets::files() {
            fs::write(home.path().join(name), "x").unwrap();
            set_mode(&home.path().join(name), 0o600);
        }
        assert!(told(home.path()).contains("for their owner alone"));
        let file = home.path().join(secrets::files().next().unwrap().0);
        set_mode(&file, 0o644);
        let open = told(home.path());
        assert!(open.contains("open to others") && !open.contains("for their owner alone"), "{open}");
        let below = told(&file);
        assert!(below.contains("Not a directory") && !below.contains("not there"), "{below}");
    }

    #[test]
    fn a_place_that_can_be_made_is_fine() {
        let home = tempfile::tempdir().unwrap();
        let data = home.path().join("data");
        let mut layers = Layers::defaults();
        layers.add_flags(vec![("server.data", data.display().to_string())]).unwrap();
        let config = Config::parse(&layers).unwrap();
        assert_eq!(
            exit(|report| writable("output root", &config.simulation.output_root, report)),
            Exit::Fine
        );
        let file = home.path().join("file");
        fs::write(&file, "").unwrap();
        let below = file.join("output");
        assert_eq!(exit(|report| writable("output root", &below, report)), Exit::Failed);
    }
}
