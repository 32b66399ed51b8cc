//! Events that devices, simulation workers and the pool work off: the thread through all contracts (C17).

use crate::seen_by_slack;
use muster_tests::{
    Agent, Court, Dice, PoolWorker, SLACK_TOKEN, Server, SimWorker, Slack, SlackPost, wait_until,
};
use serde_json::{Value, json};
use std::thread;
use tempfile::TempDir;

/// A server with one worker of each kind, and a court that hands its tasks to them.
struct Realm {
    server: Server,
    court: Court,
    slack: Slack,
    _agent: Agent,
    _sim_worker: SimWorker,
    _pool_worker: PoolWorker,
    _directory: TempDir,
}

impl Realm {
    fn start() -> Self {
        let server = Server::with_fixed_port(&[
            ("MUSTER_SIMULATION__HEARTBEAT_MS", "200"),
            // With such short heartbeats a worker counts as lost on a busy machine: that is not held against it (S8).
            ("MUSTER_SIMULATION__QUARANTINE_AFTER", "1000"),
            ("MUSTER_SIMULATION__MAX_ATTEMPTS", "1000"),
        ]);
        let (url, directory) = (server.anonymous().url(), tempfile::tempdir().unwrap());
        server.add_user("olga", &["WORKER_OWNER"]);
        let program = ["--heartbeat", "0.5", "--exec", "sh", "-c", PROGRAM];
        let pool_worker = PoolWorker::start(&url, directory.path(), "worker-a", &program);
        let agent = Agent::start(&server, "PC-01", "simulated:5");
        let sim_worker = SimWorker::start(&server, "W1", &["--fps", "200"]);
        wait_until("five devices", || {
            let answer = server.admin().get("/api/pcs/PC-01");
            answer.status == 200 && answer.json()["idle_count"] == 5
        });
        let slack = Slack::start();
        let settings = format!("[envoy]\nto = \"slack\"\nbase_url = \"{}\"\n", slack.url());
        let mut court = Court::with(&settings)
            .env("SLACK_BOT_TOKEN", SLACK_TOKEN)
            .env("MUSTER_SERVER", &url)
            .env("MUSTER_TOKEN", &server.admin_token());
        for (general, kind, executor) in GENERALS {
            let manifest = format!("subscribes = [\"{kind}\"]\nexecutor = \"{executor}\"\nretries = 0\n");
            court = court.general(general, &manifest);
        }
        court.start(&["run"]);
        Self {
            server,
            court,
            slack,
            _agent: agent,
            _sim_worker: sim_worker,
            _pool_worker: pool_worker,
            _directory: directory,
        }
    }

    /// Hands in one event for each fleet, as files; gives their ids.
    fn hand_in(&self, round: u64) -> Vec<String> {
        let payloads = [
            json!({"workflow_id": WORKFLOW, "params": {"simulate": {"step_ms": 40}}}),
            json!({"totalFrames": 60, "framesPerTask": 20, "scenario": {"fps": 30}, "cameras": ["front"]}),
            json!({"payload": {"number": round}, "priority": 5}),
        ];
        let file = |((general, kind, _), payload): (&(&str, &str, &str), Value)| {
            let id = format!("evt-{general}-{round}");
            let event = json!({"id": id, "type": kind, "source": "tests", "repo": null, "payload": payload,
                "priority": "normal", "created_at": "2026-02-07T10:00:00Z", "status": "pending"});
            let bytes = event.to_string().into_bytes();
            self.court.hand_in("queue/events/pending", &format!("{id}.json"), &bytes);
            id
        };
        GENERALS.iter().zip(payloads).map(file).collect()
    }

    /// Waits for the end of what became of an event, and for its post; gives the summary.
    fn summary(&self, event: &str) -> String {
        let task = self.court.finished(event);
        let result = self.court.result(&task);
        assert_eq!(result["status"], "success", "{event}: {result}");
        let summary = result["summary"].as_str().unwrap().to_owned();
        let told = seen_by_slack(&self.slack, &task, "✅");
        assert!(told.text.contains(&summary), "{told:?}");
        self.assert_in_thread(&task, &told);
        summary
    }

