//! A file of schema version 4, with rows in every table, is brought up to date: every value is kept, and the store works.

use super::schema;
use crate::scene::shell;
use muster_store::{
    Store,
    conformance::{Fixture, VERSION_4_ROWS, version_4_goes_on},
};
use muster_store_sqlite::SqliteStore;
use rusqlite::Connection;
use std::{collections::BTreeMap, path::Path};

struct Directory(tempfile::TempDir);

impl Fixture for Directory {
    fn open(&mut self) -> Box<dyn Store> {
        Box::new(SqliteStore::open(self.0.path()).unwrap())
    }
}

/// Makes a file as version 4 left it.
fn version_4() -> Directory {
    let directory = tempfile::tempdir().unwrap();
    let file = Connection::open(directory.path().join("muster.db")).unwrap();
    for sql in [
        include_str!("../../../migrations/0001_tables.sql"),
        include_str!("../../../migrations/0002_sessions.sql"),
        include_str!("../../../migrations/0003_pool.sql"),
        include_str!("../../../migrations/0004_schedules.sql"),
        "PRAGMA journal_mode = WAL; PRAGMA user_version = 4",
        VERSION_4_ROWS,
    ] {
        file.execute_batch(sql).unwrap();
    }
    Directory(directory)
}

/// The names of the columns of each table.
type Columns = BTreeMap<String, Vec<String>>;

fn columns(directory: &Path) -> Columns {
    let file = shell(directory);
    let sql =
        "SELECT t.name, c.name FROM sqlite_schema t, pragma_table_xinfo(t.name) c WHERE t.type = 'table'";
    let mut statement = file.prepare(sql).unwrap();
    let mut columns = Columns::new();
    for row in statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap() {
        let (table, column): (String, String) = row.unwrap();
        columns.entry(table).or_default().push(column);
    }
    columns
}

/// All rows of a table in the order of these columns, each value as an SQL literal.
fn rows(directory: &Path, table: &str, columns: &[String]) -> Vec<String> {
    let values: Vec<String> = columns.iter().map(|column| format!("quote(\"{column}\")")).collect();
    let sql = format!("SELECT {} AS row FROM \"{table}\" ORDER BY row", values.join(" || ', ' || "));
    let file = shell(directory);
    let mut statement = file.prepare(&sql).unwrap();
    statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
}

#[test]
fn no_value_of_version_4_is_lost() {
    let directory = version_4();
    let path = directory.0.path();
    let before = columns(path);
    let kept: BTreeMap<_, _> = before.iter().map(|(table, of)| (table, rows(path, table, of))).collect();
    let empty: Vec<_> = kept.iter().filter(|(_, rows)| rows.is_empty()).map(|(table, _)| table).collect();
    assert!(empty.is_empty(), "version_4.sql has no row for {empty:?}");

    drop(SqliteStore::open(path).unwrap());
    for (table, names) in &before {
        let renamed = |name: &String| {
            if table == "event_ids" && name == "digest" { "subject".into() } else { name.clone() }
        };
        let names: Vec<String> = names.iter().map(renamed).collect();
        assert_eq!(rows(path, table, &names), kept[table], "{table}");
    }
    let new = tempfile::tempdir().unwrap();
    drop(SqliteStore::open(new.path()).unwrap());
    assert_eq!(schema(path), schema(new.path()));
}

/// Q7b, N5, P15, S6, S20b, S26b
#[test]
fn a_file_of_version_4_goes_on() {
    version_4_goes_on(Box::new(version_4()));
}

/// Q12: a message may hold anything. A line without its task is dropped.
#[test]
fn messages_of_logs_are_kept() {
    let directory = version_4();
    let path = directory.0.path();
    let insert = r#"INSERT INTO execution_logs VALUES
        ('01890a5d-0000-7000-8000-000000000001.0000002', 1, 1, 'FAILED', 'error',
            '\u0000' || char(0, 92, 0, 92, 92, 0xf8ff, 48, 9, 34), 1001),
        ('01890a5d-0000-7000-8000-000000000001.0000002', 2, 1, 'FAILED', 'error', '', 1002),
        ('01890a5d-0000-7000-8000-000000000001.0000009', 1, 1, 'SENT', 'info', NULL, 1001)"#;
    shell(path).execute_batch(insert).unwrap();
    let reader = SqliteStore::open(path).unwrap().reader();
    let task = |ordinal: u32| format!("01890a5d-0000-7000-8000-000000000001.{ordinal:07}").parse().unwrap();
    let lines = reader.task_log(task(2)).unwrap();
    let messages: Vec<_> = lines.iter().map(|line| line.message.as_deref()).collect();
    assert_eq!(messages, [Some("\\u0000\0\\\0\\\\\u{F8FF}0\t\""), Some("")]);
    assert_eq!(reader.task_log(task(9)).unwrap(), []);
}

/// A migration that fails leaves the file as it was, for the version before.
#[test]
fn a_migration_that_fails_changes_nothing() {
    let directory = version_4();
    let path = directory.0.path();
    let before = schema(path);
    // The last column that the migration adds is there already.
    shell(path).execute_batch("ALTER TABLE pool_assignments ADD COLUMN vote TEXT").unwrap();
    assert!(SqliteStore::open(path).is_err());
    shell(path).execute_batch("ALTER TABLE pool_assignments DROP COLUMN vote").unwrap();
    assert_eq!(schema(path), before);
    let version: u32 = shell(path).pragma_query_value(None, "user_version", |row| row.get(0)).unwrap();
    assert_eq!(version, 4);
    drop(SqliteStore::open(path).unwrap());
}
