//! The RPCs, as PostgREST's clients call them: Q14.

use crate::{cancel, run, run_in};
use muster_tests::{Answer, Client, Event, FakeNode, Request, Server, until};
use serde_json::{Value, json};

fn call(client: &Client, function: &str, args: &Value) -> Answer {
    client.post(&format!("/rest/v1/rpc/{function}"), args)
}

fn claim(server: &Server, args: &Value) -> Vec<Value> {
    call(&server.node(), "claim_task_devices_for_pc", args).expect(200).as_array().unwrap().clone()
}

/// Q14: a claim by name or id answers rows, confirmed and leased; an unknown PC claims an empty array.
#[test]
fn a_claim_answers_rows() {
    let server = Server::start();
    let _ = FakeNode::enrolled(server.node(), "PC-01", 4);
    let run = server.submit(&run());
    let rows = claim(&server, &json!({"runner_pc_name": "PC-01"}));
    assert_eq!(rows.len(), 1, "one by default");
    let row = &rows[0];
    for (key, value) in [
        ("task_id", json!(run)),
        ("pc_id", json!("PC-01")),
        ("status", json!("running")),
        ("attempt", json!(1)),
        ("max_attempts", json!(3)),
        ("config", json!({"k": 1})),
        ("error", Value::Null),
    ] {
        assert_eq!(row[key], value, "{key}");
    }
    for key in ["lease_expires_at", "created_at", "started_at", "timeout_at"] {
        let time = row[key].as_str().unwrap();
        assert!(time.contains('T') && time.ends_with("+00:00"), "{key} {time}");
    }
    let lease = "SELECT lease_expires_at - started_at FROM task_devices";
    assert_eq!(server.database().count(lease), 300_000, "five minutes by default");
    let rows = claim(&server, &json!({"runner_pc_id": "PC-01", "max_to_claim": 2, "lease_minutes": 1}));
    assert_eq!(rows.len(), 2);
    assert_eq!(claim(&server, &json!({"runner_pc_name": "PC-77", "max_to_claim": 5})), Vec::<Value>::new());
    let words: Vec<String> =
        server.history(row["id"].as_str().unwrap()).into_iter().map(|(_, word)| word).collect();
    assert_eq!(words, ["CREATED", "SENT", "ACKED"], "a claim counts as confirmed");
}

/// Q14: renew says whether there was a lease to prolong.
#[test]
fn a_lease_is_renewed_by_its_holder() {
    let server = Server::start();
    let _ = FakeNode::enrolled(server.node(), "PC-01", 1);
    let _ = FakeNode::enrolled(server.node(), "PC-02", 1);
    let _ = server.submit(&run());
    let row = claim(&server, &json!({"runner_pc_name": "PC-01"})).remove(0)["id"].clone();
    let renew = |row: &Value, pc: &str| {
        let args = json!({"task_device_id": row, "runner_pc_id": pc, "lease_minutes": 60});
        call(&server.node(), "renew_task_device_lease", &args).expect(200)
    };
    assert_eq!(renew(&row, "PC-01"), true);
    assert!(server.database().count("SELECT lease_expires_at - started_at FROM task_devices") >= 3_600_000);
    assert_eq!(renew(&row, "PC-02"), false);
    assert_eq!(renew(&json!("nothing"), "PC-01"), false);
    let _ = call(&server.node(), "complete_task_device", &json!({"p_task_device_id": row})).expect(200);
    assert_eq!(renew(&row, "PC-01"), false);
}

