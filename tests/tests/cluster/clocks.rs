//! Clocks that are wrong, and clocks that jump.

use muster_pg_harness::Cluster as Database;
use muster_tests::{Cluster, ClusterSetup, Event, FakeNode, Request, WallClock, until};
use serde_json::{Value, json};

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

/// What day it is where a server is, such as `Mon, 16 Nov`.
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
