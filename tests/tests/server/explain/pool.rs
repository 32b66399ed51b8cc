//! Jobs and workers of the pool.

use crate::explain::{Planted, frames::Worker};
use muster_tests::{Client, FakePoolWorker};
use serde_json::{Value, json};

pub(crate) fn plant(planted: &Planted<'_>) {
    let server = planted.server;
    let (carl, cora) = (server.user("carl", &["CLIENT"]), server.user("cora", &["CLIENT"]));
    let olga = server.user("olga", &["WORKER_OWNER"]);
    let far = hand_in(&carl, &json!({"payload": {}, "region": "mars"}));
    planted.check("job", &far, "no_workers");
    let worker = FakePoolWorker::with(&olga, "w-eu", &json!({"region": "eu"}));
    let id = worker.id.to_string();
    let check = |kind: &str, id: &str, code: &'static str| {
        worker.beat();
        planted.check(kind, id, code)
    };
    check("job", &far, "no_worker_in_region");
    check("worker", &id, "no_matching_job");
    cancel(planted, &far);
    check("worker", &id, "no_jobs");
    both(planted, &id);
    let rich = hand_in(&carl, &json!({"payload": {}, "requires": {"vram": 99}}));
    check("job", &rich, "requirements_unmet");
    let urgent = hand_in(&carl, &json!({"payload": {}, "priority": 9}));
    let plain = hand_in(&carl, &json!({"payload": {}}));
    assert_eq!(check("job", &plain, "higher_priority_first")["job_id"], *urgent);
    check("job", &urgent, "waiting_for_poll");
    assert_eq!(check("worker", &id, "pool_worker_idle")["job_id"], *urgent);
    let _ = worker.work_off(&json!({"ok": true}));
    check("job", &urgent, "job_ended");
    let later = hand_in(&carl, &json!({"payload": {}}));
    let others = hand_in(&cora, &json!({"payload": {}}));
    let _ = worker.work_off(&json!({"ok": true}));
    let last = hand_in(&cora, &json!({"payload": {}}));
    check("job", &last, "older_job_first");
    check("job", &later, "clients_turn");
    cancel(planted, &last);
    let _ = worker.poll();
    check("job", &others, "job_running");
    check("job", &later, "workers_busy");
    check("worker", &id, "pool_worker_full");
    let twice = hand_in(&cora, &json!({"payload": {}, "redundancy": 3}));
    let spare = FakePoolWorker::with(&olga, "w-spare", &json!({}));
    spare.beat();
    cancel(planted, &later);
    let _ = spare.poll();
    check("job", &twice, "too_few_owners");
    gone(planted, (&worker, &spare), &others);
}

/// A simulation worker that is called by the number of one of the pool can be asked about, and so can that one.
fn both(planted: &Planted<'_>, id: &str) {
    let sim = Worker::registered(planted.server, id);
    let code = |kind: &str| planted.ask(kind, id)["code"].clone();
    sim.beat(0.0, "ok");
    let codes = ["worker", "pool_worker", "sim_worker"].map(code);
    assert_eq!(codes, ["no_jobs", "no_jobs", "no_frames"]);
}

/// Workers that drain, are banned or fall silent with a job in their hands.
fn gone(planted: &Planted<'_>, (worker, spare): (&FakePoolWorker, &FakePoolWorker), held: &str) {
    let admin = planted.server.admin();
    let id = worker.id.to_string();
    worker.beat();
    let _ = worker.owner().post(&format!("/workers/{id}/drain"), &json!({})).expect(200);
    planted.check("worker", &id, "pool_worker_draining");
    let ban = admin.post(&format!("/workers/{}/ban", spare.id), &json!({"reason": "it lied"}));
    assert!(ban.is_success(), "{}", ban.text());
    let why = planted.check("worker", &spare.id.to_string(), "pool_worker_banned");
    assert_eq!(why["reason"], "it lied");
    planted.wait("worker", &id, "pool_worker_offline");
    assert_eq!(planted.check("job", held, "lease_out")["worker_id"], *id);
}

fn hand_in(client: &Client, job: &Value) -> String {
    client.post("/jobs", job).expect(201)["id"].to_string()
}

fn cancel(planted: &Planted<'_>, job: &str) {
    let request = muster_tests::Request::new("DELETE", &format!("/jobs/{job}"));
    let answer = planted.server.admin().send(request);
    assert!(answer.is_success(), "{}", answer.text());
}
