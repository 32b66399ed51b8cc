//! Commands and roles: what they say, who may be which role, and how all of them end (I4, C5, C12, C16b, C18, C21).

use muster_tests::{Court, until, wait_until};
use serde_json::{Value, json};
use std::{
    fs::{self, File},
    path::Path,
    time::{Duration, SystemTime},
};

/// C8, C18, I4: `emit` prints the id; a repeat is dropped with 0 wherever the first one is, and what is refused ends
/// with 4 and leaves nothing behind.
#[test]
fn emit_takes_drops_and_refuses() {
    let mut court = Court::as_shipped();
    let event = json!({"id": "evt-1", "type": "greet.hello", "source": "me", "payload": {"name": "Ada"}});
    let emit = |court: &Court, event: &Value| {
        let output = court.output_with(&["emit"], event.to_string().as_bytes());
        (output.code, output.stdout, output.stderr)
    };
    assert_eq!(emit(&court, &event), (0, "evt-1\n".to_owned(), String::new()));
    let (code, id, reason) = emit(&court, &event);
    assert_eq!((code, id.as_str()), (0, "evt-1\n"));
    assert!(reason.contains("handed in before"), "{reason}");
    court.start(&["run"]);
    assert_eq!(court.result(&court.finished("evt-1"))["summary"], "Hello, Ada!");
    assert_eq!(emit(&court, &event).0, 0, "over, and still known");
    for (member, wrong) in [
        ("id", json!("../x")),
        ("type", json!("")),
        ("payload", json!([])),
        ("priority", json!("urgent")),
        ("created_at", json!("2026-02-30T10:00:00Z")),
        ("status", json!("new")),
    ] {
        let mut refused = event.clone();
        refused["id"] = json!("evt-2");
        refused[member] = wrong;
        let (code, id, reason) = emit(&court, &refused);
        assert_eq!((code, id.as_str()), (4, ""), "{member}");
        assert!(reason.contains(member), "{reason}");
    }
    wait_until("nothing is under way", || court.count("queue/events/pending") == 0);
    assert_eq!(court.names("queue/events/completed"), ["evt-1.json"]);
    assert_eq!(court.names("rejected"), Vec::<String>::new());
}

/// C10, C16b, I4: `send` writes any message, from its argument or standard input, and refuses what is none.
#[test]
fn send_writes_messages() {
    let court = Court::with("[king]\ndefault_channel = \"news\"\n");
    let plain = court.output(&["send", "Hear!"]);
    let id = plain.stdout.trim_end().to_owned();
    let message = court.file("queue/messages/pending", &id).unwrap();
    assert_eq!(
        (&message["type"], &message["channel"], &message["urgency"], &message["content"]),
        (&json!("report"), &json!("news"), &json!("normal"), &json!("Hear!"))
    );
    let args =
        ["send", "--type", "thread_update", "--channel", "c", "--urgency", "urgent", "--task", "task-1", "-"];
    let sent = court.output_with(&args, b"two\nlines");
    let message = court.file("queue/messages/pending", sent.stdout.trim_end()).unwrap();
    assert_eq!(
        (&message["type"], &message["urgency"], &message["content"], &message["context"]["task_id"]),
        (&json!("thread_update"), &json!("urgent"), &json!("two\nlines"), &json!("task-1"))
    );
    assert_eq!(court.output(&["send", "--channel", "", "x"]).code, 4);
    assert_eq!(court.output(&["send", "--task", "../x", "x"]).code, 2);
    assert_eq!(court.output(&["send", "--type", "shout", "x"]).code, 2);
}

