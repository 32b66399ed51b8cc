//! Two servers, of which one follows: I7, I8, S18.

use muster_pg_harness::Cluster as Database;
use muster_tests::{ClusterSetup, FakeNode, until};

/// I7, S18: every server gives the pages by itself, also while nobody leads; snapshots are the leader's, whoever is asked.
#[test]
fn a_follower_gives_the_pages_and_asks_for_snapshots() {
    let database = Database::start();
    let mut cluster = ClusterSetup::new(&database.fresh_database(), 2).start();
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
