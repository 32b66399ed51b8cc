//! The data directory and what lies in it: whose it is, secrets, room, places to write to.

use super::Report;
use crate::{
    config::{Config, StoreChoice},
    secrets,
};
use rustix::fs::{Access, access, statvfs};
use std::{
    fs, io,
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::Path,
};

pub(super) fn look(config: &Config, report: &mut Report) {
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

/// What the environment gives needs no file; what has neither is made at the next start.
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
    use crate::{config::Layers, failure::Exit};

    fn exit(look: impl FnOnce(&mut Report)) -> Exit {
        let mut report = Report::default();
        look(&mut report);
        report.exit()
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