/// C21, I4: `doctor` tells the story of a task, by its own id and its event's; 5 for what nobody knows; 1 where
/// something is stuck, with what to do; 0 where nothing is.
#[test]
fn doctor_finds_and_tells() {
    let mut court = Court::as_shipped();
    let stuck = json!({"id": "evt-1", "type": "greet.hello", "source": "me", "payload": {}});
    let _ = court.emit(&stuck);
    age(&court.path("queue/events/pending/evt-1.json"), 120);
    let look = |court: &Court| {
        let output = court.output(&["doctor", "--json"]);
        let found: Value = serde_json::from_str(&output.stdout).unwrap();
        (output.code, found)
    };
    let (code, found) = look(&court);
    assert_eq!((code, &found["stuck"][0]["id"]), (1, &json!("evt-1")), "{found:#}");
    assert!(court.output(&["doctor"]).stdout.contains("evt-1"));
    court.start(&["run"]);
    let task = court.finished("evt-1");
    wait_until("all is told", || court.count("queue/messages/pending") == 0);
    assert_eq!(look(&court).0, 0);
    assert!(court.output(&["doctor"]).stdout.starts_with("nothing is stuck"));
    for id in ["evt-1", task["id"].as_str().unwrap()] {
        let story = court.output(&["doctor", id, "--json"]);
        let story: Value = serde_json::from_str(&story.stdout).unwrap();
        assert_eq!((&story["task_id"], &story["event_id"]), (&task["id"], &json!("evt-1")));
        assert!(story["entries"].as_array().unwrap().len() >= 5, "{story:#}");
        assert_eq!(court.output(&["doctor", id]).code, 0);
    }
    for unknown in ["task-20260101-001", "../x"] {
        assert_eq!(court.output(&["doctor", unknown]).code, 5, "{unknown}");
    }
}

/// C21, I4: `prune --dry-run` removes nothing; `prune` removes what is over and old, and nothing that is open.
#[test]
fn prune_removes_what_is_old() {
    let mut court = Court::as_shipped();
    court.start(&["run"]);
    let event = json!({"id": "evt-1", "type": "greet.hello", "source": "me", "payload": {}});
    let task = court.finished(&court.emit(&event));
    let asking = json!({"id": "evt-2", "type": "greet.hello", "source": "me", "payload": {"ask": true}});
    let open = court.finished(&court.emit(&asking));
    wait_until("all is told", || court.count("queue/messages/pending") == 0);
    for place in [
        "queue/events/completed",
        "queue/tasks/completed",
        "queue/messages/sent",
        "state/results",
        "state/questions/open",
    ] {
        for name in court.names(place) {
            age(&court.path(place).join(name), 40 * 86_400);
        }
    }
    let prune = |args: &[&str]| {
        let output = court.output(args);
        assert_eq!(output.code, 0, "{}", output.stderr);
        serde_json::from_str::<Value>(&output.stdout).unwrap()
    };
    let planned = prune(&["prune", "--dry-run", "--json"]);
    assert_eq!(planned["dry_run"], true);
    let result = format!("{}.json", task["id"].as_str().unwrap());
    assert!(court.names("state/results").contains(&result), "a dry run removes nothing");
    let removed = prune(&["prune", "--json"]);
    assert_eq!(removed["removed"], planned["removed"]);
    assert!(!court.names("state/results").contains(&result));
    let kept = open["id"].as_str().unwrap();
    assert!(
        court.file("state/results", kept).is_some() && court.file("state/questions/open", kept).is_some()
    );
    assert_eq!(prune(&["prune", "--json"])["files"], json!([]));
}

/// C12, I4: the schemas are printed as JSON; other words are not understood.
#[test]
fn schemas_are_printed() {
    let court = Court::nowhere();
    for kind in ["event", "task", "message", "result"] {
        let output = court.output(&["schema", kind]);
        let schema: Value = serde_json::from_str(&output.stdout).unwrap();
        assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
        assert_eq!(output.code, 0);
    }
    assert_eq!(court.output(&["schema", "king"]).code, 2);
    assert_eq!(court.output(&["doctor"]).code, 2, "there is no court");
}

