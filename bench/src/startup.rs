//! How long a start takes with a million live tasks.

use crate::{connection::Connection, fleet::Fleet, server::Server, stopwatch::now};
use muster_store::{Batch, Store, Writer};
use muster_store_sqlite::SqliteStore;
use std::{path::Path, time::Duration};

const DEVICES: u32 = 1_000_000;

pub(crate) fn measure() {
    let data = tempfile::tempdir().expect("a temporary directory");
    let live = prepare(data.path());
    let size = std::fs::metadata(data.path().join("muster.db")).map_or(0, |file| file.len());
    let read = plain_read(data.path());
    let begun = now();
    let server = Server::start(data.path(), "sqlite", &[("MUSTER_OPERATIONS__SLOTS", "100")]);
    let mut connection = Connection::open(server.address);
    // Answered only by a term that runs: everything live is in memory.
    connection.post_as_operator("/rest/v1/rpc/fn_timeout_tasks_and_task_devices", "{}");
    let ready = begun.elapsed();
    println!("startup: {live} live tasks on {DEVICES} devices, database of {} MB", size / 1_000_000);
    println!(
        "  start to first answer {:>6.2} s, {:.2} times a plain read of the same rows ({:.2} s)",
        ready.as_secs_f64(),
        ready.as_secs_f64() / read.as_secs_f64(),
        read.as_secs_f64()
    );
}

/// Fills a store through the engine, as a server would.
fn prepare(data: &Path) -> usize {
    let store = SqliteStore::open(data).expect("a store");
    let mut term = store.begin_term().expect("a term");
    let mut fleet = Fleet::with_slots(DEVICES, 100);
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

/// What reading the rows alone costs.
fn plain_read(data: &Path) -> Duration {
    let store = SqliteStore::open(data).expect("a store");
    let mut term = store.begin_term().expect("a term");
    let begun = now();
    let mut rows = 0u64;
    term.writer.load(&mut |_| rows += 1).expect("a load");
    begun.elapsed()
}
