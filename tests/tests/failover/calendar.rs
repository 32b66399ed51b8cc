//! Schedules whose slots come due while nobody leads.

use muster_tests::{Cluster, Postgres, Request, until};
use serde_json::json;

/// Schedules whose own slots are years away, of which one more is made due with every takeover.
#[derive(Default)]
pub(crate) struct Calendar {
    due: Vec<String>,
}

impl Calendar {
    /// Makes a schedule and has its slot come before whoever leads next; the one that leads now does not know.
    pub(crate) fn make_one_due(&mut self, cluster: &Cluster) {
        let run = json!({"workflow_id": "w", "params": {}, "queue": "calendar", "title": "nightly",
            "scope": {"devices": ["PC-01-d1"]}});
        let body = json!({"cron": "0 0 29 2 *", "timezone": "Asia/Seoul", "missed": "once", "run": run});
        let key = format!("schedule-{}", self.due.len());
        let request = Request::new("POST", "/api/schedules").header("Idempotency-Key", &key).json(&body);
        let made = cluster.admin().insist(&request);
        assert!(made.is_success(), "{}", made.text());
        let id = made.json()["schedule_id"].as_str().unwrap().to_owned();
        // A commit like any other to those who read ahead: what they have read is outdated.
        let sql = format!(
            "BEGIN; UPDATE muster.fence SET commits = commits + 1;
             UPDATE muster.schedules SET next_at = 1 WHERE id = '{id}'; COMMIT"
        );
        Postgres::connect(cluster.url()).unwrap().rows(&sql).unwrap();
        self.due.push(id);
    }

    /// Holds all takeovers to Q17: each slot made one run.
    pub(crate) fn check(&self, cluster: &Cluster) {
        let database = cluster.database();
        for id in &self.due {
            let runs = || database.count(&format!("SELECT count(*) FROM tasks WHERE schedule_id = '{id}'"));
            until("the slot makes its run", || (runs() > 0).then_some(()));
            assert_eq!(runs(), 1, "the slot of {id} made more than one run");
        }
    }
}
