//! Pause of service while an installation moves from the embedded store to PostgreSQL.

use crate::{
    server::{Server, binary},
    startup,
    stopwatch::now,
};
use muster_pg_harness::Cluster;
use muster_store_sqlite::SqliteStore;
use std::{
    fs,
    io::{BufRead, BufReader},
    path::Path,
    process::{Command, Stdio},
    time::Duration,
};

pub(crate) fn measure(tasks: &[u32]) {
    let cluster = Cluster::start();
    println!("migrate: from SQLite to PostgreSQL, the server running until it is to be stopped");
    for count in tasks {
        let data = tempfile::tempdir().expect("a temporary directory");
        let live = startup::fill(&SqliteStore::open(data.path()).expect("a store"), *count);
        let size = fs::metadata(data.path().join("muster.db")).map_or(0, |file| file.len());
        let copied = plainly_copied(data.path());
        let server = Server::start(data.path(), "sqlite", &[]);
        let (served, paused) = moved(data.path(), &cluster.fresh_database(), server);
        println!(
            "  {live:>7} live tasks, {:>4} MB   while serving {:>6.2} s   pause {:>6.2} s, {:.1} times a plain copy of the file ({:.2} s)",
            size / 1_000_000,
            served.as_secs_f64(),
            paused.as_secs_f64(),
            paused.as_secs_f64() / copied.as_secs_f64(),
            copied.as_secs_f64()
        );
    }
}

/// The time until the server is to be stopped, and from then on.
fn moved(data: &Path, database: &str, server: Server) -> (Duration, Duration) {
    let begun = now();
    let mut child = Command::new(binary())
        .args(["migrate", "--json", "--to", database, "--data"])
        .arg(data)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("target/release/muster is there");
    let told = BufReader::new(child.stderr.take().expect("it was piped"));
    let mut lines = told.lines().map_while(Result::ok);
    assert!(lines.any(|line| line.contains("stop the server now")), "it never came so far");
    let asked = now();
    drop(server);
    let _ = lines.count();
    assert!(child.wait().expect("it ends").success(), "it failed");
    (asked - begun, asked.elapsed())
}

/// Cost of writing as many bytes durably.
fn plainly_copied(data: &Path) -> Duration {
    let begun = now();
    let copy = data.join("copy");
    fs::copy(data.join("muster.db"), &copy).expect("a copy");
    fs::File::open(&copy).and_then(|file| file.sync_all()).expect("a durable copy");
    let took = begun.elapsed();
    fs::remove_file(copy).expect("it is ours");
    took
}
