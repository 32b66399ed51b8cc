//! Cut network lines between servers, database and agents.

use crate::load::{flows, under_load};
use muster_pg_harness::{Cluster as Database, Lodging};
use muster_tests::{
    Agent, AgentSetup, Cluster, ClusterSetup, Network, Place, Request, ServerSetup, Standing, in_own_network,
    load::jobs, until,
};
use serde_json::{Value, json};
use std::path::Path;

/// Two servers, a database and an agent, each in a place of its own. What runs is ended before the network is.
struct Lines {
    cluster: Cluster,
    _database: Database,
    network: Network,
}

impl Lines {
    fn lay() -> Self {
        let network = Network::with(&["a", "b", "database", "agent"]);
        let place = network.place("database");
        let lodging = Lodging {
            namespace: Some(place.namespace().to_owned()),
            address: Some(place.address().to_string()),
            below: None,
        };
        let database = Database::start_at(lodging, &[]);
        let places = SERVERS.map(|name| network.place(name));
        let setup = ClusterSetup::placed(&database.fresh_database(), &places);
        Self { cluster: setup.with(&SETTINGS).start(), _database: database, network }
    }

    fn agent(&self) -> Agent {
        let secret = self.cluster.servers[0].node_secret();
        let setup = AgentSetup::new(&self.cluster.anonymous().url(), "PC-01").devices("simulated:2");
        setup.env("NODE_AGENT_SHARED_SECRET", &secret).place(self.network.place("agent")).start()
    }

    /// Submits a run and waits until it has ended.
    fn run_to_its_end(&self) {
        let run = self.submit();
        self.wait_for(&run);
    }

    fn submit(&self) -> String {
        self.submit_with(&json!({}))
    }

    /// One whose steps take a while.
    fn submit_slow(&self) -> String {
        self.submit_with(&json!({"simulate": {"step_ms": 500}}))
    }

    fn submit_with(&self, params: &Value) -> String {
        let body = json!({"workflow_id": "login_settings_screenshot_v1", "params": params});
        let answer = self.cluster.admin().post("/api/runs", &body).expect(201);
        answer["run_id"].as_str().unwrap().to_owned()
    }

    fn wait_for(&self, run: &str) {
        let look = Request::new("GET", &format!("/api/runs/{run}"));
        until("the run ends well", || {
            let shown = self.cluster.admin().insist(&look).expect(200);
            (shown["status"] == "success").then_some(())
        });
    }
}

/// S18, I1: a leader that is cut off from the database leads no more and says so; another one takes its place, and the
/// first follows it once the line is mended. Nothing that was acknowledged is lost.
#[test]
fn a_leader_without_the_database_is_replaced() {
    in_own_network(|| {
        let lines = Lines::lay();
        let cluster = &lines.cluster;
        let ledger = under_load(cluster, |ledger| {
            let before = cluster.settle();
            lines.network.cut(SERVERS[before.index], "database");
            let after = cluster.leader_after(before.epoch);
            assert_ne!(after.index, before.index);
            until("it knows that it leads no more", || {
                (cluster.standing(before.index) == Standing::Lost).then_some(())
            });
            let refused = cluster.only(before.index).with_token(&cluster.servers[0].admin_token());
            let refused = refused.post("/api/runs", &json!({"workflow_id": "w", "params": {}}));
            assert!(refused.problem(503)["detail"].is_string() && refused.header("retry-after").is_some());
            flows(ledger);
            lines.network.mend(SERVERS[before.index], "database");
            assert_eq!(cluster.settle(), after, "a leader was replaced that did its work");
        });
        jobs::check_all(&cluster.database(), &ledger);
    });
}

/// S18: a follower that does not reach the leader says so, and what it is asked waits or is refused; the leader goes on,
/// and nobody takes its place.
#[test]
fn a_follower_without_the_leader_says_so() {
    in_own_network(|| {
        let lines = Lines::lay();
        let cluster = &lines.cluster;
        let ledger = under_load(cluster, |ledger| {
            let leader = cluster.settle();
            let follower = cluster.only(1 - leader.index).with_token(&cluster.servers[0].admin_token());
            let list = || follower.send(Request::new("GET", "/api/runs"));
            let _ = list().expect(200);
            lines.network.cut(SERVERS[0], SERVERS[1]);
            let refused = until("it is refused", || Some(list()).filter(|answer| answer.status != 200));
            assert!(refused.problem(503)["detail"].is_string() && refused.header("retry-after").is_some());
            flows(ledger);
            lines.network.mend(SERVERS[0], SERVERS[1]);
            until("it is brought to the leader again", || (list().status == 200).then_some(()));
            assert_eq!(cluster.settle(), leader, "a leader was replaced that did its work");
        });
        jobs::check_all(&cluster.database(), &ledger);
    });
}

/// S18, N19: an agent that does not reach the leader has its reports brought to it by another server; one that reaches
/// nobody keeps them until it does.
#[test]
fn an_agent_without_the_leader_asks_another_server() {
    in_own_network(|| {
        let lines = Lines::lay();
        let agent = lines.agent();
        lines.run_to_its_end();
        let leader = lines.cluster.settle();
        lines.network.cut("agent", SERVERS[leader.index]);
        lines.run_to_its_end();
        let begun = lines.submit_slow();
        until("it is at work", || (agent.status()["running"].as_u64() > Some(0)).then_some(()));
        lines.network.cut("agent", SERVERS[1 - leader.index]);
        let open = lines.submit();
        until("a report is kept, since nobody answers", || {
            let status = agent.status();
            (status["state"] == "no answer" && status["spooled"].as_u64() > Some(0)).then_some(())
        });
        for server in SERVERS {
            lines.network.mend("agent", server);
        }
        lines.wait_for(&begun);
        lines.wait_for(&open);
        until("the spool is empty", || (agent.status()["spooled"] == 0).then_some(()));
        assert_eq!(lines.cluster.settle(), leader, "a leader was replaced that did its work");
    });
}

const SERVERS: [&str; 2] = ["a", "b"];

/// Short, so that silence is noticed soon.
const SETTINGS: [(&str, &str); 1] = [("MUSTER_LEADERSHIP__LEASE_MS", "1500")];

/// What is sent between two places that are cut off from each other is dropped without a word, each way; all others
/// hear each other as before, and so do those two once it is mended.
#[test]
fn a_cut_drops_what_passes_between_two() {
    in_own_network(|| {
        let network = Network::with(&["a", "b", "c"]);
        let server = ServerSetup::new(&[]).place(network.place("a")).start();
        let url = format!("{}/healthz", server.anonymous().url());
        let reaches = |from: &str| curl(network.place(from), &url);
        assert_eq!([reaches("b"), reaches("c")], [FINE, FINE]);
        network.cut("a", "b");
        assert_eq!([reaches("b"), reaches("c")], [TIMED_OUT, FINE]);
        assert_eq!(server.anonymous().get("/healthz").status, 200);
        network.mend("b", "a");
        assert_eq!([reaches("b"), reaches("c")], [FINE, FINE]);
    });
}

/// How curl ends that asks for a page from somewhere.
fn curl(from: &Place, url: &str) -> i32 {
    let mut curl = from.command(Path::new("curl"));
    let output = curl.args(["--silent", "--show-error", "--max-time", "2", url]).output().unwrap();
    output.status.code().unwrap()
}

const FINE: i32 = 0;
const TIMED_OUT: i32 = 28;
