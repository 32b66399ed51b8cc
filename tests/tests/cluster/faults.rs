//! A database that crashes, moves, or has no room; cut lines between servers, database and agents; wrong clocks.

use crate::{flows, under_load};
use muster_pg_harness::{Cluster as Database, Lodging};
use muster_tests::{
    Agent, AgentSetup, Cluster, ClusterSetup, Event, FakeNode, Network, Place, Request, ServerSetup,
    SmallDisk, Standing, WallClock, in_own_network,
    load::{Ledger, jobs},
    until, wait_until,
};
use serde_json::{Value, json};
use std::{collections::BTreeSet, path::Path};

/// S18, I1: servers outlive a crash of the database, a short one and a long one, and go on without being started anew;
/// nothing that was acknowledged is lost.
#[test]
fn a_crash_of_the_database_is_outlived() {
    let database = Database::start();
    let cluster = ClusterSetup::new(&database.fresh_database(), 2).with(&SETTINGS).start();
    let ledger = under_load(&cluster, |ledger| {
        database.stop_immediately();
        database.start_again();
        flows(ledger);
        database.stop_immediately();
        wait_until_nobody_leads(&cluster);
        database.start_again();
        flows(ledger);
        cluster.settle();
    });
    jobs::check_all(&cluster.database(), &ledger);
}

/// S18: when a standby takes the database's place that commits had waited for, nothing that was acknowledged is lost.
#[test]
fn a_synchronous_standby_takes_over_everything() {
    let first = Database::start();
    let url = first.fresh_database();
    let second = first.standby();
    first.replicate_synchronously(true);
    let cluster = ClusterSetup::new(&either(&url, &first, &second), 2).with(&SETTINGS).start();
    let ledger = under_load(&cluster, |_| {
        let before = cluster.settle();
        first.stop_immediately();
        second.promote();
        let after = cluster.leader_after(before.epoch);
        assert!(after.epoch > before.epoch);
    });
    jobs::check_all(&cluster.database(), &ledger);
}

/// S18: when a standby takes the database's place that had fallen behind, what it did not have is lost and nothing else;
/// no epoch comes twice, though the standby has never heard of the last one.
#[test]
fn an_asynchronous_standby_loses_only_what_it_did_not_have() {
    let first = Database::start();
    let url = first.fresh_database();
    let second = first.standby();
    let mut cluster = ClusterSetup::new(&either(&url, &first, &second), 2).with(&SETTINGS).start();
    let kept = under_load(&cluster, |_| {});
    first.wait_for_standby();
    second.sql("postgres", "ALTER SYSTEM SET primary_conninfo = ''");
    second.reload();
    first.wait_until_alone();
    hand_over(&mut cluster);
    let newest = cluster.settle().epoch;
    let risked = Ledger::default();
    let client = cluster.login("carl");
    (0..20).for_each(|_| jobs::hand_in(&client, &risked));
    first.stop_immediately();
    second.promote();
    let after = cluster.leader_after(newest);
    assert!(after.epoch > cluster.epochs().newest(), "an epoch came twice");
    jobs::check_all(&cluster.database(), &kept);
    jobs::hand_in(&client, &kept);
    jobs::check_all(&cluster.database(), &kept);
}

/// S18, I1: on a database without room nothing is acknowledged and the reason is told; with room again the work goes on
/// by itself, and nothing is lost.
#[test]
fn a_full_disk_of_the_database_is_outlived() {
    let disk = SmallDisk::mount(DISK_MB).expect("only root can mount a small disk");
    let lodging = Lodging { below: Some(disk.path().to_owned()), ..Lodging::default() };
    let database = Database::start_at(lodging, &["max_wal_size = '64MB'", "min_wal_size = '32MB'"]);
    let cluster = ClusterSetup::new(&database.fresh_database(), 2).with(&SETTINGS).start();
    let ledger = under_load(&cluster, |_| {
        disk.fill();
        wait_until("somebody says that the disk is full", || {
            cluster.servers.iter().any(|server| server.log().contains("No space left"))
        });
        let refused = Request::new("GET", "/readyz");
        until("nobody is ready", || {
            let answer = cluster.anonymous().try_send(refused.clone()).ok()?;
            (answer.status == 503).then_some(())
        });
        disk.free();
        if !database.is_running() {
            database.start_again();
        }
    });
    jobs::check_all(&cluster.database(), &ledger);
}

