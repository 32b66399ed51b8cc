//! Who may be which role, and how roles end (C5, C21).

use crate::said;
use muster_tests::{Court, until};
use serde_json::{Value, json};
use std::fs;

/// C5, I4: a second king is refused, and `court run` as a whole while any role is held; whoever is killed lets go.
#[test]
fn a_role_has_one_holder() {
    let mut court = Court::with("").general("slow", MANIFEST).soldier("slow", "exit 0");
    court.start(&["king"]);
    for args in [&["king"][..], &["run"]] {
        let refused = court.output(args);
        assert_eq!(refused.status.code(), Some(4), "{args:?}");
        assert!(said(&refused.stderr).contains("the king of this court is running already, as process"));
    }
    // What was refused as a whole holds nothing.
    for args in [&["envoy"][..], &["chamberlain"], &["sentinel"], &["general", "slow"]] {
        court.start(args);
        assert_eq!(court.output(args).status.code(), Some(4), "{args:?}");
    }
    court.kill9(Some(&["king"]));
    assert_eq!(court.output(&["run"]).status.code(), Some(4), "the others are still held");
    court.kill9(None);
    court.start(&["run"]);
    for args in [&["king"][..], &["general", "slow"]] {
        assert_eq!(court.output(args).status.code(), Some(4), "{args:?}");
    }
    assert_eq!(court.output(&["general", "nobody"]).status.code(), Some(5));
    assert!(court.terminate().iter().all(std::process::ExitStatus::success));
}

/// C16, C21: asked to end, all roles do, and their soldiers with all their children; the next life takes the task up.
#[test]
fn a_stop_ends_soldiers_and_loses_nothing() {
    let mut court = Court::with("").general("slow", MANIFEST).soldier("slow", SLOW);
    court.start(&["run"]);
    let event = court.emit(&json!({"type": "slow.work", "source": "tests", "payload": {}}));
    until("the soldier is at work", || court.path("begun").exists().then_some(()));
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
    until("the soldier is at work", || court.path("begun").exists().then_some(()));
    court.kill9(Some(&["general", "slow"]));
    until("the soldier is gone", || court.soldiers().is_empty().then_some(()));
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
    until("the alert is told", || court.stdout(&["run"]).contains("Host health is red").then_some(()));
    let mut court = Court::as_shipped().section("chamberlain", busy).section("king", "obey_health = true");
    court.start(&["run"]);
    until("the host is red", || is_red(&court));
    let id = court.emit(&hello);
    let doctor = said(&court.output(&["doctor", "--json"]).stdout);
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
        let reason = said(&refused.stderr);
        assert_eq!(refused.status.code(), Some(2), "{reason}");
        let name = path.trim_start_matches("generals/").trim_end_matches(".toml");
        assert!(reason.contains(expected) && reason.contains(name), "{reason}");
    }
    let nowhere = Court::nowhere();
    assert_eq!(nowhere.output(&["run"]).status.code(), Some(2));
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
        assert_ne!(refused.status.code(), Some(0));
        assert!(said(&refused.stderr).contains(variable), "{}", said(&refused.stderr));
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
