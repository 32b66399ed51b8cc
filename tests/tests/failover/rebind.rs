//! What becomes of running tasks when another server leads, with both settings.

use muster_pg_harness::Cluster as Database;
use muster_tests::{Cluster, ClusterSetup, Request, frames, until};
use serde_json::json;
use std::collections::BTreeSet;

/// S19, S16: with `reassign` whatever ran is done anew, by whoever is free, under ids of its own.
#[test]
fn what_ran_is_done_anew() {
    let (before, after, cluster) = fail_over("reassign");
    assert_eq!(before.intersection(&after).count(), 0, "{before:?} went on");
    let lost = "SELECT chunk_id FROM sim_chunks WHERE reason = 'new_term'";
    let lost: BTreeSet<String> = cluster.database().column(lost).into_iter().collect();
    assert_eq!(lost, before);
    assert_eq!(frames::check_losses(&cluster.output(), &cluster.database()), before.len());
}

/// S19: with `resume` workers that come back with the same task keep it, and nothing is done twice.
#[test]
fn what_ran_goes_on() {
    let (before, after, cluster) = fail_over("resume");
    assert!(before.is_subset(&after), "{before:?} was done anew as {after:?}");
    assert_eq!(frames::check_losses(&cluster.output(), &cluster.database()), 0);
}

/// Kills the leader while two tasks run, one that was asked for and one that was brought. Answers which chunks were
/// live then, and which have been used in the end.
fn fail_over(rebind: &str) -> (BTreeSet<String>, BTreeSet<String>, Rendered) {
    let database = Database::start();
    let settings = [
        ("MUSTER_SIMULATION__REBIND", rebind),
        ("MUSTER_SIMULATION__CHUNK_SIZE", "1000"),
        ("MUSTER_LEADERSHIP__LEASE_MS", "1500"),
    ];
    let mut cluster = ClusterSetup::new(&database.fresh_database(), 2).with(&settings).start();
    // Slow enough that the tasks outlast the takeover.
    let pace = ["--fps", "15"];
    let _asks = cluster.sim_worker("W1", &pace);
    let _is_brought = cluster.sim_worker("W2", &[&pace[..], &["--listen", "127.0.0.1:0"]].concat());
    let session = json!({"sessionId": "night", "totalFrames": FRAMES, "framesPerTask": FRAMES / 2,
        "scenario": {"fps": 30}, "cameras": ["front"], "qualityMode": "strict"});
    let submit = Request::new("POST", "/api/v1/sessions").json(&session);
    assert!(cluster.admin().insist(&submit).is_success());
    let running = "SELECT chunk_id FROM sim_tasks WHERE status = 'running'";
    let running = || Some(chunks(&cluster, running)).filter(|chunks| chunks.len() == 2);
    let before = until("two tasks run", running);
    let leader = cluster.settle();
    cluster.servers[leader.index].kill9();
    let look = Request::new("GET", "/api/v1/sessions/night");
    let status = || cluster.admin().insist(&look).expect(200)["status"].as_str().unwrap().to_owned();
    until("the session ends", || Some(status()).filter(|status| status != "running"));
    assert_eq!(status(), "completed");
    frames::check_session(&cluster.output(), "night", FRAMES);
    let after = chunks(&cluster, "SELECT chunk_id FROM sim_tasks WHERE status = 'completed'");
    until("all that was retired is set apart", || is_set_apart(&cluster).then_some(()));
    frames::no_id_is_used_twice(&cluster.output());
    (before, after, Rendered { cluster, _database: database })
}

fn chunks(cluster: &Cluster, sql: &str) -> BTreeSet<String> {
    cluster.database().column(sql).into_iter().collect()
}

fn is_set_apart(cluster: &Cluster) -> bool {
    cluster.database().count("SELECT count(*) FROM sim_quarantine WHERE moved = 0") == 0
}

/// The servers, and the database they are on.
struct Rendered {
    cluster: Cluster,
    _database: Database,
}

impl std::ops::Deref for Rendered {
    type Target = Cluster;

    fn deref(&self) -> &Cluster {
        &self.cluster
    }
}

const FRAMES: u64 = 200;