    /// The task's thread begins with a post of its first message. A court that dies between the post and the note of it
    /// posts once more (C18), and then the later post is the thread: which of them it is stands in the thread's file.
    fn assert_in_thread(&self, task: &Value, told: &SlackPost) {
        let posts = self.slack.posts_of(id(task));
        let start = &posts[0].id;
        let mut starts = posts.iter().filter(|post| post.id == *start && post.thread_ts.is_none());
        let thread_ts = told.thread_ts.as_deref().unwrap();
        assert!(starts.any(|post| post.ts == thread_ts), "{told:?} is in none of {posts:?}");
        let thread = self.court.file("state/threads", id(task)).unwrap();
        assert_eq!(thread["thread_ts"], thread_ts);
    }

    /// Number of runs, sessions and jobs on the server.
    fn counts(&self) -> [i64; 3] {
        ["tasks", "sim_sessions", "pool_jobs"]
            .map(|table| self.server.database().count(&format!("SELECT count(*) FROM {table}")))
    }
}

/// C17: an event file makes a run on devices, one a session and one a job of the pool; the outcome of each comes back
/// as a result, and as a post in the task's thread.
#[test]
fn each_fleet_does_its_task() {
    let realm = Realm::start();
    let events = realm.hand_in(1);
    let [run, session, job] = [0, 1, 2].map(|which: usize| realm.summary(&events[which]));
    assert!(run.ends_with(": 5 completed, 0 failed, 0 cancelled"), "{run}");
    assert!(session.ends_with(": completed, 60 of 60 frames"), "{session}");
    assert_eq!(job, "did 1", "the summary of the job's output");
    assert_eq!(realm.counts(), [1, 1, 1]);
}

/// C17, C14: what a fleet fails at, and what the server refuses, is told with the reason.
#[test]
fn failures_and_refusals_come_back() {
    let realm = Realm::start();
    let simulate = json!({"step_ms": 1, "fail_step": "UPLOAD"});
    let run = json!({"workflow_id": WORKFLOW, "params": {"simulate": simulate}, "max_attempts": 1});
    for (kind, payload, expected) in [
        ("fleet.run", run, "0 completed, 5 failed"),
        ("fleet.session", json!({"totalFrames": "many"}), "refused"),
        ("fleet.job", json!({"nothing": true}), "refused"),
    ] {
        let event = realm.court.emit(&json!({"type": kind, "source": "tests", "payload": payload}));
        let task = realm.court.finished(&event);
        let result = realm.court.result(&task);
        assert_eq!(result["status"], "failed", "{result}");
        assert!(result["error"].as_str().unwrap().contains(expected), "{result}");
        assert!(seen_by_slack(&realm.slack, &task, "❌").text.contains(expected));
    }
}

/// C17, C6: the court and the server are killed in the midst of it, each and both; still each event is one run, one
/// session or one job, and ends well.
#[test]
fn no_kill_doubles_what_a_fleet_does() {
    let mut dice = Dice::announced();
    let mut realm = Realm::start();
    let mut events = Vec::new();
    for round in 1..=6 {
        events.extend(realm.hand_in(round));
        thread::sleep(dice.millis(0, 600));
        if round % 3 != 1 {
            realm.court.kill9(None);
        }
        if round % 3 != 2 {
            realm.server.kill9();
            thread::sleep(dice.millis(0, 200));
        }
        if round % 3 != 1 {
            realm.court.start(&["run"]);
        }
        if round % 3 != 2 {
            realm.server.restart();
        }
    }
    for event in &events {
        let _ = realm.summary(event);
    }
    assert_eq!(realm.counts(), [6, 6, 6]);
    let doctor = realm.court.output(&["doctor"]);
    assert!(doctor.code == 0, "{}", doctor.stdout);
}

fn id(task: &Value) -> &str {
    task["id"].as_str().unwrap()
}

/// General, type and executor.
const GENERALS: [(&str, &str, &str); 3] =
    [("devices", "fleet.run", "run"), ("frames", "fleet.session", "session"), ("pool", "fleet.job", "job")];
const WORKFLOW: &str = "login_settings_screenshot_v1";
/// Says which job it did, as people read it.
const PROGRAM: &str = r#"sleep 0.2; printf '{"summary": "did %s"}' "$(tr -dc 0-9)""#;
