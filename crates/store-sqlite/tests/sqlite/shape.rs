//! The tables that every SQL store is said to have are those of the file.

use muster_store::StoreError;
use muster_store_sqlite::SqliteStore;
use muster_tables::{Kind, TABLES, TableShape, conformance::round_trips};
use rusqlite::Connection;
use std::collections::BTreeSet;

#[test]
fn every_table_is_known_with_all_its_columns() {
    let directory = tempfile::tempdir().unwrap();
    let _store = SqliteStore::open(directory.path()).unwrap();
    let shell = Connection::open(directory.path().join("muster.db")).unwrap();
    let sql = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite!_%' ESCAPE '!'";
    let there: BTreeSet<String> = texts(&shell, sql, []);
    let known: BTreeSet<String> = TABLES.iter().map(|table| table.name.to_owned()).collect();
    assert_eq!((there, known.len()), (known, TABLES.len()));
    for table in TABLES {
        assert_same(&shell, table);
    }
}

#[test]
fn every_record_is_read_back_as_it_was_written() {
    let directory = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(directory.path()).unwrap();
    store.fill(|whole| round_trips(whole).map_err(StoreError::from)).unwrap();
}

fn assert_same(shell: &Connection, table: &TableShape) {
    let sql = "SELECT name || ' ' || type FROM pragma_table_xinfo(?1) WHERE hidden = 0";
    let there: BTreeSet<String> = texts(shell, sql, [table.name]);
    let kind = |kind| match kind {
        Kind::Integer => "INTEGER",
        Kind::Text => "TEXT",
        Kind::Blob => "BLOB",
    };
    let columns = table.columns.iter().map(|column| format!("{} {}", column.name, kind(column.kind)));
    assert_eq!((columns.collect(), table.columns.len()), (there.clone(), there.len()), "{}", table.name);
    let key: Vec<String> =
        texts(shell, "SELECT name FROM pragma_table_xinfo(?1) WHERE pk > 0 ORDER BY pk", [table.name]);
    assert_eq!(table.key, key, "{}", table.name);
    // A key that SQLite numbers by itself is the alias of the rowid.
    let number = |key: &str| table.columns.iter().any(|it| it.name == key && it.kind == Kind::Integer);
    assert!(!table.numbered || matches!(table.key, [key] if number(key)), "{}", table.name);
}

fn texts<T: FromIterator<String>>(shell: &Connection, sql: &str, params: impl rusqlite::Params) -> T {
    let mut statement = shell.prepare(sql).unwrap();
    statement.query_map(params, |row| row.get(0)).unwrap().map(Result::unwrap).collect()
}
