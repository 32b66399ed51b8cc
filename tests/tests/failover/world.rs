//! Three servers on one database, and everybody who works for them.

use crate::fence::Fence;
use muster_pg_harness::Cluster as Database;
use muster_tests::{
    Agent, AgentSetup, Client, Cluster, ClusterSetup, Database as Tables, Dice, PoolWorker, SimWorker,
    frames,
    load::{self, Ledger, Phase, check, jobs, sessions},
    until,
};
use std::{
    fs,
    path::Path,
    thread::{self, Scope},
    time::Duration,
};
use tempfile::TempDir;

/// The order matters: what works is ended before the servers, and these before the database.
pub(crate) struct World {
    agent: Agent,
    _sim_workers: Vec<SimWorker>,
    _pool_workers: Vec<PoolWorker>,
    pub(crate) client: Client,
    pub(crate) cluster: Cluster,
    pub(crate) fence: Fence,
    _directory: TempDir,
    _database: Database,
}

impl World {
    pub(crate) fn start() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let database = Database::start();
        let url = database.fresh_database();
        let cluster = ClusterSetup::new(&url, 3).with(&SETTINGS).start();
        let fence = Fence::watch(&database, &url);
        let client = cluster.user("carl", &["CLIENT"]);
        let _ = cluster.user("olga", &["WORKER_OWNER"]);
        let urls = cluster.anonymous().url();
        let pool_worker = |name| PoolWorker::start(&urls, directory.path(), name, &["--slots", "2"]);
        Self {
            agent: start_agent(&cluster, directory.path()),
            _sim_workers: vec![
                cluster.sim_worker("W1", &["--fps", "100"]),
                cluster.sim_worker("W2", &["--fps", "100", "--listen", "127.0.0.1:0"]),
            ],
            _pool_workers: vec![pool_worker("worker-a"), pool_worker("worker-b")],
            client,
            cluster,
            fence,
            _directory: directory,
            _database: database,
        }
    }

    /// Starts all who ask for something; they go home when the ledger says so.
    pub(crate) fn load<'scope>(
        &self,
        scope: &'scope Scope<'scope, '_>,
        ledger: &'scope Ledger,
        dice: &mut Dice,
    ) {
        load::start(scope, (&self.cluster.node(), &self.cluster.admin()), ledger, dice);
        let (client, luck) = (self.client.clone(), dice.split());
        scope.spawn(move || jobs::hand_in_jobs(&client, ledger, luck));
        let admin = self.cluster.admin();
        scope.spawn(move || sessions::render_sessions(&admin, ledger));
        let tables = self.cluster.database();
        scope.spawn(move || tell_backlog(&tables, ledger));
    }

    /// Holds the servers to all that was acknowledged so far.
    pub(crate) fn check(&self, ledger: &Ledger) {
        let database = self.cluster.database();
        check::all(&database, &self.cluster.node(), ledger);
        jobs::check(&database, ledger);
        self.fence.check();
    }

    /// Holds the servers to the end of everything.
    pub(crate) fn check_drained(&self, ledger: &Ledger) {
        let database = self.cluster.database();
        check::drained(&database, ledger);
        jobs::check_all(&database, ledger);
        assert_eq!(jobs::open(&database), 0);
        sessions::check(&self.cluster.output(), ledger);
        let _ = frames::check_losses(&self.cluster.output(), &database);
    }

    /// Waits until nobody has anything left to do, for as long as it gets on.
    pub(crate) fn work_off(&self) {
        while !self.is_idle() {
            let before = self.ended();
            until("something ends", || (self.is_idle() || self.ended() > before).then_some(()));
        }
    }

    /// How much has ended.
    fn ended(&self) -> i64 {
        let database = self.cluster.database();
        ENDED.iter().map(|sql| database.count(sql)).sum()
    }

    fn is_idle(&self) -> bool {
        let database = self.cluster.database();
        let open = |table: &str| database.count(&format!("SELECT count(*) FROM {table} WHERE open = 1"));
        let unmoved = "SELECT count(*) FROM sim_quarantine WHERE moved = 0";
        open("tasks") == 0
            && open("sim_sessions") == 0
            && jobs::open(&database) == 0
            && database.count(unmoved) == 0
            && self.is_agent_quiet()
    }

    fn is_agent_quiet(&self) -> bool {
        let status = self.agent.status();
        [&status["spooled"], &status["running"], &status["queued"]].iter().all(|count| **count == 0)
    }
}

