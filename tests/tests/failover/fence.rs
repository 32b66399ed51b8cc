//! Every commit there is, as the database saw it.

use muster_pg_harness::Cluster as Database;
use muster_tests::Postgres;
use std::collections::{BTreeMap, BTreeSet};

/// Watches the row that every commit of every server touches.
pub(crate) struct Fence {
    url: String,
}

/// One commit or takeover.
#[derive(Debug)]
struct Commit {
    epoch: u64,
    /// Who led then, as the database knew it.
    node: String,
    /// The process of the database that did it. A term has one after the other, if somebody ends its session.
    backend: String,
}

impl Fence {
    /// Writes down, from now on, in whose epoch what is committed. The servers know nothing of it.
    pub(crate) fn watch(database: &Database, url: &str) -> Self {
        database.sql(url, WATCH);
        Self { url: url.to_owned() }
    }

    /// Holds the history to S18: after a commit of one epoch there is none of an older one, and no two write in one epoch.
    pub(crate) fn check(&self) {
        let (mut newest, mut leaders) = (0, BTreeMap::new());
        let mut commits = self.commits();
        for Commit { epoch, node, .. } in &commits {
            assert!(*epoch >= newest, "epoch {epoch} wrote after {newest} had begun");
            newest = *epoch;
            let leader = leaders.entry(newest).or_insert(node);
            assert_eq!(*leader, node, "two led in epoch {newest}");
        }
        assert!(!leaders.is_empty(), "nothing was written");
        // Each connection has one stretch, in one epoch: two that write at once would take turns.
        commits.dedup_by(|next, last| (&next.backend, next.epoch) == (&last.backend, last.epoch));
        let mut ended = BTreeSet::new();
        for commit in &commits {
            assert!(ended.insert(&commit.backend), "two wrote at once, or one in two epochs: {commit:?}");
        }
    }

    /// How many commits there were, and in how many epochs.
    pub(crate) fn counts(&self) -> (usize, usize) {
        let commits = self.commits();
        let mut epochs: Vec<u64> = commits.iter().map(|commit| commit.epoch).collect();
        epochs.dedup();
        (commits.len(), epochs.len())
    }

    /// The epoch that commits are checked against.
    pub(crate) fn epoch(&self) -> u64 {
        self.rows("SELECT epoch FROM muster.fence")[0][0].parse().unwrap()
    }

    /// Tries to commit as a server does that leads in an epoch.
    pub(crate) fn commit_as(&self, epoch: u64) -> Result<(), String> {
        let sql = format!("UPDATE muster.fence SET commits = commits + 1, held = (epoch = {epoch})");
        Postgres::connect(&self.url).unwrap().rows(&sql).map(|_| ())
    }

    fn commits(&self) -> Vec<Commit> {
        let rows = self.rows("SELECT epoch, node, backend FROM audit.commits ORDER BY id");
        let read = |row: Vec<String>| {
            let [epoch, node, backend] = row.try_into().expect("three columns");
            Commit { epoch: epoch.parse().unwrap(), node, backend }
        };
        rows.into_iter().map(read).collect()
    }

    fn rows(&self, sql: &str) -> Vec<Vec<String>> {
        Postgres::connect(&self.url).unwrap().rows(sql).unwrap()
    }
}

/// The row is locked until its transaction ends, so that ids are in the order of commits. What tests do themselves is left
/// out.
const WATCH: &str = "
    CREATE SCHEMA audit;
    CREATE TABLE audit.commits (
        id bigint GENERATED ALWAYS AS IDENTITY, epoch bigint NOT NULL, node text NOT NULL,
        backend text NOT NULL
    );
    CREATE FUNCTION audit.note() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
    BEGIN
        INSERT INTO audit.commits (epoch, node, backend)
        SELECT NEW.epoch, (SELECT coalesce(node, '') FROM muster.leader), pid || ' since ' || backend_start FROM pg_stat_get_activity(pg_backend_pid());
        RETURN NULL;
    END $$;
    CREATE TRIGGER note AFTER UPDATE ON muster.fence FOR EACH ROW
        WHEN (current_setting('application_name') = 'muster') EXECUTE FUNCTION audit.note();
    GRANT USAGE ON SCHEMA audit TO PUBLIC;
    GRANT SELECT ON audit.commits TO PUBLIC;";
