//! The store: readable, whole, of a version that is understood.

use super::report::Report;
use crate::{
    command::store_side::{Place, Side},
    config::{Config, StoreChoice},
};
use rusqlite::{Connection, OpenFlags};
use std::path::Path;

pub(super) fn look(place: &Place, config: &Config, report: &mut Report) {
    match &config.store {
        StoreChoice::Sqlite => embedded(&config.data.join("muster.db"), report),
        StoreChoice::Postgres(_) => shared(place, report),
        StoreChoice::Memory => report.doubtful(
            "store",
            "it is memory: everything is gone with the server".to_owned(),
            "set server.store for anything but tests",
        ),
    }
}

/// Looks into the file without changing it, also while a server writes there.
fn embedded(file: &Path, report: &mut Report) {
    const NAME: &str = "store";
    if !file.exists() {
        return report.doubtful(
            NAME,
            format!("{} does not exist yet", file.display()),
            "it is made when the server starts",
        );
    }
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

    fn exit(file: &Path) -> Exit {
        let mut report = Report::default();
        embedded(file, &mut report);
        report.exit()
    }

    #[test]
    fn a_damaged_file_is_found() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("muster.db");
        assert_eq!(exit(&file), Exit::Fine, "a server that was never started has none");
        Connection::open(&file)
            .unwrap()
            .execute_batch("CREATE TABLE t (a); INSERT INTO t VALUES (1);")
            .unwrap();
        assert_eq!(exit(&file), Exit::Fine);
        std::fs::write(&file, "this is no database, however long it is looked at").unwrap();
        assert_eq!(exit(&file), Exit::Failed);
    }
}
