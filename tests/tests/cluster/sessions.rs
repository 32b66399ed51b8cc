//! Sessions of frames over a takeover: rebinding, tasks of an older epoch, checkpoints.

use hmac::{Hmac, KeyInit, Mac};
use muster_pg_harness::Cluster as Database;
use muster_tests::{
    Answer, Client, Cluster, ClusterSetup, Request, frames, muster_command, run, until, wait_until,
};
use serde_json::{Value, json};
use sha2::Sha256;
use std::{collections::BTreeSet, path::Path};

/// S19, S16: with `reassign` whatever ran is done anew, by whoever is free, under ids of its own.
#[test]
fn what_ran_is_done_anew() {
    let database = Database::start();
    let (cluster, before, after) = fail_over(&database, "reassign");
    assert_eq!(before.intersection(&after).count(), 0, "{before:?} went on");
    let lost = "SELECT chunk_id FROM sim_chunks WHERE reason = 'new_term'";
    let lost: BTreeSet<String> = cluster.database().column(lost).into_iter().collect();
    assert_eq!(lost, before);
    assert_eq!(frames::check_losses(&cluster.output(), &cluster.database()), before.len());
}

/// S19: with `resume` workers that come back with the same task keep it, and nothing is done twice.
#[test]
fn what_ran_goes_on() {
    let database = Database::start();
    let (cluster, before, after) = fail_over(&database, "resume");
    assert!(before.is_subset(&after), "{before:?} was done anew as {after:?}");
    assert_eq!(frames::check_losses(&cluster.output(), &cluster.database()), 0);
}

/// Kills the leader while two tasks run, one that was asked for and one that was brought. Answers which chunks were
/// live then, and which have been used in the end.
fn fail_over(database: &Database, rebind: &str) -> (Cluster, BTreeSet<String>, BTreeSet<String>) {
    let settings = [
        ("MUSTER_SIMULATION__REBIND", rebind),
        ("MUSTER_SIMULATION__CHUNK_SIZE", "1000"),
        ("MUSTER_LEADERSHIP__LEASE_MS", "1500"),
        // Workers of a slow machine are not taken to be lost: that would be another reason to do work anew.
        ("MUSTER_SIMULATION__MISSES_UNTIL_LOST", "100"),
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
    wait_until("all that was retired is set apart", || frames::all_is_set_apart(&cluster.database()));
    frames::no_id_is_used_twice(&cluster.output());
    (cluster, before, after)
}

fn chunks(cluster: &Cluster, sql: &str) -> BTreeSet<String> {
    cluster.database().column(sql).into_iter().collect()
}

const FRAMES: u64 = 200;

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
    wait_until("the session is complete", || shown(&cluster)["status"] == "completed");
    frames::check_session(&output, "night", FRAMES);
    wait_until("all that was retired is set apart", || frames::all_is_set_apart(&cluster.database()));
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
    wait_until("frames are done", || shown(cluster)["completedFrames"].as_u64() >= Some(count));
}

/// Asks one server only.
fn export(cluster: &Cluster, index: usize, file: &Path) {
    let mut command = muster_command();
    command.args(["checkpoint", "export", "--server", &cluster.only(index).url()]).arg(file);
    run(command.env("MUSTER_TOKEN", cluster.servers[0].admin_token())).done();
}

fn restore(url: &str, output: &Path, file: &Path) {
    let mut command = muster_command();
    command.args(["checkpoint", "restore", "--json"]).arg(file).current_dir(file.parent().unwrap());
    command.env("MUSTER_SERVER__STORE", url).env("MUSTER_SIMULATION__OUTPUT_ROOT", output);
    let restored = run(&mut command).json();
    assert_eq!((&restored["sessions"], &restored["workers"]), (&json!(1), &json!(2)));
}

/// S18, S19: after a takeover a worker refuses tasks of the epoch before, and takes those of the new one.
#[test]
fn a_worker_refuses_a_task_of_an_older_epoch() {
    let database = Database::start();
    let mut cluster = ClusterSetup::new(&database.fresh_database(), 2).start();
    let _worker = cluster.sim_worker("W1", &["--fps", "100", "--listen", "127.0.0.1:0"]);
    until("the worker is there", || bring(&cluster, 0));
    let before = cluster.settle();
    cluster.servers[before.index].kill9();
    let after = cluster.leader_after(before.epoch);
    let refusal = format!("the task is of an older epoch than {}", after.epoch);
    let refused = |epoch| bring(&cluster, epoch).unwrap().expect(409)["detail"] == refusal.as_str();
    wait_until("the worker has heard of it", || refused(0));
    assert!(refused(before.epoch));
    assert_eq!(bring(&cluster, after.epoch).unwrap().expect(200), json!({"ack": true}));
}

/// Brings a task as a master would, once the worker is known.
fn bring(cluster: &Cluster, epoch: u64) -> Option<Answer> {
    let workers = cluster.database().rows("SELECT endpoint, token_sha256 FROM sim_workers WHERE id = 'W1'");
    let [endpoint, key] = workers.first()?.clone().try_into().ok()?;
    let address = endpoint.strip_prefix("http://")?.split('/').next()?.parse().ok()?;
    let directory = cluster.output().join("session_s1/chunks/1");
    let task = json!({"taskId": "s1.00000000", "sessionId": "s1", "scenario": {}, "cameras": ["front"],
        "frameRange": [0, 5], "globalIdChunk": {"chunkId": 1, "range": [1, 100]}, "attempt": 1, "epoch": epoch,
        "outputDirectory": directory});
    let body = task.to_string().into_bytes();
    let signature = sign(&key, &body);
    let request = Request::new("POST", "/workers/W1/tasks").header("content-type", "application/json");
    Some(Client::at(address).send(request.header("x-muster-signature", &signature).bytes(body)))
}

/// The key is the digest of the worker's token, which is all that the tables have; they show it as `\x…`.
fn sign(key: &str, body: &[u8]) -> String {
    let digits = key.trim_start_matches("\\x").as_bytes();
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    let key: Vec<u8> = digits.chunks(2).map(byte).collect();
    let mut mac = Hmac::<Sha256>::new_from_slice(&key).unwrap();
    mac.update(body);
    mac.finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect()
}
