//! What is copied is there, and goes on.

use crate::{backup, finished, migrate, refused, restore, seen, wait_for, work};
use muster_pg_harness::Cluster;
use muster_tests::{Server, muster_command};
use serde_json::{Value, json};
use std::process::Stdio;

/// A backup of a running server, restored into a database or a directory, is that server: its work, its users, its
/// secrets (I6), whatever secrets were there before; and its epochs are new to every worker (S18).
#[test]
fn a_backup_brings_a_server_back() {
    let mut server = Server::start();
    let run = work(&server);
    let (place, data) = (tempfile::tempdir().unwrap(), server.data());
    let (first, second) = (place.path().join("first.backup"), place.path().join("second.backup"));
    let embedded = ["--data", data.to_str().unwrap()];
    let told = finished(&mut backup(&first, embedded));
    assert!(told["rows"].as_u64() > Some(10), "{told}");
    refused(&mut backup(&first, embedded), 4, "is there already");
    refused(&mut restore(&first, embedded), 1, "in use");
    let (before, token) = (seen(&server, &run), server.admin_token());
    let _ = server.terminate();
    refused(&mut restore(&first, embedded), 4, "not empty");

    let url = Cluster::shared().fresh_database();
    let told = finished(&mut restore(&first, ["--store", &url]));
    assert_eq!((&told["verified"], &told["secrets"]), (&json!(true), &json!(5)));
    refused(&mut restore(&first, ["--store", &url]), 4, "not empty");
    let _ = finished(&mut backup(&second, ["--store", &url]));

    std::fs::remove_dir_all(&data).unwrap();
    std::fs::create_dir(&data).unwrap();
    std::fs::write(data.join("admin-token"), "what-somebody-else-made").unwrap();
    let told = finished(&mut restore(&second, embedded));
    server.restart();
    assert_eq!(server.admin_token(), token, "tokens go with the tables that know them");
    let epoch = server.anonymous().get("/healthz").epoch();
    assert_eq!(epoch, told["epoch"].as_u64().map(|epoch| epoch + 1));
    assert!(epoch > Some(1_000_000), "no worker has seen that many: {epoch:?}");
    assert_eq!(seen(&server, &run), before);
}

/// A server at work moves to a database: what it took while it was being copied is there, too, and it goes on with the
/// same secrets; the old directory is not served again by mistake.
#[test]
fn a_server_moves_to_a_database() {
    let mut server = Server::start();
    let run = work(&server);
    let (url, data) = (Cluster::shared().fresh_database(), server.data());
    let mut moving = migrate(&data, &url).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_for(&mut moving, "stop the server now");
    // Taken after the first copy was made.
    let late = json!({"workflow_id": "late", "scope": {"pcs": ["PC-01"]}});
    let late = server.admin().post("/api/runs", &late).expect(201)["run_id"].clone();
    let (before, token) = (seen(&server, &run), server.admin_token());
    let _ = server.terminate();
    let moved = moving.wait_with_output().unwrap();
    assert!(moved.status.success(), "{}", String::from_utf8_lossy(&moved.stderr));
    let told: Value = serde_json::from_slice(&moved.stdout).unwrap();
    assert_eq!(told["verified"], true);
    assert!(
        told["copied_in_the_pause"].as_u64() > Some(0) && told["copied_while_serving"].as_u64() > Some(0)
    );

    refused(
        muster_command().args(["serve", "--listen", "127.0.0.1:0", "--data"]).arg(&data),
        1,
        "were moved to",
    );
    refused(&mut migrate(&data, &url), 1, "were moved to");
    server.set("MUSTER_SERVER__STORE", &url);
    server.restart();
    let admin = server.anonymous().with_token(&token);
    let _ = admin.get(&format!("/api/runs/{}", late.as_str().unwrap())).expect(200);
    assert_eq!(seen(&server, &run), before);
    let other = Server::start();
    refused(&mut migrate(&other.data(), &url), 4, "has served from that database");
}
