//! Pool workers as owners run them, killed again and again; nothing may be lost, or done by two.
//!
//! `MUSTER_JOBS` says how many jobs (200), `MUSTER_SEED` which chance.

use muster_tests::{Client, Dice, Gateway, PoolWorker, Server, muster_command, until};
use serde_json::{Value, json};
use std::{fs, thread};
use tempfile::TempDir;

/// Says that it runs, and cries out if it does so beside itself; takes a moment; hands back what it was given.
const PROGRAM: &str = r#"
    exec 9> "$1/lock.$MUSTER_ASSIGNMENT_ID"
    flock -n 9 || echo "$MUSTER_ASSIGNMENT_ID" >> "$1/beside-itself"
    echo "$MUSTER_ASSIGNMENT_ID" >> "$1/runs"
    sleep 0.$(($$ % 3))$(($$ % 10))
    printf '{"given": %s, "at": "%s"}' "$(cat)" "$(date +%N)"
"#;

/// P6, P7, P8, P16: workers are killed at random moments while jobs flow, and the server now and then. Each job ends
/// completed, with its own output, by its first assignment: no attempt is lost, and no result is taken twice. Nothing is
/// set aside, and no assignment is ever executed by two at once.
#[test]
fn no_kill_loses_a_job_or_does_it_twice() {
    let jobs: u64 = std::env::var("MUSTER_JOBS").ok().and_then(|text| text.parse().ok()).unwrap_or(200);
    let mut dice = Dice::announced();
    let mut pool = Pool::start(&[]);
    let shared = pool.directory.path().to_str().unwrap().to_owned();
    let args = ["--slots", "3", "--heartbeat", "0.5", "--exec", "sh", "-c", PROGRAM, "sh", &shared];
    let mut workers = ["worker-a", "worker-b"].map(|name| pool.worker(name, &args));
    let ids: Vec<u64> = (0..jobs).map(|n| pool.submit(&json!({"n": n}))).collect();
    let (mut harm, mut open) = (0, ids.clone());
    while !open.is_empty() {
        thread::sleep(dice.millis(20, 400));
        harm += 1;
        match dice.below(8) {
            0 => pool.kill_server(),
            n => workers[usize::try_from(n % 2).unwrap()].kill9_and_restart(),
        }
        // Not all of them each time, or nobody would be harmed meanwhile.
        let mut looks = 20;
        open.retain(|id| {
            looks -= 1;
            looks < 0 || matches!(pool.job(*id)["status"].as_str(), Some("queued" | "running"))
        });
        assert!(harm < 40 * jobs, "{} jobs do not end", open.len());
    }
    for (n, id) in (0..).zip(&ids) {
        let job = pool.job(*id);
        assert_eq!(
            (&job["status"], &job["output"]["given"]),
            (&json!("completed"), &json!({"n": n})),
            "{job}"
        );
        let receipt = pool.client.get(&format!("/jobs/{id}/receipt")).expect(200);
        assert_eq!(receipt["assignment_id"], json!(id * 64 + 1), "an attempt was lost: {receipt}");
    }
    for worker in &mut workers {
        assert_eq!(worker.terminate().code(), Some(0));
        assert_eq!(worker.aside(), json!([]));
    }
    let read = |name: &str| fs::read_to_string(pool.directory.path().join(name)).unwrap_or_default();
    assert_eq!(read("beside-itself"), "");
    let runs = read("runs").lines().count();
    println!("{jobs} jobs, {runs} executions, {harm} times harmed");
}

