//! The column that an older coordinator called `last_heartbeat_at` is kept under its new name (P12).

use crate::{file::refusal, scene::shell};
use muster_model::{PoolChange, PoolWorkerRecord, PoolWorkerStatus, Quality, Scale, Specs, UserId};
use muster_store::{Cursor, Loaded, Store, StoreError};
use muster_store_sqlite::SqliteStore;
use rusqlite::Connection;
use std::{fs, path::Path};

const AT: i64 = 1_760_000_000_123;
/// The beginning of a statement that adds workers of ours; more columns follow.
const INSERT: &str = "INSERT INTO workers (id, name, owner_user_id, status, slots, draining, agreements, dissents, created_at,";
const ISO: &str = "2025-10-09T08:53:20.123";

/// A directory whose file was made by this SQL, and by nothing else.
fn foreign(sql: &str) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    Connection::open(directory.path().join("muster.db")).unwrap().execute_batch(sql).unwrap();
    directory
}

/// A directory with a file of ours, after this SQL.
fn ours(sql: &str) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    drop(SqliteStore::open(directory.path()).unwrap());
    shell(directory.path()).execute_batch(sql).unwrap();
    directory
}

/// The workers as they are read, and as they are loaded.
fn workers(directory: &Path) -> Vec<PoolWorkerRecord> {
    let store = SqliteStore::open(directory).unwrap();
    let read = store.reader().pool_workers(None, &Cursor { after: None, limit: 100 }).unwrap().items;
    let mut loaded = Vec::new();
    let mut take = |record| {
        if let Loaded::Pool(PoolChange::Worker(worker)) = record {
            loaded.push(*worker);
        }
    };
    store.begin_term().unwrap().writer.load(&mut take).unwrap();
    let shortened = read.iter().map(|worker| PoolWorkerRecord { specs_json: None, ..worker.clone() });
    assert_eq!(loaded, shortened.collect::<Vec<_>>());
    read
}

fn seen(directory: &Path) -> Vec<(String, Option<i64>)> {
    let of = |worker: PoolWorkerRecord| (worker.name.to_string(), worker.last_seen.map(|at| at.0));
    workers(directory).into_iter().map(of).collect()
}

fn columns(directory: &Path) -> Vec<String> {
    let file = shell(directory);
    let mut statement = file.prepare("SELECT name FROM pragma_table_info('workers') ORDER BY name").unwrap();
    let names = statement.query_map([], |row| row.get(0)).unwrap();
    names.map(Result::unwrap).collect()
}

/// Opening it changes nothing more, and its columns are those of a new file.
fn assert_settled(directory: &Path) {
    let before = seen(directory);
    assert_eq!(seen(directory), before);
    assert_eq!(columns(directory), columns(ours("").path()));
}

/// P12: a file whose column has its old name keeps every value.
#[test]
fn a_column_of_the_old_name_is_renamed() {
    let directory = ours(&format!(
        "ALTER TABLE workers RENAME COLUMN last_seen_at TO last_heartbeat_at;
         CREATE INDEX old ON workers (status, last_heartbeat_at);
         {INSERT} last_heartbeat_at) VALUES (1, 'a', 1, 'online', 1, 0, 0, 0, 5, {AT}), (2, 'b', 1, 'banned', 1, 0, 0, 0, 5, NULL)"
    ));
    assert_eq!(seen(directory.path()), [("a".into(), Some(AT)), ("b".into(), None)]);
    assert_settled(directory.path());
}

/// P12: where both columns are there the new one is preferred, and the old one fills its gaps.
#[test]
fn of_two_columns_the_new_one_is_preferred() {
    let directory = ours(&format!(
        "ALTER TABLE workers ADD COLUMN last_heartbeat_at TEXT;
         {INSERT} last_seen_at, last_heartbeat_at) VALUES
         (1, 'both', 1, 'online', 1, 0, 0, 0, 5, {AT} + 7, '{ISO}Z'), (2, 'new', 1, 'online', 1, 0, 0, 0, 5, {AT} + 8, NULL),
         (3, 'old', 1, 'online', 1, 0, 0, 0, 5, NULL, '{ISO}Z'), (4, 'number', 1, 'online', 1, 0, 0, 0, 5, NULL, '{AT}'),
         (5, 'neither', 1, 'online', 1, 0, 0, 0, 5, NULL, '')"
    ));
    let expected = [
        ("both", Some(AT + 7)),
        ("new", Some(AT + 8)),
        ("old", Some(AT)),
        ("number", Some(AT)),
        ("neither", None),
    ];
    assert_eq!(seen(directory.path()), expected.map(|(name, at)| (name.to_owned(), at)));
    assert_settled(directory.path());
}

