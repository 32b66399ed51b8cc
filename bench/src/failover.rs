//! How long nobody writes when the leader of two servers goes, with so many live tasks in PostgreSQL.

mod duel;
mod witness;

use crate::{
    startup,
    stopwatch::{now, percentile},
};
use duel::{Blow, Duel, Outage};
use futures_util::StreamExt;
use muster_pg_harness::Cluster;
use muster_store_postgres::{PostgresOptions, PostgresStore};
use std::time::Duration;
use tokio::runtime::Builder;
use tokio_postgres::NoTls;

const ROUNDS: usize = 5;

pub(crate) fn measure(tasks: &[u32]) {
    let cluster = Cluster::start();
    println!(
        "failover: two servers on one PostgreSQL with its defaults, a lease of 3 s; {} connections write through the one that follows; from the blow to the first write that the new term acknowledged; median (max) of {ROUNDS}",
        witness::WRITERS
    );
    for count in tasks {
        measure_with(&cluster, *count);
    }
}

fn measure_with(cluster: &Cluster, tasks: u32) {
    let database = cluster.fresh_database();
    let live =
        startup::fill(&PostgresStore::open(&database, &PostgresOptions::default()).expect("a store"), tasks);
    cluster.sql(&database, "VACUUM ANALYZE");
    cluster.sql("postgres", "CHECKPOINT");
    println!("  {live} live tasks on as many devices");
    println!("    reading their rows alone, by COPY  {:>6.2} s", copied(&database).as_secs_f64());
    let mut duel = Duel::begin(&database);
    for blow in [Blow::Kill, Blow::Stop, Blow::Terminate] {
        let outages: Vec<Outage> = (0..ROUNDS).map(|_| duel.round(blow)).collect();
        let times = |part: fn(&Outage) -> Duration| {
            let mut times: Vec<Duration> = outages.iter().map(part).collect();
            format!(
                "{:>5.2} s ({:.2})",
                percentile(&mut times, 50).as_secs_f64(),
                percentile(&mut times, 100).as_secs_f64()
            )
        };
        println!(
            "    {:<34} {}   until the term began {}   then until the write {}",
            blow.name(),
            times(|outage| outage.taken + outage.answered),
            times(|outage| outage.taken),
            times(|outage| outage.answered)
        );
    }
}

/// How long it takes to get the rows out of the database and do nothing with them.
fn copied(database: &str) -> Duration {
    let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let (client, connection) =
            tokio_postgres::connect(database, NoTls).await.expect("the server listens");
        tokio::spawn(connection);
        let begun = now();
        for table in ["pcs", "devices", "tasks", "task_devices", "pc_runs"] {
            let sql = format!("COPY muster.{table} TO STDOUT (FORMAT binary)");
            let rows = client.copy_out(&sql).await.expect("a table");
            let mut rows = std::pin::pin!(rows);
            while rows.next().await.is_some() {}
        }
        begun.elapsed()
    })
}
