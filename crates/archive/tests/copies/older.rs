//! Backups of schema version 6, which had the lines of logs in a table of their own (Q12).

use crate::rows::{self, Failed};
use muster_archive::{Archive, RestoreError};
use muster_pg_harness::Cluster;
use muster_store::Store;
use muster_store_postgres::{PostgresOptions, PostgresStore, Stage};
use muster_store_sqlite::{SqliteStore, read_tables};
use muster_tables::{TABLES, TABLES_VERSION, VERSION_6_TABLES, Whole};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

const JOB: &str = "01890a5d-0000-7000-8000-000000000001";

fn task(ordinal: u32) -> Value {
    let id = format!("{JOB}.{ordinal:07}");
    let lease = "00000000000000000000000000000001";
    json!([
        id, JOB, "PC-01", "d-1", "running", 1, 3, null, null, lease, "presence", null, 1000, 1001, null,
        null, null, 0, 2, null
    ])
}

fn line(ordinal: u32, seq: u32, message: Option<&str>) -> Value {
    let (kind, level) = if message.is_some() { ("FAILED", "error") } else { ("SENT", "info") };
    json!([format!("{JOB}.{ordinal:07}"), seq, 1, kind, level, message, 1001])
}

/// More lines than are put at once, in the order of their key, with messages that are hard to keep.
fn lines() -> Vec<Value> {
    let hard = ["", "a\0b", "\u{F8FF}0\u{F8FF}", "line\nend\"\\", "\\u0000\\\0", "],["];
    let of = |ordinal| (1..=1_100).map(move |seq| line(ordinal, seq, hard.get(seq as usize % 9).copied()));
    (1..=2).flat_map(of).collect()
}

/// A table of a backup, without rows or with these.
fn table(name: &str, rows: &[Value]) -> String {
    let shape = VERSION_6_TABLES.iter().find(|shape| shape.name == name).expect("it is a table of version 6");
    let columns: Vec<&str> = shape.columns.iter().map(|column| column.name).collect();
    let body: String = rows.iter().map(|row| format!("{row}\n")).collect();
    let sha256: String = Sha256::digest(&body).iter().map(|byte| format!("{byte:02x}")).collect();
    let end = json!({ "end": name, "rows": rows.len(), "sha256": sha256 });
    format!("{}\n{body}{end}\n", json!({ "table": name, "columns": columns }))
}

/// A backup of a store of version 6 that holds these rows and nothing else.
fn version_6(tasks: &[Value], lines: &[Value]) -> String {
    let directory = tempfile::tempdir().expect("a directory is made");
    drop(SqliteStore::open(directory.path()).expect("a store is made"));
    let file = read_tables(directory.path(), rows::backup).expect("the backup is written");
    let file = String::from_utf8(file).expect("it is text");
    let mut older = String::new();
    for text in file.lines() {
        let mut mark: Value = serde_json::from_str(text).expect("a line is JSON");
        if mark["table"] == "task_devices" {
            older += &(table("task_devices", tasks) + &table("execution_logs", lines));
        } else if mark["end"] != "task_devices" {
            if mark["schema"].is_number() {
                mark = json!({ "muster_backup": 1, "schema": 6, "tables": TABLES.len() + 1 });
            } else if mark["complete"] == true {
                let rows =
                    mark["rows"].as_u64().expect("rows are counted") + (tasks.len() + lines.len()) as u64;
                mark = json!({ "complete": true, "rows": rows });
            }
            older += &format!("{mark}\n");
        }
    }
    older
}

fn bring_back(file: &str, whole: &mut dyn Whole) -> Result<(), Failed> {
    let tallies = Archive::open(&mut file.as_bytes(), TABLES_VERSION)?.restore(whole, &mut |_, _| ())?;
    assert_eq!(tallies.len(), TABLES.len() + 1);
    Ok(())
}

/// Q12: every line is in the log of its task, in order, in stores of both kinds; and those are the same.
#[test]
fn logs_of_version_6_are_restored() {
    let file = version_6(&[task(1), task(2), task(3)], &lines());
    let directory = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(directory.path()).unwrap();
    store.fill(|whole| bring_back(&file, whole)).unwrap();
    let logs =
        |ordinal: u32| store.reader().task_log(format!("{JOB}.{ordinal:07}").parse().unwrap()).unwrap();
    for ordinal in [1, 2] {
        let read = logs(ordinal).into_iter();
        let read = read.map(|entry| line(ordinal, entry.seq, entry.message.as_deref())).collect::<Vec<_>>();
        assert_eq!(read, lines()[(ordinal as usize - 1) * 1_100..][..1_100]);
    }
    assert_eq!(logs(3), []);

    let url = Cluster::shared().fresh_database();
    let shared = PostgresStore::open(&url, &PostgresOptions::default()).unwrap();
    shared.fill(Stage::Whole, &[], |whole| bring_back(&file, whole)).unwrap();
    let embedded = read_tables(directory.path(), rows::backup).unwrap();
    assert!(shared.read_tables(rows::backup).unwrap() == embedded, "the backups are the same");
}

/// A backup with a line that no row can take is refused as a whole: it is not of a server.
#[test]
fn a_line_without_its_task_is_not_lost_silently() {
    let directory = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(directory.path()).unwrap();
    let file = version_6(&[task(1)], &[line(1, 1, None), line(2, 1, None)]);
    let error = store.fill(|whole| bring_back(&file, whole)).unwrap_err();
    let is_found = |error: &RestoreError| {
        matches!(error, RestoreError::Unlike { table: "execution_logs", found: 1, wanted: 2 })
    };
    assert!(error.downcast_ref().is_some_and(is_found), "{error}");
}

/// A table of version 6 in a backup that says it is newer is a mistake.
#[test]
fn newer_backups_have_no_such_table() {
    let directory = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(directory.path()).unwrap();
    let file = version_6(&[], &[]).replacen("\"schema\":6", "\"schema\":7", 1);
    let error = store.fill(|whole| bring_back(&file, whole)).unwrap_err();
    assert!(matches!(error.downcast_ref(), Some(RestoreError::Senseless { .. })), "{error}");
}
