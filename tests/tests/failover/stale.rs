//! A task of a leader that is none any more, brought to a worker.

use hmac::{Hmac, KeyInit, Mac};
use muster_pg_harness::Cluster as Database;
use muster_tests::{Answer, Client, Cluster, ClusterSetup, Request, until};
use serde_json::json;
use sha2::Sha256;

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
    until("the worker has heard of it", || refused(0).then_some(()));
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