/// P12: a file that holds nothing but workers of an older coordinator is taken over.
#[test]
fn workers_of_an_older_coordinator_are_taken_over() {
    let directory = foreign(&format!(
        "CREATE TABLE workers (id INTEGER PRIMARY KEY AUTOINCREMENT, name VARCHAR(120) NOT NULL, owner_user_id INTEGER,
             status VARCHAR, region VARCHAR, specs_json JSON, public_key TEXT, last_heartbeat_at DATETIME,
             created_at DATETIME, shoe_size INTEGER, UNIQUE (name));
         CREATE INDEX workers_of_owner ON workers (owner_user_id);
         INSERT INTO workers VALUES
         (3, 'gpu-3', 7, 'ONLINE', 'eu', '{{\"slots\": 4, \"vram\": 24.5, \"gpu\": \"기기\", \"tags\": {{\"b\": 1, \"a\": []}}}}',
             'key', '{} 08:53:20.123456', '2025-01-01T00:00:00+01:00', 44),
         (9, 'gpu-9', 8, 'banned', NULL, 'no JSON', NULL, {AT}, NULL, 45),
         (10, 'gpu-10', NULL, 'asleep', NULL, NULL, NULL, NULL, NULL, NULL)",
        &ISO[..10]
    ));
    let all = workers(directory.path());
    let [first, second, third] = &all[..] else { panic!("{all:?}") };
    let specs = [
        ("slots", Quality::Amount(Scale::new(4.0))),
        ("vram", Quality::Amount(Scale::new(24.5))),
        ("gpu", Quality::Exactly("\"기기\"".into())),
        ("tags", Quality::Exactly("{\"a\":[],\"b\":1}".into())),
    ];
    assert_eq!(first.specs, Specs::new(specs.map(|(name, quality)| (name.into(), quality)).into()));
    assert!(first.specs_json.as_ref().is_some_and(|text| text.contains("24.5")));
    assert_eq!((first.id.0, first.owner, first.status), (3, UserId(7), PoolWorkerStatus::Online));
    assert_eq!(
        (first.region.as_deref(), first.public_key.as_deref(), first.slots),
        (Some("eu"), Some("key"), 4)
    );
    assert_eq!((first.last_seen.map(|at| at.0), first.created_at.0), (Some(AT), 1_735_686_000_000));
    assert_eq!((second.id.0, second.status, second.slots), (9, PoolWorkerStatus::Banned, 1));
    assert_eq!(
        (second.last_seen.map(|at| at.0), second.created_at.0, &second.specs_json),
        (Some(AT), AT, &None)
    );
    assert_eq!((third.id.0, third.owner, third.status), (10, UserId(0), PoolWorkerStatus::Offline));
    assert_eq!((third.last_seen, third.created_at.0), (None, 0));
    assert_settled(directory.path());
    assert_eq!(next_worker(directory.path()), 11);
}

fn next_worker(directory: &Path) -> i64 {
    let sql = "SELECT value FROM meta WHERE key = 'pool_next_worker'";
    shell(directory).query_row(sql, [], |row| row.get(0)).unwrap()
}

/// P12: an older coordinator had other tables as well; they are renamed, and nothing of them is lost.
#[test]
fn other_tables_of_an_older_coordinator_stay() {
    let directory = foreign(&format!(
        "CREATE TABLE users (id INTEGER PRIMARY KEY, email TEXT); INSERT INTO users VALUES (7, 'ana@example');
         CREATE TABLE \"odd \"\"name\" (x); INSERT INTO \"odd \"\"name\" VALUES (1);
         CREATE TABLE workers (name TEXT, last_heartbeat_at REAL); INSERT INTO workers VALUES ('a', {AT} / 1000.0)"
    ));
    assert_eq!(seen(directory.path()), [("a".into(), Some(AT))], "seconds are told from milliseconds");
    let kept = "SELECT email FROM old_users WHERE id = 7";
    assert_eq!(shell(directory.path()).query_row(kept, [], |row| row.get(0)), Ok("ana@example".to_owned()));
    let kept = "SELECT x FROM \"old_odd \"\"name\"";
    assert_eq!(shell(directory.path()).query_row(kept, [], |row| row.get::<_, i64>(0)), Ok(1));
}

