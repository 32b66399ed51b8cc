//! Databases to open and ways to see what is there.

use muster_model::Timestamp;
use muster_pg_harness::Cluster;
use muster_store::{Candidate, Election, Loaded, Reader, Store, StoreError, Term, conformance::scenes::job};
use muster_store_postgres::{PostgresOptions, PostgresStore};
use std::{
    sync::{Arc, LazyLock},
    thread,
    time::Duration,
};
use tokio::runtime::{Builder, Runtime};
use tokio_postgres::NoTls;

/// The address of a database of its own whose tables are there already: making them takes longer than most tests.
pub(crate) fn fresh() -> String {
    static MIGRATED: LazyLock<String> = LazyLock::new(|| {
        let url = Cluster::shared().fresh_database();
        drop(open(&url));
        url
    });
    Cluster::shared().fresh_database_like(&MIGRATED)
}

pub(crate) fn open(url: &str) -> PostgresStore {
    try_open(url).unwrap()
}

pub(crate) fn try_open(url: &str) -> Result<PostgresStore, StoreError> {
    PostgresStore::open(url, &PostgresOptions::default())
}

/// Reason why a database is not used.
pub(crate) fn refusal(url: &str) -> String {
    try_open(url).err().expect("it is refused").to_string()
}

/// A server on a database that others use too.
pub(crate) struct Server {
    pub(crate) store: PostgresStore,
    pub(crate) election: Arc<dyn Election>,
    pub(crate) candidate: Candidate,
}

impl Server {
    pub(crate) fn on(url: &str, node: &str) -> Self {
        let store = open(url);
        let election = store.election().expect("it is shared");
        Self {
            store,
            election,
            candidate: Candidate { node: node.into(), address: format!("http://{node}") },
        }
    }

    /// Takes the lead as it stands.
    pub(crate) fn lead(&self) -> Term {
        let seen = self.election.look().unwrap();
        self.election.take(&seen, &self.candidate, 0).unwrap().expect("nobody was quicker")
    }

    pub(crate) fn tasks(&self) -> usize {
        count(self.store.reader().as_ref())
    }
}

/// A session of somebody else that changed something and has not ended its transaction.
pub(crate) struct Held {
    url: String,
    runtime: Runtime,
    client: tokio_postgres::Client,
}

impl Held {
    pub(crate) fn new(url: &str, sql: &str) -> Self {
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let (client, connection) = runtime.block_on(tokio_postgres::connect(url, NoTls)).unwrap();
        runtime.spawn(connection);
        runtime.block_on(client.batch_execute(&format!("BEGIN; {sql}"))).unwrap();
        Self { url: url.to_owned(), runtime, client }
    }

    /// Holds what every commit and every takeover needs.
    pub(crate) fn row_of_fence(url: &str) -> Self {
        Self::new(url, "UPDATE muster.fence SET now_ms = now_ms")
    }

    /// Number of sessions that wait for locks in this database.
    pub(crate) fn waiting(&self) -> u32 {
        let sql = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
        Cluster::shared().sql(&self.url, sql).parse().unwrap()
    }

    pub(crate) fn commit(self) {
        self.runtime.block_on(self.client.batch_execute("COMMIT")).unwrap();
    }

    pub(crate) fn is_alive(&self) -> bool {
        self.runtime.block_on(self.client.simple_query("SELECT 1")).is_ok()
    }
}

/// Number of tasks.
pub(crate) fn count(reader: &dyn Reader) -> usize {
    let counts = reader.job_counts(job(), Timestamp(0)).unwrap();
    counts.per_worker.iter().map(|(_, _, count)| usize::try_from(*count).unwrap()).sum()
}

/// Everything that a load hands over, as text.
pub(crate) fn texts(load: impl FnOnce(&mut dyn FnMut(Loaded))) -> Vec<String> {
    let mut texts = Vec::new();
    load(&mut |loaded| texts.push(format!("{loaded:?}")));
    texts
}

/// Asks again and again until there is an answer.
pub(crate) fn until<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    for _ in 0..1_200 {
        if let Some(answer) = ask() {
            return answer;
        }
        thread::sleep(Duration::from_millis(50));
    }
    panic!("waited too long: {what}");
}
