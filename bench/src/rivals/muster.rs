//! Muster itself, through the pool: every result is signed by its worker and verified by the server.

use super::{
    Meter, Queue, Run,
    broker::{fill, latencies},
    driven::{drop_database, fresh_database, postmaster},
};
use crate::pool::{Drive, Stage};
use muster_pg_harness::Cluster;
use std::{rc::Rc, time::Duration};

/// Muster on a store of its own or on a PostgreSQL server. Every measurement starts a server on an empty store.
pub(super) struct Muster {
    cluster: Option<Rc<Cluster>>,
    database: Option<String>,
    /// The server that was filled.
    filled: Option<Stage>,
}

impl Muster {
    pub(super) fn new(cluster: Option<Rc<Cluster>>) -> Self {
        Self { cluster, database: None, filled: None }
    }

    fn stage(&mut self, drive: Drive) -> Stage {
        self.clear();
        self.database = self.cluster.as_deref().map(fresh_database);
        Stage::set(drive, self.database.as_deref().unwrap_or("sqlite"))
    }

    fn servers(&self, stage: &Stage) -> Vec<u32> {
        self.cluster.as_deref().map(postmaster).into_iter().chain([stage.process()]).collect()
    }

    fn clear(&mut self) {
        self.filled = None;
        if let (Some(cluster), Some(database)) = (&self.cluster, self.database.take()) {
            drop_database(cluster, &database);
        }
    }
}

impl Queue for Muster {
    fn version(&self) -> String {
        env!("CARGO_PKG_VERSION").into()
    }

    fn run(&mut self, drive: Drive) -> Run {
        let mut stage = self.stage(drive);
        Meter::new(&self.servers(&stage), &[]).watch(drive, || stage.rate())
    }

    fn latencies(&mut self, jobs: usize) -> Vec<Duration> {
        let mut stage = self.stage(Drive { batch: 1, jobs });
        let [mut producers, mut workers] = stage.sides();
        latencies(producers.swap_remove(0), workers.swap_remove(0), jobs)
    }

    fn fill(&mut self, jobs: usize) -> Vec<u32> {
        let mut stage = self.stage(Drive { batch: 100, jobs });
        let [producers, _] = stage.sides();
        fill(producers, jobs);
        let servers = self.servers(&stage);
        self.filled = Some(stage);
        servers
    }
}

impl Drop for Muster {
    fn drop(&mut self) {
        self.clear();
    }
}