/// Q14: complete and fail answer the row; not the holder's, or not running, is 409.
#[test]
fn rows_are_completed_and_failed() {
    let server = Server::start();
    let _ = FakeNode::enrolled(server.node(), "PC-01", 2);
    let run = server.submit(&run_in("default", 2));
    let rows = claim(&server, &json!({"runner_pc_name": "PC-01", "max_to_claim": 2}));
    let (one, two) = (&rows[0]["id"], &rows[1]["id"]);
    let complete = |args: Value| call(&server.node(), "complete_task_device", &args);
    let fail = |args: Value| call(&server.node(), "fail_or_retry_task_device", &args);
    let _ = complete(json!({"p_task_device_id": one, "p_result": 1, "runner_pc_id": "PC-02"})).problem(409);
    let done = complete(
        json!({"p_task_device_id": one, "p_result": {"b": [1], "a": null}, "runner_pc_id": "PC-01"}),
    );
    let done = done.expect(200);
    assert_eq!(
        (done["status"].as_str(), &done["result"]),
        (Some("completed"), &json!({"a": null, "b": [1]}))
    );
    let _ = complete(json!({"p_task_device_id": one})).problem(409);
    let _ = fail(json!({"p_task_device_id": one})).problem(409);
    let again = fail(json!({"p_task_device_id": two, "p_error": "no screen"})).expect(200);
    assert_eq!((again["status"].as_str(), again["error"].as_str()), (Some("pending"), Some("no screen")));
    let _ = fail(json!({"p_task_device_id": two})).problem(409);
    let second = claim(&server, &json!({"runner_pc_name": "PC-01"}));
    assert_eq!((&second[0]["id"], &second[0]["attempt"]), (two, &json!(2)));
    let last = fail(json!({"p_task_device_id": two, "p_error": "still none"})).expect(200);
    assert_eq!((last["status"].as_str(), last["attempt"].as_u64()), (Some("failed"), Some(2)));
    assert_eq!(server.run(&run)["status"], "success");
    assert_eq!(server.device(last["device_id"].as_str().unwrap())["status"], "ERROR");
    let _ = complete(json!({"p_task_device_id": "nothing"})).problem(404);
}

/// Q14, Q9: the sweep ends what took too long and counts it; a lease that ends costs a retry.
#[test]
fn leases_end_and_the_sweep_counts() {
    let server = Server::start();
    let _ = FakeNode::enrolled(server.node(), "PC-01", 1);
    let run = server.submit(&run());
    let sweep = || call(&server.node(), "fn_timeout_tasks_and_task_devices", &json!({})).expect(200);
    assert_eq!(sweep(), json!({"tasks": 0, "task_devices": 0}));
    let _ = claim(&server, &json!({"runner_pc_name": "PC-01", "lease_minutes": 0.005}));
    until("the lease ends", || {
        let swept = sweep();
        assert!(swept["tasks"].is_u64() && swept["task_devices"].is_u64(), "{swept}");
        (server.rows(&run)[0]["status"] == "pending").then_some(())
    });
    let again = claim(&server, &json!({"runner_pc_name": "PC-01"}));
    assert_eq!(again[0]["attempt"], 2);
    let nothing = server.node().send(Request::new("POST", "/rest/v1/rpc/fn_timeout_tasks_and_task_devices"));
    let _ = nothing.expect(200);
}

/// Q14: a running row of a cancelled run ends cancelled, whatever its holder says.
#[test]
fn a_cancelled_row_ends_cancelled() {
    let server = Server::start();
    let _ = FakeNode::enrolled(server.node(), "PC-01", 1);
    let run = server.submit(&run());
    let row = claim(&server, &json!({"runner_pc_name": "PC-01"})).remove(0)["id"].clone();
    cancel(&server, &run);
    let ended = call(&server.node(), "complete_task_device", &json!({"p_task_device_id": row})).expect(200);
    assert_eq!(ended["status"], "cancelled");
}