/// Ends the leader as an upgrade would, and starts it anew.
fn hand_over(cluster: &mut Cluster) {
    let before = cluster.settle();
    assert!(cluster.servers[before.index].terminate().success());
    let _ = cluster.leader_after(before.epoch);
    cluster.servers[before.index].restart();
}

fn wait_until_nobody_leads(cluster: &Cluster) {
    wait_until("nobody leads", || {
        let standings: BTreeSet<_> = (0..2).map(|index| cluster.standing(index) == Standing::Lost).collect();
        standings == BTreeSet::from([true])
    });
}

/// The address of a database that is on the one server or on the other.
fn either(url: &str, first: &Database, second: &Database) -> String {
    let [one, other] = [first, second].map(|server| format!("127.0.0.1:{}", server.port()));
    let hosts = format!("{one},{other}");
    format!("{}?target_session_attrs=read-write", url.replace(&one, &hosts))
}

/// The database's own files take a fifth of it.
const DISK_MB: u32 = 200;

/// Two servers, a database and an agent, each in a place of its own. What runs is ended before the network is.
struct Lines {
    cluster: Cluster,
    _database: Database,
    network: Network,
}

impl Lines {
    fn lay() -> Self {
        let network = Network::with(&["a", "b", "database", "agent"]);
        let place = network.place("database");
        let lodging = Lodging {
            namespace: Some(place.namespace().to_owned()),
            address: Some(place.address().to_string()),
            below: None,
        };
        let database = Database::start_at(lodging, &[]);
        let places = SERVERS.map(|name| network.place(name));
        let setup = ClusterSetup::placed(&database.fresh_database(), &places);
        Self { cluster: setup.with(&[LEASE]).start(), _database: database, network }
    }

    fn agent(&self) -> Agent {
        let secret = self.cluster.servers[0].node_secret();
        let setup = AgentSetup::new(&self.cluster.anonymous().url(), "PC-01").devices("simulated:2");
        setup.env("NODE_AGENT_SHARED_SECRET", &secret).place(self.network.place("agent")).start()
    }

    /// Submits a run and waits until it has ended.
    fn run_to_its_end(&self) {
        self.wait_for(&self.submit(&json!({})));
    }

    fn submit(&self, simulate: &Value) -> String {
        let params = json!({"simulate": simulate});
        let body = json!({"workflow_id": "login_settings_screenshot_v1", "params": params});
        let answer = self.cluster.admin().post("/api/runs", &body).expect(201);
        answer["run_id"].as_str().unwrap().to_owned()
    }

    fn wait_for(&self, run: &str) {
        let look = Request::new("GET", &format!("/api/runs/{run}"));
        wait_until("the run ends well", || {
            let shown = self.cluster.admin().insist(&look).expect(200);
            shown["status"] == "success"
        });
    }
}

/// S18, I1: a leader that is cut off from the database leads no more and says so; another one takes its place, and the
/// first follows it once the line is mended. Nothing that was acknowledged is lost.
#[test]
fn a_leader_without_the_database_is_replaced() {
    in_own_network(|| {
        let lines = Lines::lay();
        let cluster = &lines.cluster;
        let ledger = under_load(cluster, |ledger| {
            let before = cluster.settle();
            lines.network.cut(SERVERS[before.index], "database");
            let after = cluster.leader_after(before.epoch);
            assert_ne!(after.index, before.index);
            wait_until("it knows that it leads no more", || cluster.standing(before.index) == Standing::Lost);
            let refused = cluster.only(before.index).with_token(&cluster.servers[0].admin_token());
            let refused = refused.post("/api/runs", &json!({"workflow_id": "w", "params": {}}));
            assert!(refused.problem(503)["detail"].is_string() && refused.header("retry-after").is_some());
            flows(ledger);
            lines.network.mend(SERVERS[before.index], "database");
            assert_eq!(cluster.settle(), after, "a leader was replaced that did its work");
        });
        jobs::check_all(&cluster.database(), &ledger);
    });
}

