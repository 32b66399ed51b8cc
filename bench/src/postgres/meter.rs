//! What a job costs whom.

use crate::{
    cost::{family_cpu, process_cpu},
    pool::{Drive, median},
};
use muster_pg_harness::Cluster;
use std::{fs, path::Path, time::Duration};

/// Reads what the server and others spend on jobs.
pub(super) struct Meter {
    server: u32,
    jobs: usize,
}

/// What was measured once.
pub(super) struct Run {
    /// Jobs per second.
    pub(super) rate: f64,
    /// Microseconds of a core for one job: PostgreSQL's, the programs', and this process's, which is the load.
    costs: [f64; 3],
}

impl Meter {
    pub(super) fn of(cluster: &Cluster, drive: Drive) -> Self {
        let data = cluster.sql("postgres", "SHOW data_directory");
        let file = fs::read_to_string(Path::new(&data).join("postmaster.pid")).expect("the server runs");
        let server = file.lines().next().and_then(|line| line.parse().ok());
        Self { server: server.expect("its process stands first"), jobs: drive.jobs }
    }

    /// Watches the server, some programs and this process while jobs are done at a rate.
    pub(super) fn watch(&self, programs: &[u32], work: impl FnOnce() -> f64) -> Run {
        let spent = || {
            let programs = programs.iter().copied().map(process_cpu).sum();
            [family_cpu(self.server), programs, process_cpu(std::process::id())]
        };
        let before: [Duration; 3] = spent();
        let rate = work();
        let after = spent();
        let cost = |place: usize| (after[place] - before[place]).as_secs_f64() * 1e6 / self.jobs as f64;
        Run { rate, costs: [0, 1, 2].map(cost) }
    }
}

impl Run {
    /// The medians in words.
    pub(super) fn costs(runs: Vec<Self>) -> String {
        let cost = |place: usize| median(runs.iter().map(|run| run.costs[place]).collect());
        format!(
            "us of a core for a job: PostgreSQL {:.0}, programs {:.0}, load {:.0}",
            cost(0),
            cost(1),
            cost(2)
        )
    }
}
