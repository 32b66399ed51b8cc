//! Properties of a store in one file on a disk: locks, modes, versions, crashes, plain SQL.

use crate::{
    pool,
    scene::{self, shell, tasks},
};
use muster_model::{LogKind, Timestamp};
use muster_store::{
    Batch, Cutoffs, Store, StoreError,
    conformance::scenes::{AT, batch, job, logged, night, worker_batch},
};
use muster_store_sqlite::{SCHEMA_VERSION, SqliteStore};
use rusqlite::Connection;
use std::{fs, os::unix::fs::PermissionsExt, path::Path};

pub(crate) fn refusal(directory: &Path) -> StoreError {
    SqliteStore::open(directory).err().expect("it is refused")
}

#[test]
fn a_second_server_on_the_directory_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    assert!(!muster_store_sqlite::is_in_use(directory.path()));
    let store = SqliteStore::open(directory.path()).unwrap();
    assert!(
        matches!(refusal(directory.path()), StoreError::InUse(path) if path == directory.path().display().to_string())
    );
    assert!(muster_store_sqlite::is_in_use(directory.path()));
    drop(store);
    SqliteStore::open(directory.path()).unwrap();
}

#[test]
fn the_directory_is_taken_while_any_handle_lives() {
    let directory = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(directory.path()).unwrap();
    let term = store.begin_term().unwrap();
    let reader = store.reader();
    drop(store);
    assert!(matches!(refusal(directory.path()), StoreError::InUse(_)));
    drop(term);
    assert!(matches!(refusal(directory.path()), StoreError::InUse(_)));
    drop(reader);
    SqliteStore::open(directory.path()).unwrap();
}

#[test]
fn nobody_else_may_read_the_files() {
    let parent = tempfile::tempdir().unwrap();
    let directory = parent.path().join("a").join("b");
    let store = SqliteStore::open(&directory).unwrap();
    store.begin_term().unwrap().writer.commit(&batch(1, 10)).unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&directory), 0o700);
    for entry in fs::read_dir(&directory).unwrap() {
        let path = entry.unwrap().path();
        assert_eq!(mode(&path), 0o600, "{}", path.display());
    }
}

#[test]
fn the_file_is_in_wal_mode_and_says_its_version() {
    let directory = tempfile::tempdir().unwrap();
    let _store = SqliteStore::open(directory.path()).unwrap();
    let shell = shell(directory.path());
    let pragma =
        |name| shell.pragma_query_value(None, name, |row| row.get::<_, rusqlite::types::Value>(0)).unwrap();
    assert_eq!(pragma("journal_mode"), "wal".to_owned().into());
    assert_eq!(pragma("user_version"), i64::from(SCHEMA_VERSION).into());
}

#[test]
fn a_newer_schema_is_refused_and_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    drop(SqliteStore::open(directory.path()).unwrap());
    shell(directory.path()).pragma_update(None, "user_version", 99).unwrap();
    assert!(matches!(refusal(directory.path()), StoreError::TooNew { found: 99, known: SCHEMA_VERSION }));
    let version: u32 =
        shell(directory.path()).pragma_query_value(None, "user_version", |row| row.get(0)).unwrap();
    assert_eq!(version, 99);
}

/// Q13
#[test]
fn plain_sql_reads_the_summary_while_somebody_writes() {
    let directory = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(directory.path()).unwrap();
    store.begin_term().unwrap().writer.commit(&worker_batch("PC-01")).unwrap();
    let writing = shell(directory.path());
    writing.execute_batch("BEGIN IMMEDIATE; UPDATE pcs SET status = 'offline';").unwrap();
    let sql = "SELECT pc_id, pc_number, pc_status, max_devices, device_count, running_count, idle_count, error_count, \
               disconnected_count FROM pc_device_summary";
    let row = shell(directory.path())
        .query_row(sql, [], |row| Ok((row.get(0)?, row.get(2)?, row.get(4)?)))
        .unwrap();
    assert_eq!(row, ("PC-01".to_owned(), "online".to_owned(), 0));
    writing.execute_batch("ROLLBACK").unwrap();
}

/// Q1
#[test]
fn plain_sql_finds_a_task_by_its_columns() {
    let directory = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(directory.path()).unwrap();
    store.begin_term().unwrap().writer.commit(&batch(1, 3)).unwrap();
    let sql = "SELECT count(*) FROM task_devices WHERE task_id || '.0000002' = id AND status = 'running' \
               AND attempt < max_attempts AND error IS NULL AND result IS NULL AND config IS NULL \
               AND lease_expires_at > created_at AND started_at IS NULL AND completed_at IS NULL AND timeout_at IS NULL \
               AND pc_id = 'PC-01' AND device_id = 'device-2'";
    assert_eq!(shell(directory.path()).query_row(sql, [], |row| row.get(0)), Ok(1));
}

