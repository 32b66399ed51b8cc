//! A court on a host whose server does not lead.

use muster_pg_harness::Cluster as Database;
use muster_tests::{ClusterSetup, Court, until};
use serde_json::json;

/// C14, I7: it shows its court to its admin token, takes no answer that would stand in no audit log, and says both.
#[test]
fn who_follows_shows_a_court_and_takes_no_answers() {
    let court = Court::as_shipped();
    let database = Database::start();
    let home = court.home();
    let settings = [("MUSTER_COURT__DIRECTORY", home.to_str().unwrap())];
    let cluster = ClusterSetup::new(&database.fresh_database(), 2).with(&settings).start();
    let otto = cluster.user("otto", &["OPERATOR"]);
    let follower = 1 - cluster.settle().index;
    let at_follower = |token: &str| cluster.only(follower).with_token(token);
    let admin = at_follower(&cluster.servers[follower].admin_token());
    until("it follows", || admin.get("/readyz").text().contains("following").then_some(()));
    assert!(admin.get("/api/court").is_success());
    let path = "/api/court/tasks/task-20260101-001/reply";
    let refused = admin.post(path, &json!({"text": "Ada"})).problem(503)["detail"].to_string();
    assert!(refused.contains("answer at http://") && refused.contains("muster court reply"), "{refused}");
    let unknown = at_follower(otto.token().unwrap()).get("/api/court").problem(503)["detail"].to_string();
    assert!(unknown.contains("does not lead; only its admin token"), "{unknown}");
}