/// S18: a follower that does not reach the leader says so, and what it is asked waits or is refused; the leader goes on,
/// and nobody takes its place.
#[test]
fn a_follower_without_the_leader_says_so() {
    in_own_network(|| {
        let lines = Lines::lay();
        let cluster = &lines.cluster;
        let ledger = under_load(cluster, |ledger| {
            let leader = cluster.settle();
            let follower = cluster.only(1 - leader.index).with_token(&cluster.servers[0].admin_token());
            let list = || follower.send(Request::new("GET", "/api/runs"));
            let _ = list().expect(200);
            lines.network.cut(SERVERS[0], SERVERS[1]);
            let refused = until("it is refused", || Some(list()).filter(|answer| answer.status != 200));
            assert!(refused.problem(503)["detail"].is_string() && refused.header("retry-after").is_some());
            flows(ledger);
            lines.network.mend(SERVERS[0], SERVERS[1]);
            wait_until("it is brought to the leader again", || list().status == 200);
            assert_eq!(cluster.settle(), leader, "a leader was replaced that did its work");
        });
        jobs::check_all(&cluster.database(), &ledger);
    });
}

/// S18, N19: an agent that does not reach the leader has its reports brought to it by another server; one that reaches
/// nobody keeps them until it does.
#[test]
fn an_agent_without_the_leader_asks_another_server() {
    in_own_network(|| {
        let lines = Lines::lay();
        let agent = lines.agent();
        lines.run_to_its_end();
        let leader = lines.cluster.settle();
        lines.network.cut("agent", SERVERS[leader.index]);
        lines.run_to_its_end();
        let begun = lines.submit(&json!({"step_ms": 500}));
        wait_until("it is at work", || agent.status()["running"].as_u64() > Some(0));
        lines.network.cut("agent", SERVERS[1 - leader.index]);
        let open = lines.submit(&json!({}));
        until("a report is kept, since nobody answers", || {
            let status = agent.status();
            (status["state"] == "no answer" && status["spooled"].as_u64() > Some(0)).then_some(())
        });
        for server in SERVERS {
            lines.network.mend("agent", server);
        }
        lines.wait_for(&begun);
        lines.wait_for(&open);
        wait_until("the spool is empty", || agent.status()["spooled"] == 0);
        assert_eq!(lines.cluster.settle(), leader, "a leader was replaced that did its work");
    });
}

const SERVERS: [&str; 2] = ["a", "b"];

/// Long enough that a leader which does its work on a slow machine is not taken to be silent.
const LEASE: (&str, &str) = ("MUSTER_LEADERSHIP__LEASE_MS", "6000");

/// Short, so that silence is noticed soon.
const SETTINGS: [(&str, &str); 1] = [("MUSTER_LEADERSHIP__LEASE_MS", "1500")];

/// A cut silently drops the traffic between two places, each way; all others still reach each other, and so do those
/// two once it is repaired.
#[test]
fn a_cut_drops_what_passes_between_two() {
    in_own_network(|| {
        let network = Network::with(&["a", "b", "c"]);
        let server = ServerSetup::new(&[]).place(network.place("a")).start();
        let url = format!("{}/healthz", server.anonymous().url());
        let reaches = |from: &str| curl(network.place(from), &url);
        assert_eq!([reaches("b"), reaches("c")], [FINE, FINE]);
        network.cut("a", "b");
        assert_eq!([reaches("b"), reaches("c")], [TIMED_OUT, FINE]);
        assert_eq!(server.anonymous().get("/healthz").status, 200);
        network.mend("b", "a");
        assert_eq!([reaches("b"), reaches("c")], [FINE, FINE]);
    });
}

