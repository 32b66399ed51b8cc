//! Who leads, as the status of sessions names it.

use muster_pg_harness::Cluster as Database;
use muster_tests::{Client, ClusterSetup, Request};

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

/// The leader that a server names to a caller who gives it a name.
fn named(client: &Client, host: &str) -> String {
    let answer = client.insist(&Request::new("GET", "/api/v1/status").header("host", host)).expect(200);
    answer["leader"].as_str().unwrap().to_owned()
}