/// Q14, I7: a bearer token or `apikey`, of a node or an operator; a node's own secret for its own rows only.
#[test]
fn the_rpcs_are_open_to_nodes_and_operators() {
    let server = Server::start();
    for pc in ["PC-01", "PC-02"] {
        let _ = FakeNode::enrolled(server.node(), pc, 1);
    }
    let _ = server.submit(&run());
    let request = || Request::new("POST", "/rest/v1/rpc/claim_task_devices_for_pc");
    let args = json!({"runner_pc_name": "PC-01", "max_to_claim": 0});
    for token in [server.node_secret(), server.admin_token()] {
        let _ = server.anonymous().send(request().header("apikey", &token).json(&args)).expect(200);
        let both = request().header("apikey", &token).header("authorization", &format!("Bearer {token}"));
        let _ = server.anonymous().send(both.json(&args)).expect(200);
        let _ = call(&server.anonymous().with_token(&token), "claim_task_devices_for_pc", &args).expect(200);
    }
    let _ = server.anonymous().send(request().json(&args)).problem(401);
    let _ = server.anonymous().send(request().header("apikey", "wrong").json(&args)).problem(401);
    let secret = server.admin().post("/api/nodes/PC-01/secret", &json!({})).expect(200)["secret"].clone();
    let own = server.anonymous().with_token(secret.as_str().unwrap());
    let other = claim(&server, &json!({"runner_pc_name": "PC-02"})).remove(0)["id"].clone();
    assert_eq!(call(&own, "claim_task_devices_for_pc", &json!({"runner_pc_name": "PC-02"})).status, 403);
    assert_eq!(call(&own, "complete_task_device", &json!({"p_task_device_id": other})).status, 403);
    let mine =
        call(&own, "claim_task_devices_for_pc", &json!({"runner_pc_name": "PC-01"})).expect(200)[0]["id"]
            .clone();
    let _ = call(&own, "complete_task_device", &json!({"p_task_device_id": mine})).expect(200);
}

/// Q14, I9: problems under /rest/v1 carry PostgREST's members beside their own.
#[test]
fn problems_speak_postgrest_too() {
    let server = Server::start();
    let _ = FakeNode::enrolled(server.node(), "PC-01", 1);
    let check = |answer: Answer, status: u16| {
        let problem = answer.problem(status);
        assert!(problem["code"].is_string() && problem["message"].is_string(), "{problem}");
        assert!(problem.get("details").is_some() && problem.get("hint").is_some(), "{problem}");
        problem
    };
    let claim = "claim_task_devices_for_pc";
    let bad =
        check(call(&server.node(), claim, &json!({"runner_pc_name": "PC-01", "max_to_claim": -1})), 422);
    assert!(bad["message"].as_str().unwrap().contains("max_to_claim"), "{bad}");
    check(call(&server.node(), claim, &json!({})), 422);
    check(call(&server.node(), claim, &json!({"runner_pc_name": "PC-01", "colour": 1})), 422);
    check(call(&server.anonymous(), claim, &json!({})), 401);
    check(call(&server.node(), "complete_task_device", &json!({"p_task_device_id": "x"})), 404);
    check(
        server.node().send(Request::new("POST", "/rest/v1/rpc/complete_task_device").bytes(b"{".to_vec())),
        400,
    );
    check(call(&server.node(), "no_such_function", &json!({})), 404);
    check(server.node().get("/rest/v1/rpc/complete_task_device"), 405);
    check(server.node().get("/rest/v1/task_devices"), 404);
}

/// Q14, N2: a row that was pulled can be ended over RPC, and one that was claimed by a callback.
#[test]
fn pulls_and_rpcs_speak_of_the_same_rows() {
    let server = Server::start();
    let node = FakeNode::enrolled(server.node(), "PC-01", 2);
    let run = server.submit(&run());
    let job = node.job();
    let claimed = claim(&server, &json!({"runner_pc_name": "PC-01"})).remove(0);
    let _ = call(&server.node(), "complete_task_device", &json!({"p_task_device_id": job["task_id"]}))
        .expect(200);
    let as_job = json!({"task_id": claimed["id"], "run_id": claimed["task_id"], "device_id": claimed["device_id"],
        "runtime_handle": "x"});
    node.tell(&Event::succeeded("PC-01", &as_job).without_fence());
    assert_eq!(server.run(&run)["status"], "success");
}