/// Exit code of a curl that requests a URL from a place.
fn curl(from: &Place, url: &str) -> i32 {
    let mut curl = from.command(Path::new("curl"));
    let output = curl.args(["--silent", "--show-error", "--max-time", "2", url]).output().unwrap();
    output.status.code().unwrap()
}

const FINE: i32 = 0;
const TIMED_OUT: i32 = 28;

/// S18: neither a jump of a leader's wall clock nor a new leader whose clock is days off ends a lease, loses a node or
/// dates anything wrong: moments come from the database.
#[test]
fn a_wrong_clock_harms_nobody() {
    let database = Database::start();
    let mut cluster = ClusterSetup::new(&database.fresh_database(), 2).start();
    let clocks = [WallClock::new(), WallClock::new()];
    for (index, clock) in clocks.iter().enumerate() {
        cluster.servers[index].terminate();
        clock.wind(&mut cluster.servers[index]);
        cluster.servers[index].restart();
        cluster.settle();
    }
    let node = FakeNode::enrolled(cluster.node(), "PC-01", 2);
    submit(&cluster, "before");
    let job = until("there is a job", || node.jobs(1).pop());
    node.tell(&Event::started("PC-01", &job));

    let leader = cluster.settle();
    let today = day_of(&cluster, leader.index);
    for days in [1, -1] {
        clocks[leader.index].shift(days * DAY_S);
        // A thread that wrote a date before writes the same one again until the clock has passed it, so only a jump
        // forward is sure to be seen.
        assert!(days < 0 || day_of(&cluster, leader.index) != today, "its clock stands still");
        assert_eq!(node.report()["jobs"], json!([]));
        assert_eq!(still_runs(&cluster, &job), "running", "after a jump of {days} days");
    }
    clocks[1 - leader.index].shift(2 * DAY_S);
    cluster.servers[leader.index].kill9();
    let after = cluster.leader_after(leader.epoch);
    assert_eq!(after.index, 1 - leader.index);
    let event = Event::succeeded("PC-01", &job).nested();
    let told = cluster.node().insist(&Request::new("POST", "/api/nodes/callback").json(&event));
    assert_eq!(told.expect(200), json!({"ok": true}));
    submit(&cluster, "after");
    moments_are_the_databases(&cluster);
}

fn submit(cluster: &Cluster, key: &str) {
    let body = json!({"workflow_id": "w", "scope": {"devices": ["PC-01-d1"]}, "params": {}});
    let request = Request::new("POST", "/api/runs").header("Idempotency-Key", key).json(&body);
    assert!(cluster.admin().insist(&request).is_success());
}

/// Date on the clock of a server, such as `Mon, 16 Nov`.
fn day_of(cluster: &Cluster, index: usize) -> String {
    let answer = cluster.only(index).get("/healthz");
    answer.header("date").unwrap()[..11].to_owned()
}

fn still_runs(cluster: &Cluster, job: &Value) -> String {
    let row = job["task_id"].as_str().unwrap();
    cluster.database().column(&format!("SELECT status FROM task_devices WHERE id = '{row}'")).remove(0)
}

/// An hour is far more than this takes, and far less than the clocks are off.
fn moments_are_the_databases(cluster: &Cluster) {
    for (table, moment) in [("execution_logs", "at"), ("tasks", "created_at"), ("feed", "at")] {
        let far = format!("abs({moment} - extract(epoch FROM now()) * 1000) > 3600000");
        let wrong = cluster.database().count(&format!("SELECT count(*) FROM {table} WHERE {far}"));
        assert_eq!(wrong, 0, "moments of {table} are not the database's");
    }
    let backwards = "SELECT l.task_device_id FROM execution_logs l JOIN execution_logs e
        ON e.task_device_id = l.task_device_id AND e.seq < l.seq AND e.at > l.at";
    assert_eq!(cluster.database().column(backwards), Vec::<String>::new());
}

const DAY_S: i64 = 86_400;