impl Drop for World {
    fn drop(&mut self) {
        if thread::panicking() {
            let database = self.cluster.database();
            for sql in OPEN {
                database.rows(sql).iter().for_each(|row| eprintln!("open: {}", row.join(" ")));
            }
            eprintln!("{}", self.agent.status());
        }
    }
}

fn tell_backlog(tables: &Tables, ledger: &Ledger) {
    while ledger.phase() != Phase::Over {
        ledger.set_backlog(tables.count("SELECT count(*) FROM tasks WHERE open = 1").unsigned_abs());
        thread::sleep(Duration::from_millis(200));
    }
}

fn start_agent(cluster: &Cluster, directory: &Path) -> Agent {
    let workflows = directory.join("workflows");
    fs::create_dir(&workflows).unwrap();
    fs::write(workflows.join("w.toml"), WORKFLOW).unwrap();
    let setup = AgentSetup::new(&cluster.anonymous().url(), "PC-A1")
        .env("NODE_AGENT_SHARED_SECRET", &cluster.servers[0].node_secret());
    setup.devices("simulated:4").args(&["--slots", "4", "--workflows", workflows.to_str().unwrap()]).start()
}

const ENDED: [&str; 4] = [
    "SELECT count(*) FROM tasks WHERE open = 0",
    "SELECT count(*) FROM task_devices WHERE completed_at IS NOT NULL",
    "SELECT count(*) FROM pool_ends",
    "SELECT count(*) FROM sim_tasks WHERE status = 'completed'",
];

/// What is left to do, to be shown when nobody does it.
const OPEN: [&str; 5] = [
    "SELECT id, queue, status, schedule_id, task_count FROM tasks WHERE open = 1 LIMIT 20",
    "SELECT id, pc_id, device_id, status, attempt, lease_kind FROM task_devices
     WHERE status IN ('running', 'pending') LIMIT 20",
    "SELECT j.id, a.* FROM pool_jobs j LEFT JOIN pool_ends e ON e.id = j.id
     LEFT JOIN pool_assignments a ON a.id / 64 = j.id WHERE e.id IS NULL LIMIT 20",
    "SELECT * FROM sim_tasks t JOIN sim_sessions s ON s.id = t.session_id WHERE s.open = 1 LIMIT 20",
    "SELECT * FROM sim_quarantine WHERE moved = 0 LIMIT 20",
];

/// What the load's runs ask for.
const WORKFLOW: &str = r#"timeoutMs = 20000

[[steps]]
id = "WORK"
kind = "sleep"
params = { ms = 20 }
timeoutMs = 1000
"#;

/// A lost answer is made good within a second, so that lost work shows as work that never ends. Workers of sessions live
/// through more takeovers than any real ones: that is not held against them.
const SETTINGS: [(&str, &str); 7] = [
    ("MUSTER_NODES__REDELIVER_AFTER_S", "1"),
    ("MUSTER_OPERATIONS__SLOTS", "6"),
    ("MUSTER_POOL__TOKEN_TTL_S", "86400"),
    ("MUSTER_SIMULATION__CHUNK_SIZE", "1000"),
    ("MUSTER_SIMULATION__MAX_ATTEMPTS", "100"),
    ("MUSTER_SIMULATION__QUARANTINE_AFTER", "1000"),
    ("MUSTER_LOG", "warn"),
];
