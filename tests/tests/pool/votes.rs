//! Redundancy: several owners' workers do the same job, and the majority counts: P15.

use crate::{hand_in, told};
use muster_tests::{Client, FakePoolWorker, Server};
use serde_json::{Value, json};

fn workers<const N: usize>(server: &Server, names: [&str; N]) -> [FakePoolWorker; N] {
    names.map(|name| FakePoolWorker::registered(&server.user(name, &["WORKER_OWNER"]), &format!("{name}-w")))
}

fn triple(client: &Client) -> u64 {
    hand_in(client, &json!({"payload": {"sum": [1, 2]}, "redundancy": 3, "max_attempts": 5}))
}

/// P15: a worker that lies dissents, falls in reputation and is banned after three times; honest ones are not touched; it
/// stays so over kill -9.
#[test]
fn a_liar_is_banned_after_three_dissents() {
    let mut server = Server::start();
    let client = server.user("carl", &["CLIENT"]);
    let [ann, bob, liar] = workers(&server, ["ann", "bob", "eve"]);
    for round in 1..=3_u64 {
        let id = triple(&client);
        let leases = [&ann, &bob, &liar].map(FakePoolWorker::poll);
        let ids: Vec<&Value> = leases.iter().map(|lease| &lease["assignment_id"]).collect();
        assert!(ids[0] != ids[1] && ids[1] != ids[2] && ids[0] != ids[2]);
        let _ = liar.submit(&liar.result(&leases[2], &json!({"sum": 4}))).expect(200);
        let _ = ann.submit(&ann.result(&leases[0], &json!({"sum": 3}))).expect(200);
        assert_eq!(client.get(&format!("/jobs/{id}")).expect(200)["status"], "running", "one against one");
        let _ = bob.submit(&bob.result(&leases[1], &json!({"sum": 3}))).expect(200);
        let job = client.get(&format!("/jobs/{id}")).expect(200);
        assert_eq!((&job["status"], &job["output"]), (&json!("completed"), &json!({"sum": 3})));
        server.kill9();
        server.restart();
        let shown = liar.shown();
        assert_eq!(shown["dissents"], round);
        assert!(shown["reputation"].as_f64().unwrap() < 1.0, "{shown}");
        assert_eq!(shown["status"] == "banned", round == 3, "{shown}");
    }
    for honest in [&ann, &bob] {
        let shown = honest.shown();
        assert_eq!((&shown["dissents"], &shown["reputation"]), (&json!(0), &json!(1.0)), "{shown}");
        assert_ne!(shown["status"], "banned");
    }
    let fourth = triple(&client);
    assert_eq!(told(&liar.try_poll()), (404, "No assignment available".to_owned()));
    let leases = [ann.poll(), bob.poll()];
    let explained = client.get(&format!("/jobs/{fourth}/explain")).expect(200);
    assert_eq!(explained["cause"], "workers_away", "{explained}");
    assert!(explained["explanation"].as_str().unwrap().contains("1 banned"), "{explained}");
    for (worker, lease) in [&ann, &bob].into_iter().zip(&leases) {
        let _ = worker.submit(&worker.result(lease, &json!({"sum": 3}))).expect(200);
    }
    assert_eq!(client.get(&format!("/jobs/{fourth}")).expect(200)["status"], "completed");
}

/// P15: without a majority one more owner's worker is asked; with fewer owners than that it waits, explained, also over
/// a restart.
#[test]
fn no_majority_asks_one_more() {
    let mut server = Server::start();
    let client = server.user("carl", &["CLIENT"]);
    let [ann, bob] = workers(&server, ["ann", "bob"]);
    let id = triple(&client);
    let leases = [&ann, &bob].map(FakePoolWorker::poll);
    let cause = || client.get(&format!("/jobs/{id}/explain")).expect(200)["cause"].clone();
    assert_eq!(cause(), "too_few_owners", "two of three");
    let [cid] = workers(&server, ["cid"]);
    cid.work_off(&json!({"sum": 5}));
    let _ = ann.submit(&ann.result(&leases[0], &json!({"sum": 3}))).expect(200);
    let _ = bob.submit(&bob.result(&leases[1], &json!({"sum": 4}))).expect(200);
    server.kill9();
    server.restart();
    assert_eq!(cause(), "too_few_owners", "three disagree, and a fourth is needed");
    let [dan] = workers(&server, ["dan"]);
    dan.work_off(&json!({"sum": 3}));
    assert_eq!(
        client.get(&format!("/jobs/{id}")).expect(200)["status"],
        "queued",
        "two of four are not more than half"
    );
    let [eve] = workers(&server, ["eve"]);
    eve.work_off(&json!({"sum": 3}));
    let job = client.get(&format!("/jobs/{id}")).expect(200);
    assert_eq!((&job["status"], &job["output"]), (&json!("completed"), &json!({"sum": 3})), "{job}");
    let dissents = [&ann, &bob, &cid, &dan, &eve].map(|worker| worker.shown()["dissents"].clone());
    assert_eq!(dissents, [0, 1, 1, 0, 0]);
}

/// P15: a redundant job of a database that an earlier version wrote goes on; the vote that is there is the declared hash.
#[test]
fn a_vote_of_an_earlier_version_counts() {
    let mut server = Server::start();
    let client = server.user("carl", &["CLIENT"]);
    let [ann, bob] = workers(&server, ["ann", "bob"]);
    let id = triple(&client);
    let leases = [&ann, &bob].map(FakePoolWorker::poll);
    let _ = ann.submit(&ann.result(&leases[0], &json!({"sum": 3}))).expect(200);
    assert!(server.terminate().success());
    let file = rusqlite::Connection::open(server.data().join("muster.db")).unwrap();
    // As the upgrade from that version leaves it.
    file.execute_batch("UPDATE pool_assignments SET vote = NULL").unwrap();
    drop(file);
    server.restart();
    let _ = bob.submit(&bob.result(&leases[1], &json!({"sum": 3}))).expect(200);
    let job = client.get(&format!("/jobs/{id}")).expect(200);
    assert_eq!((&job["status"], &job["output"]), (&json!("completed"), &json!({"sum": 3})), "{job}");
}
