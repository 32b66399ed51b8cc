//! The store: readable, whole, of a version that is understood.

use super::report::Report;
use crate::{
    command::store_side::{Place, Side},
    config::{Config, StoreChoice},
};
use rusqlite::{Connection, OpenFlags};
use std::{io, path::Path};

/// How thoroughly a store is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Depth {
    /// Not in the way of a server that runs.
    Easy,
    /// Every page, whoever waits for it.
    Deep,
}

pub(super) fn look((place, depth): (&Place, Depth), config: &Config, report: &mut Report) {
    match &config.store {
        StoreChoice::Sqlite => embedded((&config.data, depth), report),
        StoreChoice::Postgres(_) => shared(place, report),
        StoreChoice::Memory => report.doubtful(
            "store",
            "it is memory: everything is gone with the server".to_owned(),
            "set server.store for anything but tests",
        ),
    }
}

/// Looks into the file without changing it. Looking at every page is one long transaction, during which the log of a
/// server that writes only grows.
fn embedded((data, depth): (&Path, Depth), report: &mut Report) {
    const NAME: &str = "store";
    let file = &data.join("muster.db");
    match file.metadata() {
        Ok(_) if depth == Depth::Easy && muster_store_sqlite::is_in_use(data) => {
            let says = "a server uses it; every page is looked at only with --deep, or while none runs";
            report.fine(NAME, format!("{}: {says}", file.display()));
        }
        Ok(_) => whole(file, report),
        Err(error) if error.kind() == io::ErrorKind::NotFound => report.doubtful(
            NAME,
            format!("{} does not exist yet", file.display()),
            "it is made when the server starts",
        ),
        Err(error) => {
            report.bad(NAME, format!("{}: {error}", file.display()), "run this as the server's user");
        }
    }
}

fn whole(file: &Path, report: &mut Report) {
    const NAME: &str = "store";
    match quick_check(file) {
        Ok(answer) if answer == "ok" => {
            report.fine(NAME, format!("{} is whole (SQLite {})", file.display(), rusqlite::version()));
        }
        Ok(answer) => {
            let todo =
                "stop the server, keep a copy of the directory, and restore a backup (`muster restore`)";
            report.bad(NAME, format!("{} is damaged: {answer}", file.display()), todo);
        }
        Err(error) => {
            report.bad(NAME, format!("{}: {error}", file.display()), "run this as the server's user");
        }
    }
}

fn quick_check(file: &Path) -> rusqlite::Result<String> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(file, flags)?;
    connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))
}

fn shared(place: &Place, report: &mut Report) {
    const NAME: &str = "store";
    let names = Side::open_to_read(place).and_then(|side| side.secrets());
    match names {
        Ok(names) => report.fine(NAME, format!("PostgreSQL answers, and keeps {} secrets", names.len())),
        Err(error) => {
            let todo = "check server.store, and that the database runs and lets this machine in";
            report.bad(NAME, error.to_string(), todo);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::Exit;
    use muster_store_sqlite::SqliteStore;

    fn told(data: &Path, depth: Depth) -> Report {
        let mut report = Report::default();
        embedded((data, depth), &mut report);
        report
    }

    fn exit(data: &Path) -> Exit {
        told(data, Depth::Easy).exit()
    }

    #[test]
    fn a_damaged_file_is_found() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("muster.db");
        assert_eq!(exit(home.path()), Exit::Fine, "a server that was never started has none");
        Connection::open(&file)
            .unwrap()
            .execute_batch("CREATE TABLE t (a); INSERT INTO t VALUES (1);")
            .unwrap();
        assert_eq!(exit(home.path()), Exit::Fine);
        std::fs::write(&file, "this is no database, however long it is looked at").unwrap();
        assert_eq!(exit(home.path()), Exit::Failed);
    }

    /// I3: a server at work is not held up, unless somebody wants that.
    #[test]
    fn a_store_in_use_is_looked_at_only_when_told_to() {
        let home = tempfile::tempdir().unwrap();
        let _server = SqliteStore::open(home.path()).unwrap();
        assert!(format!("{:?}", told(home.path(), Depth::Easy)).contains("--deep"));
        assert!(format!("{:?}", told(home.path(), Depth::Deep)).contains("is whole"));
    }

    /// I3: what cannot be looked at is not what is not there.
    #[test]
    fn what_cannot_be_reached_is_told() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("file");
        std::fs::write(&file, "").unwrap();
        assert_eq!(exit(&file), Exit::Failed);
    }
}