/// Q12: `execution_logs` is read as a table, and the log of one task is found by the key of its row.
#[test]
fn plain_sql_reads_a_log() {
    let directory = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(directory.path()).unwrap();
    store.begin_term().unwrap().writer.commit(&logged()).unwrap();
    let shell = shell(directory.path());
    for (seq, kind) in (1..).zip(LogKind::ALL) {
        let sql = format!(
            "SELECT count(*) FROM execution_logs WHERE task_device_id = '{}.0000001' AND seq = {seq} AND attempt_no = 1 \
             AND event_type = '{}' AND level = '{}' AND message = '\\ \"끝\"' AND at = {}",
            job(),
            kind.as_str(),
            kind.level(),
            AT.0
        );
        assert_eq!(shell.query_row(&sql, [], |row| row.get(0)), Ok(1), "{sql}");
    }
    let sql =
        "EXPLAIN QUERY PLAN SELECT event_type FROM execution_logs WHERE task_device_id = 'x' ORDER BY seq";
    let mut statement = shell.prepare(sql).unwrap();
    let steps = statement.query_map([], |row| row.get(3)).unwrap();
    let plan: Vec<String> = steps.map(Result::unwrap).collect();
    assert!(plan.iter().any(|step| step == "SEARCH d USING PRIMARY KEY (id=?)"), "{plan:?}");
}

/// N5: report ids have no index but their key, and one call looks at a bounded number of them.
#[test]
fn old_report_ids_go_a_few_at_a_time() {
    let directory = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(directory.path()).unwrap();
    let mut term = store.begin_term().unwrap();
    let shell = shell(directory.path());
    let fill = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10000) \
                INSERT INTO event_ids SELECT CAST('t' || i AS BLOB), zeroblob(21), i FROM n";
    shell.execute_batch(fill).unwrap();
    let cutoff = Timestamp(9_000);
    let cutoffs = Cutoffs { history: cutoff, report_ids: cutoff, keys: cutoff };
    let count = || shell.query_row("SELECT count(*) FROM event_ids", [], |row| row.get::<_, i64>(0)).unwrap();
    let mut counts = vec![count()];
    while term.writer.prune(&cutoffs).unwrap() {
        counts.push(count());
    }
    assert!(counts.len() > 4, "{counts:?}");
    assert!(counts.is_sorted_by(|one, next| next <= one && one - next <= 2_000), "{counts:?}");
    assert_eq!(count(), 1_001);
    let indexes = "SELECT count(*) FROM pragma_index_list('event_ids') WHERE origin <> 'pk'";
    assert_eq!(shell.query_row(indexes, [], |row| row.get(0)), Ok(0));
}

#[test]
fn plain_sql_finds_a_range_by_its_columns() {
    let directory = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(directory.path()).unwrap();
    store.begin_term().unwrap().writer.commit(&night()).unwrap();
    let sql = "SELECT t.task_id, c.task_id, s.status, t.status, c.state, w.state, q.id FROM sim_sessions s \
               JOIN sim_tasks t ON t.session_id = s.id AND t.start_frame = 100 AND t.end_frame = 200 \
               JOIN sim_chunks c ON c.chunk_id = t.chunk_id AND c.id_start = 7000 AND c.id_end = 8000 \
               JOIN sim_workers w ON w.id = t.worker_id JOIN sim_quarantine q ON q.session_id = s.id \
               JOIN sim_session_bodies b ON b.session_id = s.id AND b.body = '{}'";
    let row = shell(directory.path())
        .query_row(sql, [], |row| {
            (0..7).map(|column| row.get::<_, String>(column)).collect::<Result<Vec<_>, _>>()
        })
        .unwrap();
    assert_eq!(
        row,
        ["night.00000100", "night.00000100", "running", "assigned", "live", "Healthy", "chunk-7"]
    );
}

#[test]
fn a_killed_server_loses_no_batch_that_was_kept() {
    let directory = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(directory.path()).unwrap();
    let mut term = store.begin_term().unwrap();
    for first in 0..50 {
        term.writer.commit(&batch(first * 10 + 1, 10)).unwrap();
    }
    // The files as a kill would leave them: nothing was closed, nothing checkpointed.
    let copy = tempfile::tempdir().unwrap();
    for file in ["muster.db", "muster.db-wal"] {
        fs::copy(directory.path().join(file), copy.path().join(file)).unwrap();
    }
    assert_eq!(tasks(copy.path()), 500);
}

