//! Data of an earlier version is migrated and kept.

mod version_4;

use crate::scene::{self, shell, tasks};
use muster_model::{FarmRecord, FrameChange, PoolChange, PoolCounters, PoolJobId, SessionId};
use muster_store::{
    Loaded, Store,
    conformance::scenes::{batch, job, night},
};
use muster_store_sqlite::SqliteStore;
use rusqlite::Connection;
use std::path::Path;

/// Makes a file as the first version left it, with a job, a task, a worker and a feed.
fn first_version(directory: &Path) {
    let file = Connection::open(directory.join("muster.db")).unwrap();
    file.execute_batch(include_str!("../../migrations/0001_tables.sql")).unwrap();
    let job = job();
    file.execute_batch(&format!(
        "PRAGMA journal_mode = WAL;
         PRAGMA user_version = 1;
         UPDATE meta SET value = 4 WHERE key = 'epoch';
         UPDATE meta SET value = 1 WHERE key = 'job_seq';
         INSERT INTO tasks VALUES ('{job}', 1, 'default', 'running', NULL, 'w', '{{}}', NULL, '{{\"all\":true}}', 3, 1,
             1, 1760000000000, NULL, NULL, NULL);
         INSERT INTO task_devices VALUES ('{job}.0000001', '{job}', 'PC-01', 'device-1', 'running', 1, 3, NULL, NULL,
             NULL, '00000000000000000000000000000001', 'presence', NULL, 1760000000000, NULL, NULL, NULL, NULL, 0, 0);
         INSERT INTO pcs VALUES ('PC-01', 'PC-01', 'online', 1, NULL, 0, NULL, 2, 3, 1);
         INSERT INTO feed VALUES (1, 1, 1760000000000, '1 2 a {{}}' || char(10));"
    ))
    .unwrap();
}

/// All tables, indexes and views.
fn schema(directory: &Path) -> Vec<(String, String)> {
    let file = shell(directory);
    let mut statement =
        file.prepare("SELECT name, coalesce(sql, '') FROM sqlite_schema ORDER BY name").unwrap();
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    rows.map(Result::unwrap).collect()
}

#[test]
fn a_file_of_the_first_version_keeps_what_it_holds() {
    let directory = tempfile::tempdir().unwrap();
    first_version(directory.path());
    let store = SqliteStore::open(directory.path()).unwrap();
    let mut term = store.begin_term().unwrap();
    assert_eq!((term.epoch, term.feed_seq), (5, 1));
    let mut loaded = Vec::new();
    term.writer.load(&mut |record| loaded.push(record)).unwrap();
    let [Loaded::Worker(worker), Loaded::Job(job), Loaded::Task(task), rest @ ..] = &loaded[..] else {
        panic!("{loaded:?}")
    };
    assert_eq!((worker.id.as_str(), job.seq, task.worker.as_str()), ("PC-01", 1, "PC-01"));
    assert!(
        matches!(rest, [Loaded::JobSeq(1), Loaded::Frames(FrameChange::Farm(farm)), Loaded::SessionSeq(0),
            Loaded::Pool(PoolChange::Counters(counters))]
            if *farm == FarmRecord::default() && *counters == PoolCounters::default()),
        "{rest:?}"
    );
    assert_eq!(store.reader().feed(0, 9).unwrap().entries[0].kind, "a");
}

#[test]
fn a_file_brought_up_to_date_is_like_a_new_one() {
    let [old, new] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    first_version(old.path());
    for directory in [&old, &new] {
        let store = SqliteStore::open(directory.path()).unwrap();
        let mut term = store.begin_term().unwrap();
        term.writer.commit(&batch(2, 3)).unwrap();
        term.writer.commit(&night()).unwrap();
        let session = store.reader().session(&SessionId::new("night").unwrap()).unwrap().unwrap();
        assert_eq!(session.body.as_deref(), Some("{}"));
    }
    assert_eq!(schema(old.path()), schema(new.path()));
    assert_eq!((tasks(old.path()), tasks(new.path())), (4, 3));
    // A second opening has nothing to do.
    drop(SqliteStore::open(old.path()).unwrap());
    assert_eq!(schema(old.path()), schema(new.path()));
}

