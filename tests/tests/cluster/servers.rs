//! Several servers on one database: who leads, what followers answer, uploads and links at any of them.

use crate::{flows, under_load};
use muster_pg_harness::Cluster as Database;
use muster_tests::{
    Answer, Client, ClusterSetup, Court, FakeNode, Postgres, Request, ServerSetup, Stopwatch, load::jobs,
    until, wait_until,
};
use serde_json::json;
use std::{collections::BTreeSet, ops::Range, thread};

/// S7, S18: each server names the leader by the URL that the leader advertises, whatever the caller's `Host` says; after a
/// takeover it is the next leader's.
#[test]
fn the_status_names_the_leader_of_all() {
    let database = Database::start();
    let mut cluster = ClusterSetup::new(&database.fresh_database(), 2).start();
    let token = cluster.servers[0].admin_token();
    let urls: Vec<String> = cluster.servers.iter().map(|server| server.anonymous().url()).collect();
    let before = cluster.settle();
    for index in 0..2 {
        for host in [urls[index].trim_start_matches("http://"), "6.6.6.6", "localhost:1"] {
            assert_eq!(named(&cluster.only(index).with_token(&token), host), urls[before.index], "{index}");
        }
    }
    cluster.servers[before.index].kill9();
    let after = cluster.leader_after(before.epoch);
    assert_eq!(named(&cluster.only(after.index).with_token(&token), "6.6.6.6"), urls[after.index]);
    cluster.servers[before.index].restart();
    let settled = cluster.settle();
    assert_eq!(named(&cluster.only(before.index).with_token(&token), "6.6.6.6"), urls[settled.index]);
}

/// A lease that no slow machine lets run out: whoever leads goes on to.
const NO_TAKEOVER: (&str, &str) = ("MUSTER_LEADERSHIP__LEASE_MS", "600000");

/// The leader that a server names to a caller who gives it a name.
fn named(client: &Client, host: &str) -> String {
    let answer = client.insist(&Request::new("GET", "/api/v1/status").header("host", host)).expect(200);
    answer["leader"].as_str().unwrap().to_owned()
}

/// N21, S18: an upload through any server goes on where it stood after another one has taken over, at the address that
/// the first had handed out, and the file outlives both. Its link opens at every server, whichever leads: they share the key.
#[test]
fn an_upload_and_its_link_outlive_their_leader() {
    let database = Database::start();
    let mut cluster = ClusterSetup::new(&database.fresh_database(), 2).start();
    let node = FakeNode::enrolled(cluster.node(), "PC-01", 1);
    let _ = cluster.admin().post("/api/runs", &json!({"workflow_id": "w", "params": {}})).expect(201);
    let offer =
        cluster.node().post("/api/nodes/artifacts", &node.upload_request(&node.job(), SIZE)).expect(200);
    let target = |url: &str| format!("/api/{}", offer[url].as_str().unwrap().split_once("/api/").unwrap().1);
    let (address, link) = (target("upload_url"), target("public_url"));
    let content: Vec<u8> = (0..=u8::MAX).cycle().take(SIZE).collect();
    let nobody = cluster.anonymous();
    assert!(put(&nobody, &address, &content, 0..SIZE / 2).status < 300);
    let before = cluster.settle();
    cluster.servers[before.index].kill9();
    assert_eq!(put(&nobody, &address, &content, SIZE / 2..SIZE).expect(201)["size"], SIZE);
    assert!(cluster.leader_after(before.epoch).epoch > before.epoch);
    let opens = |client: &Client| {
        let answer = client.insist(&Request::new("GET", &link));
        assert!(answer.status == 200 && answer.body == content, "{}", answer.status);
        assert_eq!(client.insist(&Request::new("GET", &format!("{link}0"))).status, 403);
    };
    opens(&cluster.without(before.index));
    cluster.servers[before.index].restart();
    cluster.settle();
    for index in 0..2 {
        opens(&cluster.only(index));
        assert!(!cluster.servers[index].log().contains(link.split_once("signature=").unwrap().1));
    }
}

/// Sends a part of the content, again until somebody takes it.
fn put(client: &Client, address: &str, content: &[u8], part: Range<usize>) -> Answer {
    let range = format!("bytes {}-{}/{}", part.start, part.end - 1, content.len());
    let request = Request::new("PUT", address).header("content-type", "image/png");
    client.insist(&request.header("content-range", &range).bytes(content[part].to_vec()))
}

const SIZE: usize = 100_000;