/// Makes a file look as if it had been written so long ago.
#[allow(clippy::disallowed_methods, reason = "the age of a file is told by the clock of the machine")]
fn age(path: &Path, seconds: u64) {
    let file = File::options().append(true).open(path).unwrap();
    file.set_modified(SystemTime::now() - Duration::from_secs(seconds)).unwrap();
    assert!(fs::metadata(path).unwrap().is_file());
}

/// C5, I4: a second king is refused, and `court run` as a whole while any role is held; whoever is killed lets go.
#[test]
fn a_role_has_one_holder() {
    let mut court = Court::with("").general("slow", MANIFEST).soldier("slow", "exit 0");
    court.start(&["king"]);
    for args in [&["king"][..], &["run"]] {
        let refused = court.output(args);
        assert_eq!(refused.code, 4, "{args:?}");
        assert!(refused.stderr.contains("the king of this court is running already, as process"));
    }
    // A start that was rejected as a whole holds no role.
    for args in [&["envoy"][..], &["chamberlain"], &["sentinel"], &["general", "slow"]] {
        court.start(args);
        assert_eq!(court.output(args).code, 4, "{args:?}");
    }
    court.kill9(Some(&["king"]));
    assert_eq!(court.output(&["run"]).code, 4, "the others are still held");
    court.kill9(None);
    court.start(&["run"]);
    for args in [&["king"][..], &["general", "slow"]] {
        assert_eq!(court.output(args).code, 4, "{args:?}");
    }
    assert_eq!(court.output(&["general", "nobody"]).code, 5);
    assert!(court.terminate().iter().all(std::process::ExitStatus::success));
}

/// C16, C21: asked to end, all roles do, and their soldiers with all their children; the next life takes the task up.
#[test]
fn a_stop_ends_soldiers_and_loses_nothing() {
    let mut court = Court::with("").general("slow", MANIFEST).soldier("slow", SLOW);
    court.start(&["run"]);
    let event = court.emit(&json!({"type": "slow.work", "source": "tests", "payload": {}}));
    wait_until("the soldier is at work", || court.path("begun").exists());
    assert!(court.soldiers().len() >= 2, "the soldier and its child: {:?}", court.soldiers());
    let ended = court.terminate();
    assert!(ended.iter().all(std::process::ExitStatus::success), "{ended:?}");
    assert_eq!(court.soldiers(), Vec::<String>::new());
    assert_eq!(court.count("queue/tasks/in_progress"), 1);
    fs::write(court.path("may-end"), "").unwrap();
    court.start(&["run"]);
    let task = court.finished(&event);
    let result = court.result(&task);
    assert_eq!(result["status"], "success");
    let attempts: Vec<_> = result["attempts"].as_array().unwrap().iter().collect();
    assert_eq!(attempts.len(), 2, "{result}");
    assert_eq!(
        (&attempts[0]["status"], &attempts[0]["error"]),
        (&json!("killed"), &json!("the general ended"))
    );
    assert_eq!(task["messages"].as_object().unwrap().len(), 1, "it was begun once: {task}");
}

/// C16, C21: killed, the general leaves no soldier behind either.
#[test]
fn soldiers_do_not_outlive_their_general() {
    let mut court = Court::with("").general("slow", MANIFEST).soldier("slow", SLOW);
    court.start(&["king"]);
    court.start(&["chamberlain"]);
    court.start(&["general", "slow"]);
    let event = court.emit(&json!({"type": "slow.work", "source": "tests", "payload": {}}));
    wait_until("the soldier is at work", || court.path("begun").exists());
    court.kill9(Some(&["general", "slow"]));
    wait_until("the soldier is gone", || court.soldiers().is_empty());
    fs::write(court.path("may-end"), "").unwrap();
    court.start(&["general", "slow"]);
    assert_eq!(court.result(&court.finished(&event))["status"], "success");
}

