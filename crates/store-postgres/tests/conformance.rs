//! What every store must do, and what every store that several servers share must do (S18).
#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

use muster_pg_harness::Cluster;
use muster_store::{
    Store,
    conformance::{Fixture, all, shared},
};
use muster_store_postgres::{PostgresOptions, PostgresStore};
use std::sync::LazyLock;

struct Database(String);

impl Fixture for Database {
    fn open(&mut self) -> Box<dyn Store> {
        Box::new(PostgresStore::open(&self.0, &PostgresOptions::default()).unwrap())
    }
}

/// A database whose tables are there already: making them takes longer than most cases.
fn fresh() -> Box<dyn Fixture> {
    static MIGRATED: LazyLock<String> = LazyLock::new(|| {
        let url = Cluster::shared().fresh_database();
        drop(PostgresStore::open(&url, &PostgresOptions::default()).unwrap());
        url
    });
    Box::new(Database(Cluster::shared().fresh_database_like(&MIGRATED)))
}

#[test]
fn it_conforms() {
    all(&fresh);
}

/// S18
#[test]
fn it_is_shared_as_it_must_be() {
    shared(&fresh);
}