/// C14, I7: it shows its court to its admin token, takes no answer that would stand in no audit log, and says both.
#[test]
fn who_follows_shows_a_court_and_takes_no_answers() {
    let court = Court::as_shipped();
    let database = Database::start();
    let home = court.home();
    let settings = [("MUSTER_COURT__DIRECTORY", home.to_str().unwrap()), NO_TAKEOVER];
    let cluster = ClusterSetup::new(&database.fresh_database(), 2).with(&settings).start();
    let otto = cluster.user("otto", &["OPERATOR"]);
    let follower = 1 - cluster.settle().index;
    let at_follower = |token: &str| cluster.only(follower).with_token(token);
    let admin = at_follower(&cluster.servers[follower].admin_token());
    wait_until("it follows", || admin.get("/readyz").text().contains("following"));
    assert!(admin.get("/api/court").is_success());
    let path = "/api/court/tasks/task-20260101-001/reply";
    let refused = admin.post(path, &json!({"text": "Ada"})).problem(503)["detail"].to_string();
    assert!(refused.contains("answer at http://") && refused.contains("muster court reply"), "{refused}");
    let unknown = at_follower(otto.token().unwrap()).get("/api/court").problem(503)["detail"].to_string();
    assert!(unknown.contains("does not lead; only its admin token"), "{unknown}");
}

/// S18: of servers that start at once on an empty database one leads, all use the secrets that one of them made, and the
/// tables are made once.
#[test]
fn servers_start_at_once_on_an_empty_database() {
    let database = Database::start();
    let url = database.fresh_database();
    let start = |_| {
        let setup = ServerSetup::new(&[NO_TAKEOVER]).args(&["--store", &url]);
        thread::spawn(move || setup.start())
    };
    let starting: Vec<_> = (0..4).map(start).collect();
    let servers: Vec<_> = starting.into_iter().map(|server| server.join().unwrap()).collect();
    let tables = Postgres::connect(&url).unwrap();
    let token = tables.rows("SELECT value FROM muster.server_secrets WHERE name LIKE 'admin%'").unwrap();
    let [token] = token[0].clone().try_into().unwrap();
    let mut standings = BTreeSet::new();
    for server in &servers {
        let answer = until("it answers", || {
            let answer = server.anonymous().with_token(&token).get("/api/runs");
            (answer.status != 503).then_some(answer)
        });
        let _ = answer.expect(200);
        standings.insert(standing(&server.anonymous()));
    }
    assert_eq!(standings.len(), 2, "one leads, and all others follow the same: {standings:?}");
}

/// S18, I1: a leader that is asked to end gives leadership back first, so that nobody waits for its silence; nothing that
/// was acknowledged is lost.
#[test]
fn a_leader_that_ends_hands_over() {
    let database = Database::start();
    let mut cluster = ClusterSetup::new(&database.fresh_database(), 2).with(&[NO_TAKEOVER]).start();
    let before = cluster.settle();
    let mut leader = cluster.servers.remove(before.index);
    let ledger = under_load(&cluster, |ledger| {
        let watch = Stopwatch::start();
        assert!(leader.terminate().success());
        let held = format!("SELECT count(*) FROM leader WHERE node IS NOT NULL AND epoch = {}", before.epoch);
        assert_eq!(cluster.database().count(&held), 0, "it went without a word");
        let after = cluster.leader_after(before.epoch);
        println!("handed over in {} ms", watch.elapsed().as_millis());
        assert_eq!(after.epoch, before.epoch + 1);
        flows(ledger);
    });
    jobs::check_all(&cluster.database(), &ledger);
}

fn standing(client: &Client) -> String {
    client.get("/readyz").text()
}

/// I7, S18: every server gives the pages by itself, also while nobody leads; snapshots are the leader's, whoever is asked.
#[test]
fn a_follower_gives_the_pages_and_asks_for_snapshots() {
    let database = Database::start();
    let mut cluster = ClusterSetup::new(&database.fresh_database(), 2).with(&[NO_TAKEOVER]).start();
    let leader = cluster.settle();
    let follower = 1 - leader.index;
    let token = cluster.servers[0].admin_token();
    let _ = FakeNode::enrolled(cluster.node(), "PC-01", 3);
    let seen = until("the follower brings the leader's fleet", || {
        let fleet = cluster.only(follower).with_token(&token).get("/api/fleet").expect(200);
        (fleet["nodes"][0]["devices"].as_array()?.len() == 3).then_some(fleet)
    });
    assert_eq!(seen["nodes"][0]["node_id"], "PC-01");
    let overview = cluster.only(follower).with_token(&token).get("/api/overview").expect(200);
    assert_eq!(overview["leader"]["address"], cluster.servers[leader.index].anonymous().url());
    assert_eq!(
        (&overview["leader"]["store"], &overview["leader"]["epoch"]),
        (&"postgres".into(), &leader.epoch.into())
    );
    cluster.servers[leader.index].kill9();
    for path in ["/", "/ui/index.html"] {
        assert_eq!(cluster.only(follower).get(path).status, 200, "{path}");
    }
}
