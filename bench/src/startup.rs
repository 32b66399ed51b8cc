//! Duration of a start with a million live tasks, on either store.

use crate::{connection::call, fleet::Fleet, server::Server, stopwatch::now};
use muster_pg_harness::Cluster;
use muster_store::{Batch, Store, Writer};
use muster_store_postgres::{PostgresOptions, PostgresStore};
use muster_store_sqlite::SqliteStore;
use std::{fs, path::Path, thread, time::Duration};

const DEVICES: u32 = 1_000_000;

pub(crate) fn measure() {
    let data = tempfile::tempdir().expect("a temporary directory");
    let open = || SqliteStore::open(data.path()).expect("a store");
    let live = fill(&open(), DEVICES);
    let size = fs::metadata(data.path().join("muster.db")).map_or(0, |file| file.len());
    println!("startup: {live} live tasks on {DEVICES} devices");
    let read = plain_read(open());
    print("SQLite", size, read, first_answer(data.path(), "sqlite"));
    let cluster = Cluster::start();
    let database = cluster.fresh_database();
    let open = || PostgresStore::open(&database, &PostgresOptions::default()).expect("a store");
    fill(&open(), DEVICES);
    cluster.sql(&database, "VACUUM ANALYZE");
    let size = cluster.sql(&database, "SELECT pg_database_size(current_database())").parse().unwrap_or(0);
    let read = plain_read(open());
    print("PostgreSQL", size, read, first_answer(data.path(), &database));
}

fn print(store: &str, size: u64, read: Duration, ready: Duration) {
    println!(
        "  {store:<10}  {:>4} MB  start to first answer {:>6.2} s, {:.2} times a plain read of the same rows ({:.2} s)",
        size / 1_000_000,
        ready.as_secs_f64(),
        ready.as_secs_f64() / read.as_secs_f64(),
        read.as_secs_f64()
    );
}

/// Fills a store through the engine, as a server would; says how many tasks are live.
pub(crate) fn fill(store: &dyn Store, devices: u32) -> usize {
    let mut term = store.begin_term().expect("a term");
    let mut fleet = Fleet::with_slots(devices, 100);
    fleet.keep_changes(&mut |changes| commit(&mut *term.writer, changes));
    fleet.submit();
    let mut live = 0;
    for worker in 0..fleet.workers.len() {
        live += fleet.pull(worker, 100).len();
        if worker % 100 == 0 {
            fleet.keep_changes(&mut |changes| commit(&mut *term.writer, changes));
        }
    }
    fleet.keep_changes(&mut |changes| commit(&mut *term.writer, changes));
    live
}

fn commit(writer: &mut dyn Writer, changes: Vec<muster_model::Change>) {
    writer.commit(&Batch { changes, ..Batch::default() }).expect("a commit");
}

/// Cost of reading the rows alone. The store is closed then.
fn plain_read(store: impl Store) -> Duration {
    let mut term = store.begin_term().expect("a term");
    let begun = now();
    let mut rows = 0u64;
    term.writer.load(&mut |_| rows += 1).expect("a load");
    begun.elapsed()
}

/// From the start of the process to an answer of a term that runs: everything live is in memory.
fn first_answer(data: &Path, store: &str) -> Duration {
    let begun = now();
    let server = Server::start(data, store, &[("MUSTER_OPERATIONS__SLOTS", "100")]);
    loop {
        let answer = call(server.address, "POST /rest/v1/rpc/fn_timeout_tasks_and_task_devices", "{}");
        if answer.is_ok_and(|answer| answer.status == 200) {
            return begun.elapsed();
        }
        thread::sleep(Duration::from_millis(10));
    }
}
