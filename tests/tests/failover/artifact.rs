//! A file that is uploaded to two leaders, and its link.

use muster_pg_harness::Cluster as Database;
use muster_tests::{Answer, Client, ClusterSetup, FakeNode, Request};
use serde_json::json;

/// N21, S18: an upload through any server goes on where it stood after another one has taken over, at the address that
/// the first had handed out; and the file outlives both.
#[test]
fn an_upload_outlives_its_leader() {
    let database = Database::start();
    let mut cluster = ClusterSetup::new(&database.fresh_database(), 2).start();
    let node = FakeNode::enrolled(cluster.node(), "PC-01", 1);
    let _ = cluster.admin().post("/api/runs", &json!({"workflow_id": "w", "params": {}})).expect(201);
    let job = node.job();
    let ask = json!({"node_id": "PC-01", "task_id": job["task_id"], "attempt": job["attempt"],
        "lease_token": job["lease"]["token"], "kind": "screenshot", "content_type": "image/png", "size": SIZE});
    let offer = cluster.node().post("/api/nodes/artifacts", &ask).expect(200);
    let address = offer["upload_url"].as_str().unwrap().split_once("/api/uploads/").unwrap().1.to_owned();
    let content: Vec<u8> = (0..=u8::MAX).cycle().take(SIZE).collect();
    let nobody = cluster.anonymous();
    assert!(put(&nobody, &address, (&content, 0, SIZE / 2)).status < 300);
    let before = cluster.settle();
    cluster.servers[before.index].kill9();
    let uploaded = put(&nobody, &address, (&content, SIZE / 2, SIZE)).expect(201);
    assert_eq!(uploaded["size"], SIZE);
    let file = format!("/api/artifacts/{}", offer["storage_path"].as_str().unwrap());
    let fetched = cluster.admin().insist(&Request::new("GET", &file));
    assert_eq!((fetched.status, fetched.body), (200, content));
    assert!(cluster.leader_after(0).epoch > before.epoch);
}

/// N21, S18: a link opens at every server, whichever leads: the servers share the key.
#[test]
fn a_link_opens_at_every_server() {
    let database = Database::start();
    let mut cluster = ClusterSetup::new(&database.fresh_database(), 2).start();
    let node = FakeNode::enrolled(cluster.node(), "PC-01", 1);
    let _ = cluster.admin().post("/api/runs", &json!({"workflow_id": "w", "params": {}})).expect(201);
    let job = node.job();
    let ask = json!({"node_id": "PC-01", "task_id": job["task_id"], "attempt": job["attempt"],
        "lease_token": job["lease"]["token"], "kind": "screenshot", "content_type": "image/png", "size": 5});
    let offer = cluster.node().post("/api/nodes/artifacts", &ask).expect(200);
    let target = |url: &str| format!("/api/{}", offer[url].as_str().unwrap().split_once("/api/").unwrap().1);
    let (upload, link) = (target("upload_url"), target("public_url"));
    let put = Request::new("PUT", &upload).header("content-type", "image/png").bytes(b"hello".to_vec());
    let _ = cluster.anonymous().insist(&put).expect(201);
    let opens = |client: &Client| {
        let answer = client.insist(&Request::new("GET", &link));
        assert_eq!((answer.status, &answer.body[..]), (200, &b"hello"[..]));
        assert_eq!(client.insist(&Request::new("GET", &format!("{link}0"))).status, 403);
    };
    let before = cluster.settle();
    for index in 0..2 {
        opens(&cluster.only(index));
    }
    cluster.servers[before.index].kill9();
    assert!(cluster.leader_after(before.epoch).epoch > before.epoch);
    opens(&cluster.without(before.index));
    cluster.servers[before.index].restart();
    cluster.settle();
    for index in 0..2 {
        opens(&cluster.only(index));
        assert!(!cluster.servers[index].log().contains(link.split_once("signature=").unwrap().1));
    }
}

/// Sends a part of the content, again until somebody takes it.
fn put(client: &Client, address: &str, (content, from, to): (&[u8], usize, usize)) -> Answer {
    let range = format!("bytes {from}-{}/{}", to - 1, content.len());
    let request = Request::new("PUT", &format!("/api/uploads/{address}")).header("content-type", "image/png");
    client.insist(&request.header("content-range", &range).bytes(content[from..to].to_vec()))
}

const SIZE: usize = 100_000;