#[test]
fn a_torn_log_loses_whole_batches_only() {
    let directory = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(directory.path()).unwrap();
    let mut term = store.begin_term().unwrap();
    for first in 0..20 {
        term.writer.commit(&batch(first * 10 + 1, 10)).unwrap();
    }
    let log = fs::read(directory.path().join("muster.db-wal")).unwrap();
    let mut before = 0;
    for tear in (0..log.len()).step_by(log.len() / 60 + 1).chain([log.len()]) {
        let copy = tempfile::tempdir().unwrap();
        fs::copy(directory.path().join("muster.db"), copy.path().join("muster.db")).unwrap();
        fs::write(copy.path().join("muster.db-wal"), &log[..tear]).unwrap();
        let kept = tasks(copy.path());
        assert_eq!(kept % 10, 0, "a batch was torn");
        assert!(kept >= before, "a longer log keeps no less");
        before = kept;
    }
    assert_eq!(before, 200);
}

#[test]
fn a_value_that_makes_no_sense_is_named() {
    let cases = [
        ("UPDATE tasks SET status = 'sleeping'", "tasks", "status = sleeping"),
        ("UPDATE tasks SET scope = '{\"rooms\":[]}'", "tasks", "scope = {\"rooms\":[]}"),
        ("UPDATE task_devices SET attempt = 70000", "task_devices", "attempt = 70000"),
        ("UPDATE task_devices SET lease_token = 'x'", "task_devices", "lease_token = x"),
        ("UPDATE task_devices SET pc_id = 'a/b'", "task_devices", "pc_id = a/b"),
        ("UPDATE pcs SET draining = 2", "pcs PC-01", "draining = 2"),
        ("UPDATE sim_workers SET state = 'well'", "sim_workers gpu-1", "state = well"),
        ("UPDATE sim_workers SET failures = '[1, \"x\"]'", "sim_workers gpu-1", "failures = [1, \"x\"]"),
        ("UPDATE sim_sessions SET digest = x'00'", "sim_sessions night", "digest = 1 bytes"),
        ("UPDATE sim_tasks SET losers = '{}'", "sim_tasks night", "losers = {}"),
        ("UPDATE sim_tasks SET end_frame = -1", "sim_tasks night", "end_frame = -1"),
        ("UPDATE sim_chunks SET worker_id = 'a/b'", "sim_chunks 7", "worker_id = a/b"),
        ("UPDATE sim_quarantine SET id = 'folder-7'", "sim_quarantine folder-7", "id = folder-7"),
        ("UPDATE sim_farm SET next_id = -1", "sim_farm 1", "next_id = -1"),
        ("DELETE FROM sim_farm", "sim_farm", "its row is missing"),
        ("DELETE FROM meta WHERE key = 'session_seq'", "meta session_seq", "missing"),
        ("DELETE FROM meta WHERE key = 'pool_oldest_open'", "meta pool_oldest_open", "missing"),
        ("UPDATE workers SET status = 'well'", "workers 3", "status = well"),
        ("UPDATE workers SET specs = '{}'", "workers 3", "specs = {}"),
        ("UPDATE pool_jobs SET demands = '[1]'", "pool_jobs 1", "demands = [1]"),
        ("UPDATE pool_jobs SET redundancy = 256", "pool_jobs 1", "redundancy = 256"),
        ("UPDATE pool_assignments SET state = 'LOST'", "pool_assignments 65", "state = LOST"),
        ("UPDATE pool_assignments SET nonce = x'00'", "pool_assignments 65", "nonce = 1 bytes"),
        ("UPDATE users SET roles = 'CLIENT KING'", "users 7", "roles = CLIENT KING"),
        ("UPDATE logins SET generation = -1", "logins", "generation = -1"),
        ("UPDATE api_keys SET hash = x'00'", "api_keys 1", "hash = 1 bytes"),
    ];
    for (sql, table, place) in cases {
        let directory = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(directory.path()).unwrap();
        let mut term = store.begin_term().unwrap();
        term.writer.commit(&worker_batch("PC-01")).unwrap();
        term.writer.commit(&batch(1, 1)).unwrap();
        term.writer.commit(&night()).unwrap();
        term.writer.commit(&pool::crew(3, "gpu-3")).unwrap();
        term.writer.commit(&pool::leased()).unwrap();
        shell(directory.path()).execute_batch(sql).unwrap();
        let Err(StoreError::Corrupt(what)) = term.writer.load(&mut |_| {}) else {
            panic!("{sql} went unnoticed")
        };
        assert!(what.starts_with(table) && what.ends_with(place), "{what}");
    }
}