/// C19: by default a court takes every event, however busy the host is; the chamberlain still writes its report and alerts
/// people. A king that obeys holds the event back, and the doctor says why.
#[test]
fn a_busy_host_delays_only_a_king_that_obeys() {
    let busy = "yellow_percent = 0\norange_percent = 0\nred_percent = 0";
    let hello =
        json!({"id": "evt-1", "type": "greet.hello", "source": "me", "payload": {}, "priority": "high"});
    let is_red = |court: &Court| {
        let report = fs::read(court.path("state/resources.json")).ok()?;
        serde_json::from_slice::<Value>(&report).ok().filter(|report| report["health"] == "red").map(|_| ())
    };
    let mut court = Court::as_shipped().section("chamberlain", busy);
    court.start(&["run"]);
    until("the host is red", || is_red(&court));
    let task = court.finished(&court.emit(&hello));
    assert_eq!(court.result(&task)["status"], "success");
    wait_until("the alert is told", || court.stdout(&["run"]).contains("Host health is red"));
    let mut court = Court::as_shipped().section("chamberlain", busy).section("king", "obey_health = true");
    court.start(&["run"]);
    until("the host is red", || is_red(&court));
    let id = court.emit(&hello);
    let doctor = court.output(&["doctor", "--json"]).stdout;
    assert!(doctor.contains("1 events wait because the host's health is red"), "{doctor}");
    assert!(court.file("queue/events/pending", &id).is_some());
}

/// C0, I4: a configuration that cannot be meant keeps all from starting, with the file and the key.
#[test]
fn a_wrong_configuration_starts_nothing() {
    for (path, text, expected) in [
        ("court.toml", "[kign]\n", "kign"),
        ("court.toml", "[envoy]\nto = \"pigeon\"\n", "pigeon"),
        ("court.toml", "[chamberlain]\nevery_s = 101\n", "every_s"),
        ("generals/slow.toml", "subscribes = [\"slow.work\"]\n", "command"),
        ("generals/other.toml", MANIFEST, "slow subscribe to slow.work"),
    ] {
        let court = Court::with("").general("slow", MANIFEST);
        court.write(path, text);
        let refused = court.output(&["run"]);
        let reason = refused.stderr;
        assert_eq!(refused.code, 2, "{reason}");
        let name = path.trim_start_matches("generals/").trim_end_matches(".toml");
        assert!(reason.contains(expected) && reason.contains(name), "{reason}");
    }
    let nowhere = Court::nowhere();
    assert_eq!(nowhere.output(&["run"]).code, 2);
    assert!(!nowhere.home().exists(), "a wrong --home makes no court");
}

/// C0, C18, I4: what needs a token does not start without it, and says which.
#[test]
fn a_missing_token_is_named() {
    for (settings, role, variable) in [
        ("[envoy]\nto = \"slack\"\n", "envoy", "SLACK_BOT_TOKEN"),
        ("[sentinel.github]\n", "sentinel", "GITHUB_TOKEN"),
        ("[sentinel.jira]\nbase_url = \"http://127.0.0.1:9\"\njql = \"x\"\n", "sentinel", "JIRA_API_TOKEN"),
    ] {
        let refused = Court::with(settings).output(&[role]);
        assert_ne!(refused.code, 0);
        assert!(refused.stderr.contains(variable), "{}", refused.stderr);
    }
}

const MANIFEST: &str = "subscribes = [\"slow.work\"]\ncommand = [\"sh\", \"soldiers/slow.sh\"]\n";
/// Has a child that would live on, and ends only when it may.
const SLOW: &str = r#"setsid sleep 600 &
touch begun
while [ ! -e may-end ]; do sleep 0.05; done
echo "{\"task_id\": \"$MUSTER_TASK_ID\", \"status\": \"success\", \"summary\": \"\"}" >"$MUSTER_RESULT_PATH.part"
mv "$MUSTER_RESULT_PATH.part" "$MUSTER_RESULT_PATH"
"#;
