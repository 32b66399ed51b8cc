//! The machine: open files, adb, a court.

use super::report::Report;
use muster_court::{Clock, Folder, config, doctor};
use rustix::process::{Resource, getrlimit};
use std::{env, path::Path};

/// Each waiting node and each open page is one; the server takes as many as the system lets it.
pub(super) fn open_files(report: &mut Report) {
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
pub(super) fn adb(report: &mut Report) {
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

/// What `muster court doctor` would say, in one line.
pub(super) fn court(home: &Path, report: &mut Report) {
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

    #[test]
    fn a_court_that_is_none_is_told() {
        let home = tempfile::tempdir().unwrap();
        let mut report = Report::default();
        court(&home.path().join("nowhere"), &mut report);
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
        court(home.path(), &mut report);
        assert_eq!((report.exit(), count()), (Exit::Fine, before));
    }
}