/// P12: the least that such a table may have; its ids are none of ours.
#[test]
fn a_name_and_a_moment_are_enough() {
    let directory = foreign(&format!(
        "CREATE TABLE workers (id TEXT, name TEXT, last_seen_at, last_heartbeat_at TEXT);
         INSERT INTO workers VALUES ('x', 'b', NULL, '{ISO}Z'), ('y', 'a', {AT} + 1, '{ISO}Z')"
    ));
    assert_eq!(seen(directory.path()), [("a".into(), Some(AT + 1)), ("b".into(), Some(AT))]);
    assert_settled(directory.path());
    assert_eq!(next_worker(directory.path()), 3);
}

/// P12: the same beside tables of an earlier version of ours.
#[test]
fn workers_beside_tables_of_the_first_version_are_taken_over() {
    let directory = foreign(include_str!("../../migrations/0001_tables.sql"));
    shell(directory.path())
        .execute_batch(&format!(
            "PRAGMA user_version = 1; CREATE TABLE workers (name TEXT, last_heartbeat_at INTEGER);
             INSERT INTO workers VALUES ('a', {AT})"
        ))
        .unwrap();
    assert_eq!(seen(directory.path()), [("a".into(), Some(AT))]);
    assert_settled(directory.path());
}

/// P12: rather than lose a value the file is left as it is.
#[test]
fn a_moment_that_cannot_be_read_is_named_and_nothing_is_changed() {
    for moment in ["yesterday", "now", "2025-13-45", "20251009T085320Z"] {
        let directory = foreign(&format!(
            "CREATE TABLE workers (name TEXT, last_heartbeat_at TEXT);
             INSERT INTO workers VALUES ('a', '{ISO}'), ('b', '{moment}')"
        ));
        let StoreError::Corrupt(what) = refusal(directory.path()) else { panic!("{moment}") };
        assert!(what.starts_with(&format!("workers b: last_heartbeat_at = {moment} is no moment")), "{what}");
        let kept = "SELECT group_concat(name || last_heartbeat_at) FROM workers";
        let kept: String = shell(directory.path()).query_row(kept, [], |row| row.get(0)).unwrap();
        assert_eq!(kept, format!("a{ISO},b{moment}"));
        let version =
            shell(directory.path()).pragma_query_value(None, "user_version", |row| row.get::<_, i64>(0));
        assert_eq!(version, Ok(0));
    }
}

/// P12: the same in a file of ours.
#[test]
fn a_moment_of_ours_that_cannot_be_read_is_named_and_nothing_is_changed() {
    let directory = ours(&format!(
        "ALTER TABLE workers ADD COLUMN last_heartbeat_at TEXT;
         {INSERT} last_heartbeat_at) VALUES (1, 'a', 1, 'online', 1, 0, 0, 0, 5, 'yesterday')"
    ));
    let StoreError::Corrupt(what) = refusal(directory.path()) else { panic!("it went unnoticed") };
    assert!(what.starts_with("workers a: last_heartbeat_at = yesterday is no moment"), "{what}");
    let kept = "SELECT last_heartbeat_at FROM workers";
    assert_eq!(shell(directory.path()).query_row(kept, [], |row| row.get(0)), Ok("yesterday".to_owned()));
}

#[test]
fn other_files_of_somebody_else_are_refused_all_the_same() {
    for sql in [
        "CREATE TABLE workers (name TEXT)",
        "CREATE TABLE workers (id INTEGER, last_seen_at INTEGER)",
        "CREATE TABLE machines (name TEXT, last_seen_at INTEGER)",
        "CREATE TABLE workers (name TEXT, last_seen_at INTEGER); CREATE VIEW v AS SELECT * FROM workers",
        "CREATE VIEW workers AS SELECT 'a' AS name, 1 AS last_seen_at",
    ] {
        let directory = foreign(sql);
        let before = fs::read(directory.path().join("muster.db")).unwrap();
        assert!(
            matches!(refusal(directory.path()), StoreError::Backend(what) if what.contains("another program")),
            "{sql}"
        );
        assert_eq!(fs::read(directory.path().join("muster.db")).unwrap(), before);
    }
}
