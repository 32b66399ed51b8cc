//! Servers that come and go in good order.

use crate::load::{flows, under_load};
use muster_pg_harness::Cluster as Database;
use muster_tests::{Client, ClusterSetup, Postgres, ServerSetup, Stopwatch, load::jobs, until};
use std::{collections::BTreeSet, thread};

/// S18: of servers that start at once on an empty database one leads, all use the secrets that one of them made, and the
/// tables are made once.
#[test]
fn servers_start_at_once_on_an_empty_database() {
    let database = Database::start();
    let url = database.fresh_database();
    let start = |_| {
        let setup = ServerSetup::new(&[]).args(&["--store", &url]);
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
    let mut cluster = ClusterSetup::new(&database.fresh_database(), 2).start();
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
