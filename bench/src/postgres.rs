//! Durable jobs per second on one PostgreSQL server: what the bare server can do, then Muster beside job queues from npm
//! that keep their jobs there.

use super::{rivals, stopwatch::now};
use muster_pg_harness::Cluster;
use tokio::runtime::{Builder, Runtime};
use tokio_postgres::{Client, NoTls, Statement, types::ToSql};

pub(crate) fn measure() {
    let cluster = Cluster::start();
    println!("postgres: {}", described(&cluster));
    for rows in [1, 16, 100] {
        print(&cluster, rows);
    }
    drop(cluster);
    let only = ["muster-postgres", "graphile-worker", "pg-boss"].map(str::to_owned).to_vec();
    rivals::measure(&rivals::Options { only, ..rivals::Options::default() });
}

/// The server and those of its settings that matter.
fn described(cluster: &Cluster) -> String {
    let setting = |name: &str| format!("{name}={}", cluster.sql("postgres", &format!("SHOW {name}")));
    let version = cluster.sql("postgres", "SHOW server_version");
    let settings = [
        "fsync",
        "synchronous_commit",
        "full_page_writes",
        "wal_sync_method",
        "shared_buffers",
        "max_wal_size",
    ];
    format!("PostgreSQL {version}, as it comes: {}", settings.map(setting).join(" "))
}

/// Number of times that a job's row is written: accepted, handed out, finished.
const WRITES: i64 = 3;
/// Number of measured transactions.
const COMMITS: i64 = 6_000;

/// One connection and the runtime it lives on.
struct Bare {
    runtime: Runtime,
    client: Client,
    statement: Statement,
}

/// Prints how many jobs per second that makes with so many rows in a transaction.
fn print(cluster: &Cluster, rows: usize) {
    let bare = Bare::open(&cluster.fresh_database());
    let begun = now();
    let rows = i64::try_from(rows).expect("a few");
    for batch in 0..COMMITS / WRITES {
        for state in 0..WRITES {
            bare.write((batch * rows..(batch + 1) * rows).collect(), state);
        }
    }
    let took = begun.elapsed().as_secs_f64();
    println!(
        "    the bare server, {rows:>3} rows in a commit, one connection, {WRITES} upserts a job {:>8.0} jobs/s   {:>6.0} commits/s",
        (COMMITS / WRITES * rows) as f64 / took,
        COMMITS as f64 / took
    );
}

impl Bare {
    fn open(address: &str) -> Self {
        let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
        let (client, connection) =
            runtime.block_on(tokio_postgres::connect(address, NoTls)).expect("the server listens");
        runtime.spawn(connection);
        runtime.block_on(client.batch_execute(TABLE)).expect("a table");
        let statement = runtime.block_on(client.prepare(UPSERT)).expect("a statement");
        Self { runtime, client, statement }
    }

    fn write(&self, ids: Vec<i64>, state: i64) {
        let states = vec![state; ids.len()];
        let payloads = vec![crate::pool::PAYLOAD; ids.len()];
        let rows: [&(dyn ToSql + Sync); 3] = [&ids, &states, &payloads];
        let written = self.client.execute(&self.statement, &rows);
        self.runtime.block_on(written).expect("rows are written");
    }
}

const TABLE: &str = "CREATE TABLE jobs (id BIGINT PRIMARY KEY, state BIGINT, payload TEXT)";
const UPSERT: &str = "INSERT INTO jobs SELECT * FROM UNNEST($1::bigint[], $2::bigint[], $3::text[]) \
    ON CONFLICT (id) DO UPDATE SET state = EXCLUDED.state";