#[test]
fn a_file_of_the_second_version_keeps_what_it_holds() {
    let directory = tempfile::tempdir().unwrap();
    first_version(directory.path());
    let file = shell(directory.path());
    file.execute_batch(include_str!("../../migrations/0002_sessions.sql")).unwrap();
    file.execute_batch(
        "PRAGMA user_version = 2; UPDATE sim_farm SET next_id = 42; UPDATE meta SET value = 3 WHERE key = 'session_seq'",
    )
    .unwrap();
    let store = SqliteStore::open(directory.path()).unwrap();
    assert_eq!(store.reader().farm().unwrap().next_id, 42);
    let mut loaded = Vec::new();
    store.begin_term().unwrap().writer.load(&mut |record| loaded.push(record)).unwrap();
    let [.., Loaded::SessionSeq(3), Loaded::Pool(PoolChange::Counters(counters))] = &loaded[..] else {
        panic!("{loaded:?}")
    };
    assert_eq!((*counters, scene::count(store.reader().as_ref())), (PoolCounters::default(), 1));
    let new = tempfile::tempdir().unwrap();
    drop(SqliteStore::open(new.path()).unwrap());
    assert_eq!(schema(directory.path()), schema(new.path()));
}

/// P15: a redundant job that an earlier version began keeps its votes: the declared hashes.
#[test]
fn a_file_of_the_fourth_version_keeps_its_votes() {
    let directory = tempfile::tempdir().unwrap();
    first_version(directory.path());
    let file = shell(directory.path());
    for migration in [
        include_str!("../../migrations/0002_sessions.sql"),
        include_str!("../../migrations/0003_pool.sql"),
        include_str!("../../migrations/0004_schedules.sql"),
    ] {
        file.execute_batch(migration).unwrap();
    }
    file.execute_batch(
        "PRAGMA user_version = 4;
         INSERT INTO pool_jobs VALUES (1, 7, 0, 5, NULL, NULL, 0, 3, 1, NULL, NULL, NULL, '{}');
         INSERT INTO pool_assignments VALUES
             (65, 1, 8, zeroblob(16), 'COMPLETED', 1, NULL, 2, zeroblob(32), 'declared', 0, 's', 'k', NULL, NULL, NULL, '{}'),
             (66, 2, 9, zeroblob(16), 'COMPLETED', 1, NULL, 2, zeroblob(32), NULL, NULL, 's', 'k', NULL, NULL, NULL, NULL),
             (67, 3, 10, zeroblob(16), 'STARTED', 1, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);",
    )
    .unwrap();
    let store = SqliteStore::open(directory.path()).unwrap();
    let mut votes = Vec::new();
    let mut take = |record| {
        if let Loaded::Pool(PoolChange::Assignment(row)) = record {
            votes.push((row.id.0, row.output_hash, row.vote));
        }
    };
    store.begin_term().unwrap().writer.load(&mut take).unwrap();
    assert_eq!(votes, [(65, Some("declared".into()), None), (66, None, None), (67, None, None)]);
    let new = tempfile::tempdir().unwrap();
    drop(SqliteStore::open(new.path()).unwrap());
    assert_eq!(schema(directory.path()), schema(new.path()));
}

/// P17, P20: a result that the version before stored keeps its own signature: it is in no batch.
#[test]
fn a_file_of_the_fifth_version_keeps_its_results() {
    let directory = tempfile::tempdir().unwrap();
    first_version(directory.path());
    let file = shell(directory.path());
    for migration in [
        include_str!("../../migrations/0002_sessions.sql"),
        include_str!("../../migrations/0003_pool.sql"),
        include_str!("../../migrations/0004_schedules.sql"),
        include_str!("../../migrations/0005_outcomes.sql"),
        include_str!("../../migrations/0005_votes.sql"),
    ] {
        file.execute_batch(migration).unwrap();
    }
    file.execute_batch(
        "PRAGMA user_version = 5;
         INSERT INTO pool_jobs VALUES (1, 7, 0, 5, NULL, NULL, 0, 1, 1, NULL, NULL, NULL, '{}');
         INSERT INTO pool_assignments (id, worker_id, owner_user_id, nonce, state, granted_at, finished_at,
             body_sha256, signature, public_key) VALUES (65, 1, 8, zeroblob(16), 'COMPLETED', 1, 2, zeroblob(32), 's', 'k');",
    )
    .unwrap();
    let store = SqliteStore::open(directory.path()).unwrap();
    let rows = store.reader().assignments(PoolJobId(1)).unwrap();
    let result = rows[0].result.as_deref().unwrap();
    assert_eq!((&*result.signature, &result.batch), ("s", &None));
    let new = tempfile::tempdir().unwrap();
    drop(SqliteStore::open(new.path()).unwrap());
    assert_eq!(schema(directory.path()), schema(new.path()));
}
