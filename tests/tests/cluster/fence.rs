//! The fence: a leader that slept writes nothing, and no write of an older epoch follows a newer one.

use muster_pg_harness::Cluster as Database;
use muster_tests::{Answer, Client, Cluster, ClusterSetup, Postgres, Request, Standing, until, wait_until};
use serde_json::json;
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
};

/// Watches the row that every commit of every server touches.
pub(crate) struct Fence {
    url: String,
}

/// One commit or takeover.
#[derive(Debug)]
struct Commit {
    epoch: u64,
    /// Leader at that time, as the database knew it.
    node: String,
    /// Database process that made the commit. A term has several, one after the other, if its session is ended.
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

    /// Number of commits, and of their epochs.
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

/// Responses to callers, with the keys they had used.
#[derive(Default)]
struct Answers {
    next: AtomicU64,
    is_over: AtomicBool,
    taken: Mutex<Vec<(String, Answer)>>,
}

/// S18: a leader that stood still for longer than its lease gets nothing in any more: what it had been asked for is
/// refused, or is done by the one that leads now, and nobody is told how things stood before it slept. The database
/// refuses what it tries, and everything that was acknowledged is there once.
#[test]
fn a_leader_that_slept_writes_nothing() {
    let database = Database::start();
    let url = database.fresh_database();
    let cluster = ClusterSetup::new(&url, 2).with(&SETTINGS).start();
    let (fence, answers) = (Fence::watch(&database, &url), Answers::default());
    let refused = || database.log().matches("fence_held").count();
    for round in 0.. {
        sleep_through_a_takeover(&cluster, &fence, &answers);
        fence.check();
        // Which of its threads wakes first is chance: not always is something tried before it knows.
        if refused() > 0 {
            break;
        }
        assert!(round < ROUNDS_MAX, "in {ROUNDS_MAX} rounds nothing was tried");
    }
    println!("{} writes of an older epoch refused", refused());
    let epoch = fence.epoch();
    assert!(fence.commit_as(epoch - 1).unwrap_err().contains("fence_held"));
    every_answer_is_true(&cluster, &answers);
}

fn sleep_through_a_takeover(cluster: &Cluster, fence: &Fence, answers: &Answers) {
    let asleep = cluster.settle();
    let admin = cluster.only(asleep.index).with_token(&cluster.servers[0].admin_token());
    let others = cluster.without(asleep.index).with_token(&cluster.servers[0].admin_token());
    answers.is_over.store(false, Ordering::SeqCst);
    let awake = thread::scope(|scope| {
        // All of them have something on its way to the one that falls asleep.
        for _ in 0..CALLERS {
            scope.spawn(|| answers.submit_until_over(&admin));
        }
        let before = answers.count();
        wait_until("some are answered", || answers.count() > before + 2 * CALLERS);
        cluster.servers[asleep.index].signal("STOP");
        answers.is_over.store(true, Ordering::SeqCst);
        let awake = cluster.leader_after(asleep.epoch);
        let run = until("the other one takes something", || answers.submit(&others));
        cluster.servers[asleep.index].signal("CONT");
        let seen = admin.get(&format!("/api/runs/{run}")).status;
        assert!(matches!(seen, 200 | 503), "{seen}: it answers from before it fell asleep");
        awake
    });
    assert_eq!(fence.epoch(), awake.epoch);
    let url = cluster.servers[awake.index].anonymous().url();
    wait_until("the one that slept follows", || {
        cluster.standing(asleep.index) == Standing::Following(url.clone(), awake.epoch)
    });
}

impl Answers {
    fn submit_until_over(&self, admin: &Client) {
        while !self.is_over.load(Ordering::SeqCst) {
            let _ = self.submit(admin);
        }
    }

    /// Submits one run; whoever refuses it must say so. Answers its id if it was taken.
    fn submit(&self, admin: &Client) -> Option<String> {
        let key = format!("key-{}", self.next.fetch_add(1, Ordering::SeqCst));
        let body = json!({"workflow_id": "w", "params": {}, "title": key});
        let request = Request::new("POST", "/api/runs").header("Idempotency-Key", &key).json(&body);
        let answer = admin.send(request);
        assert!(matches!(answer.status, 201 | 503), "{answer:?}");
        let run = answer.json()["run_id"].as_str().map(str::to_owned);
        self.taken.lock().unwrap().push((key, answer));
        run
    }

    fn count(&self) -> usize {
        self.taken.lock().unwrap().len()
    }
}

/// Every accepted run exists once, under its id; a rejected one may exist, but at most once.
fn every_answer_is_true(cluster: &Cluster, answers: &Answers) {
    let rows = cluster.database().rows("SELECT id, title FROM tasks");
    let titles: BTreeSet<&String> = rows.iter().map(|row| &row[1]).collect();
    assert_eq!(titles.len(), rows.len(), "a key has two runs");
    for (key, answer) in &*answers.taken.lock().unwrap() {
        if answer.status == 201 {
            let expected = [answer.json()["run_id"].as_str().unwrap().to_owned(), key.clone()];
            assert!(rows.iter().any(|row| row[..] == expected), "{key} was acknowledged and is lost");
        }
    }
}

const CALLERS: usize = 24;
const ROUNDS_MAX: u32 = 20;

/// Short, so that it falls asleep for longer soon, and long enough that the one that is awake is not taken to be asleep.
const SETTINGS: [(&str, &str); 1] = [("MUSTER_LEADERSHIP__LEASE_MS", "3000")];
