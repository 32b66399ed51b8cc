//! A database that is lost, and a checkpoint of before.

use muster_pg_harness::Cluster as Database;
use muster_tests::{Cluster, ClusterSetup, Request, frames, muster_command, until};
use serde_json::{Value, json};
use std::path::Path;

/// S20, S14: a checkpoint that a follower brought from a leader which took over is restored into another, empty database;
/// servers on that one complete the session, and no id is used twice, not even one that was granted after the checkpoint.
#[test]
fn another_database_goes_on_from_a_checkpoint() {
    let (place, database) = (tempfile::tempdir().unwrap(), Database::start());
    let (output, file) = (place.path().join("output"), place.path().join("checkpoint.json"));
    let [lost, empty] = [database.fresh_database(), database.fresh_database()];
    let mut cluster = start(&lost, &output);
    let workers = ["W1", "W2"].map(|id| cluster.sim_worker(id, &["--fps", "40", "--persons-per-frame", "3"]));
    let session = json!({"sessionId": "night", "totalFrames": FRAMES, "framesPerTask": 10});
    assert!(cluster.admin().insist(&Request::new("POST", "/api/v1/sessions").json(&session)).is_success());
    wait_for_frames(&cluster, 20);
    let before = cluster.settle();
    cluster.servers[before.index].kill9();
    let after = cluster.leader_after(before.epoch);
    wait_for_frames(&cluster, 40);
    cluster.servers[before.index].restart();
    assert_eq!(cluster.settle(), after);
    export(&cluster, before.index, &file);
    let known = shown(&cluster)["completedFrames"].as_u64().unwrap();
    wait_for_frames(&cluster, known + 20);
    drop((workers, cluster));

    restore(&empty, &output, &file);
    let cluster = start(&empty, &output);
    let _workers =
        ["W3", "W4"].map(|id| cluster.sim_worker(id, &["--fps", "100", "--persons-per-frame", "3"]));
    until("the session is complete", || (shown(&cluster)["status"] == "completed").then_some(()));
    frames::check_session(&output, "night", FRAMES);
    let unmoved = "SELECT count(*) FROM sim_quarantine WHERE moved = 0";
    until("all that was retired is set apart", || (cluster.database().count(unmoved) == 0).then_some(()));
    frames::no_id_is_used_twice(&output);
}

fn start(url: &str, output: &Path) -> Cluster {
    let output = output.to_str().unwrap();
    let settings = [("MUSTER_SIMULATION__OUTPUT_ROOT", output), ("MUSTER_SIMULATION__CHUNK_SIZE", "1000")];
    ClusterSetup::new(url, 2).with(&settings).start()
}

fn shown(cluster: &Cluster) -> Value {
    cluster.admin().insist(&Request::new("GET", "/api/v1/sessions/night")).expect(200)
}

fn wait_for_frames(cluster: &Cluster, count: u64) {
    until("frames are done", || (shown(cluster)["completedFrames"].as_u64() >= Some(count)).then_some(()));
}

/// Asks one server only.
fn export(cluster: &Cluster, index: usize, file: &Path) {
    let mut command = muster_command();
    command.args(["checkpoint", "export", "--server", &cluster.only(index).url()]).arg(file);
    let exported = command.env("MUSTER_TOKEN", cluster.servers[0].admin_token()).output().unwrap();
    assert!(exported.status.success(), "{}", String::from_utf8_lossy(&exported.stderr));
}

fn restore(url: &str, output: &Path, file: &Path) {
    let mut command = muster_command();
    command.args(["checkpoint", "restore", "--json"]).arg(file).current_dir(file.parent().unwrap());
    command.env("MUSTER_SERVER__STORE", url).env("MUSTER_SIMULATION__OUTPUT_ROOT", output);
    let restored = command.output().unwrap();
    assert!(restored.status.success(), "{}", String::from_utf8_lossy(&restored.stderr));
    let restored: Value = serde_json::from_slice(&restored.stdout).unwrap();
    assert_eq!((&restored["sessions"], &restored["workers"]), (&json!(1), &json!(2)));
}

const FRAMES: u64 = 200;