#[test]
fn a_failed_batch_leaves_nothing_behind() {
    let directory = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(directory.path()).unwrap();
    let mut term = store.begin_term().unwrap();
    // Tasks are written before workers; the failure comes in the middle.
    let refuse = "CREATE TRIGGER full BEFORE INSERT ON pcs BEGIN SELECT RAISE(ABORT, 'no more'); END";
    shell(directory.path()).execute_batch(refuse).unwrap();
    let changes = [batch(1, 10).changes, worker_batch("PC-01").changes].concat();
    let failed = term.writer.commit(&Batch { changes, ..Batch::default() });
    assert!(matches!(failed, Err(StoreError::Backend(what)) if what.contains("no more")));
    assert_eq!(scene::count(store.reader().as_ref()), 0);
    shell(directory.path()).execute_batch("DROP TRIGGER full").unwrap();
    term.writer.commit(&batch(1, 10)).unwrap();
    assert_eq!(scene::count(store.reader().as_ref()), 10);
}

#[test]
fn what_is_no_database_is_an_error() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("muster.db"), "not a database, ".repeat(1000)).unwrap();
    assert!(matches!(refusal(directory.path()), StoreError::Backend(_)));

    let directory = tempfile::tempdir().unwrap();
    fs::create_dir(directory.path().join("muster.db")).unwrap();
    assert!(matches!(refusal(directory.path()), StoreError::Backend(_)));

    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("file");
    fs::write(&file, "").unwrap();
    assert!(matches!(refusal(&file), StoreError::Backend(_)));
}

#[test]
fn a_directory_that_cannot_be_written_is_an_error() {
    let directory = tempfile::tempdir().unwrap();
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o500)).unwrap();
    let may_write_all_the_same = fs::write(directory.path().join("probe"), "").is_ok();
    if !may_write_all_the_same {
        assert!(matches!(refusal(directory.path()), StoreError::Backend(_)));
    }
}

/// Stands in for a full disk: the process may not make a file larger than a megabyte.
#[test]
fn a_full_disk_is_an_error_and_costs_nothing_that_was_kept() {
    let directory = tempfile::tempdir().unwrap();
    let output = std::process::Command::new("sh")
        .args([
            "-c",
            "trap '' XFSZ; ulimit -f 2048; exec \"$0\" --exact --ignored --nocapture file::fill_the_disk",
        ])
        .arg(std::env::current_exe().unwrap())
        .env("MUSTER_TEST_DIRECTORY", directory.path())
        .output()
        .unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{said}");
    let kept = said.lines().find_map(|line| line.strip_prefix("kept ")).unwrap().parse::<usize>().unwrap();
    assert!(kept > 0);
    assert_eq!(tasks(directory.path()), kept);
}

#[test]
#[ignore = "run by a_full_disk_is_an_error_and_costs_nothing_that_was_kept, in a process that may not write much"]
fn fill_the_disk() {
    let directory = std::env::var("MUSTER_TEST_DIRECTORY").unwrap();
    let store = SqliteStore::open(Path::new(&directory)).unwrap();
    let mut term = store.begin_term().unwrap();
    let mut kept = 0;
    let error = loop {
        match term.writer.commit(&batch(kept + 1, 100)) {
            Ok(()) => kept += 100,
            Err(error) => break error,
        }
        assert!(kept < 1_000_000, "the disk is never full");
    };
    assert!(matches!(error, StoreError::Backend(_)), "{error}");
    assert_eq!(scene::count(store.reader().as_ref()), kept as usize);
    println!("\nkept {kept}");
}

#[test]
fn a_database_of_somebody_else_is_not_altered() {
    let directory = tempfile::tempdir().unwrap();
    let foreign = Connection::open(directory.path().join("muster.db")).unwrap();
    foreign.execute_batch("CREATE TABLE tasks (id INTEGER); INSERT INTO tasks VALUES (1)").unwrap();
    drop(foreign);
    let before = fs::read(directory.path().join("muster.db")).unwrap();
    assert!(
        matches!(refusal(directory.path()), StoreError::Backend(what) if what.contains("another program"))
    );
    assert_eq!(fs::read(directory.path().join("muster.db")).unwrap(), before);
}
