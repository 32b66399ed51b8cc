//! Tables of schema version 4, with rows in every one, are brought up to date: every value is kept, and the store works.

use crate::scene::{self, Held, Server, open, try_open};
use muster_pg_harness::Cluster;
use muster_store::{
    Store,
    conformance::{Fixture, VERSION_4_ROWS, version_4_goes_on},
};
use muster_store_postgres::SCHEMA_VERSION;
use std::{collections::BTreeMap, thread};

struct Database(String);

impl Fixture for Database {
    fn open(&mut self) -> Box<dyn Store> {
        Box::new(open(&self.0))
    }
}

/// Makes tables as version 4 left them, owned by the user of the server.
fn version_4() -> Database {
    let url = Cluster::shared().fresh_database();
    let tables = [
        include_str!("../../migrations/0004_tables.sql"),
        include_str!("../../migrations/0004_sessions.sql"),
        include_str!("../../migrations/0004_pool.sql"),
        include_str!("../../migrations/0004_schedules.sql"),
        include_str!("../../migrations/0004_leadership.sql"),
    ];
    let version = "CREATE TABLE schema_version (version BIGINT NOT NULL, oldest_binary BIGINT NOT NULL, \
         migrated_at TIMESTAMPTZ NOT NULL); INSERT INTO schema_version VALUES (4, 4, now())";
    // A blob is written x'00' in SQLite and '\x00' here.
    let rows = VERSION_4_ROWS.replace("x'", "'\\x");
    let secret = "INSERT INTO server_secrets VALUES ('admin', 'a-secret'); \
         UPDATE leader SET epoch = 4, renewals = 7; UPDATE fence SET epoch = 4, commits = 9, now_ms = 7000";
    let sql = format!(
        "SET ROLE muster; CREATE SCHEMA muster; SET search_path = muster; {} {version}; {rows} {secret}",
        tables.join("\n")
    );
    Cluster::shared().sql(&url, &sql);
    Database(url)
}

/// The names of the columns of each table, but for the version: that one changes.
type Columns = BTreeMap<String, Vec<String>>;

fn columns(url: &str) -> Columns {
    let sql = "SELECT table_name, column_name FROM information_schema.columns \
         JOIN information_schema.tables USING (table_schema, table_name) WHERE table_schema = 'muster' \
         AND table_type = 'BASE TABLE' AND table_name <> 'schema_version' ORDER BY table_name, ordinal_position";
    let mut columns = Columns::new();
    for line in Cluster::shared().sql(url, sql).lines() {
        let (table, column) = line.split_once('|').unwrap();
        columns.entry(table.to_owned()).or_default().push(column.to_owned());
    }
    columns
}

/// All rows of a table in the order of these columns, each value as an SQL literal.
fn rows(url: &str, table: &str, columns: &[String]) -> String {
    let values: Vec<String> = columns.iter().map(|column| format!("quote_nullable(\"{column}\")")).collect();
    let sql = format!("SELECT {} AS line FROM muster.\"{table}\" ORDER BY line", values.join(" || ', ' || "));
    Cluster::shared().sql(url, &sql)
}

fn version(url: &str) -> String {
    Cluster::shared().sql(url, "SELECT version, oldest_binary FROM muster.schema_version")
}

#[test]
fn no_value_of_version_4_is_lost() {
    let Database(url) = version_4();
    let before = columns(&url);
    let kept: BTreeMap<_, _> = before.iter().map(|(table, of)| (table, rows(&url, table, of))).collect();
    let empty: Vec<_> = kept.iter().filter(|(_, rows)| rows.is_empty()).map(|(table, _)| table).collect();
    assert!(empty.is_empty(), "version_4.sql has no row for {empty:?}");

    drop(open(&url));
    for (table, names) in &before {
        let renamed = |name: &String| {
            if table == "event_ids" && name == "digest" { "subject".into() } else { name.clone() }
        };
        let names: Vec<String> = names.iter().map(renamed).collect();
        assert_eq!(rows(&url, table, &names), kept[table], "{table}");
    }
    let new = columns(&scene::fresh());
    assert_eq!(columns(&url), new);
}

/// Q7b, N5, P15, S6, S20b, S26b
#[test]
fn tables_of_version_4_go_on() {
    version_4_goes_on(Box::new(version_4()));
}

/// Q12: a message may hold anything, also what stands for NUL. A line without its task is dropped.
#[test]
fn messages_of_logs_are_kept() {
    let Database(url) = version_4();
    let insert = r#"INSERT INTO muster.execution_logs VALUES
        ('01890a5d-0000-7000-8000-000000000001.0000002', 1, 1, 'FAILED', 'error', '\u0000' || chr(63743) || '0\'
            || chr(63743) || '0\\' || chr(63743) || '10' || chr(9) || '"', 1001),
        ('01890a5d-0000-7000-8000-000000000001.0000002', 2, 1, 'FAILED', 'error', '', 1002),
        ('01890a5d-0000-7000-8000-000000000001.0000009', 1, 1, 'SENT', 'info', NULL, 1001)"#;
    Cluster::shared().sql(&url, insert);
    let kept =
        "SELECT message FROM muster.execution_logs WHERE task_device_id LIKE '%1.0000002' ORDER BY seq";
    let before = Cluster::shared().sql(&url, kept);
    let reader = open(&url).reader();
    let task = |ordinal: u32| format!("01890a5d-0000-7000-8000-000000000001.{ordinal:07}").parse().unwrap();
    let lines = reader.task_log(task(2)).unwrap();
    let messages: Vec<_> = lines.iter().map(|line| line.message.as_deref()).collect();
    assert_eq!(messages, [Some("\\u0000\0\\\0\\\\\u{F8FF}0\t\""), Some("")]);
    assert_eq!(Cluster::shared().sql(&url, kept), before);
    assert_eq!(reader.task_log(task(9)).unwrap(), []);
}

/// S18: servers of this version that start at once on tables of version 4 bring them up to date once. A binary of version
/// 4 is refused afterwards: it compares `oldest_binary` with the version it knows.
#[test]
fn version_4_is_upgraded_once_and_refused_afterwards() {
    let Database(url) = version_4();
    thread::scope(|scope| {
        let servers: Vec<_> = (0..4).map(|_| scope.spawn(|| try_open(&url))).collect();
        for server in servers {
            server.join().unwrap().unwrap();
        }
    });
    assert_eq!(version(&url), format!("{SCHEMA_VERSION}|7"));
    assert_eq!(Server::on(&url, "a").lead().epoch, 5);
}

/// S18: a migration that cannot get its locks gives up and leaves the tables as they were; the next start does it.
#[test]
fn a_migration_that_waits_too_long_changes_nothing() {
    let Database(url) = version_4();
    let before = columns(&url);
    // The last table that the migration alters.
    let held = Held::new(&url, "LOCK TABLE muster.pool_assignments IN ACCESS EXCLUSIVE MODE");
    assert!(try_open(&url).is_err());
    held.commit();
    assert_eq!((columns(&url), version(&url)), (before, "4|4".to_owned()));
    drop(open(&url));
    assert_eq!(version(&url), format!("{SCHEMA_VERSION}|7"));
}