/// P16: a worker behind the gateway loses nothing while the server, the gateway's coordinator, is killed under it.
#[test]
fn a_worker_works_through_the_gateway() {
    let mut pool = Pool::start(&[]);
    let gateway = Gateway::before(&pool.server, &[]);
    let args = ["--slots", "4", "--heartbeat", "0.5"];
    let mut worker = PoolWorker::start(&gateway.anonymous().url(), pool.directory.path(), "worker-a", &args);
    for round in 0..3 {
        let ids: Vec<u64> =
            (0..20).map(|n| pool.submit(&json!({"op": "sum", "values": [round, n]}))).collect();
        until("a job is done", || (pool.job(ids[0])["status"] == "completed").then_some(()));
        pool.kill_server();
        for (n, id) in (0..).zip(&ids) {
            until("the job ends", || (pool.job(*id)["status"] == "completed").then_some(()));
            assert_eq!(pool.job(*id)["output"], json!({"sum": round + n}));
        }
    }
    assert_eq!(worker.terminate().code(), Some(0));
    assert_eq!(worker.aside(), json!([]));
}

/// P16: the key is for its owner only; it is replaced while results flow, and receipts name the one that signed.
#[test]
fn a_key_is_made_and_replaced() {
    let pool = Pool::start(&[]);
    let mut worker = pool.worker("worker-a", &[]);
    let key_of = |receipt: &Value| receipt["public_key"].as_str().unwrap().to_owned();
    let complete = |payload: &Value| {
        let id = pool.submit(payload);
        until("the job ends", || (pool.job(id)["status"] == "completed").then_some(()));
        pool.client.get(&format!("/jobs/{id}/receipt")).expect(200)
    };
    let before = key_of(&complete(&json!({"op": "sum", "values": [1, 2]})));
    let first = fs::read(worker.key()).unwrap();
    assert_eq!(worker.terminate().code(), Some(0));
    worker.restart_with(&["--rotate-key"]);
    let after = complete(&json!({"op": "sha256", "text": "x"}));
    assert_ne!(key_of(&after), before);
    assert_ne!(fs::read(worker.key()).unwrap(), first);
    assert_eq!(pool.workers()[0]["public_key"], after["public_key"]);
    let file = pool.directory.path().join("receipt.json");
    fs::write(&file, after.to_string()).unwrap();
    let mut verify = muster_command();
    verify.args(["receipt", "verify"]).arg(&file).args(["--key", &key_of(&after)]);
    assert!(verify.output().unwrap().status.success());
    assert_eq!(worker.terminate().code(), Some(0));
    fs::write(worker.key(), [1; 32]).unwrap();
    worker.restart_with(&[]);
    assert_eq!(worker.wait().code(), Some(4), "the server knows another key");
    assert!(worker.log().contains("with another key"));
    let exposed = std::os::unix::fs::PermissionsExt::from_mode(0o644);
    fs::set_permissions(worker.key(), exposed).unwrap();
    worker.restart_with(&[]);
    assert_eq!(worker.wait().code(), Some(4));
    assert!(worker.log().contains("chmod 600"));
}

/// A server, and a directory that programs of workers write into.
struct Pool {
    server: Server,
    client: Client,
    directory: TempDir,
}

impl Pool {
    /// Starts a server with an owner of workers and a client.
    fn start(settings: &[(&str, &str)]) -> Self {
        let server = Server::with_fixed_port(settings);
        server.add_user("olga", &["WORKER_OWNER"]);
        let client = server.user("carl", &["CLIENT"]);
        Self { server, client, directory: tempfile::tempdir().unwrap() }
    }

    /// Starts a worker with more words on its command line.
    fn worker(&self, name: &str, args: &[&str]) -> PoolWorker {
        PoolWorker::start(&self.server.anonymous().url(), self.directory.path(), name, args)
    }

    /// A job with a number, and its id.
    fn submit(&self, payload: &Value) -> u64 {
        let job = json!({"payload": payload, "priority": 5});
        self.client.post("/jobs", &job).expect(201)["id"].as_u64().unwrap()
    }

    fn job(&self, id: u64) -> Value {
        self.client.get(&format!("/jobs/{id}")).expect(200)
    }

    /// Ends the server as no process can prevent, and starts it anew.
    fn kill_server(&mut self) {
        self.server.kill9();
        self.server.restart();
    }

    /// The owner's workers, as the server knows them.
    fn workers(&self) -> Vec<Value> {
        let answer = self.server.login("olga").get("/workers").expect(200);
        answer["workers"].as_array().unwrap().clone()
    }
}
