//! GitHub, Jira and a program, as the sentinel watches them (C18).

use muster_tests::{Court, Reply, StandIn, Visit, until, wait_until};
use serde_json::{Value, json};
use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

/// C7, C8, C13, C18: what GitHub, Jira and a program show becomes tasks, each once however often it is shown; the second
/// look at GitHub is conditional; none of the programs sees a token.
#[test]
fn sources_feed_the_court() {
    let looks = Arc::new(AtomicUsize::new(0));
    let (counted, seen) = (Arc::clone(&looks), Arc::new(AtomicUsize::new(0)));
    let unchanged = Arc::clone(&seen);
    let github = StandIn::start(move |visit| {
        counted.fetch_add(1, Ordering::SeqCst);
        if visit.header("if-none-match") == Some("\"v1\"") {
            unchanged.fetch_add(1, Ordering::SeqCst);
        }
        hub(visit)
    });
    let jira = StandIn::start(site);
    let mut court =
        court(&github, &jira).env("JIRA_EMAIL", "me@example.com").env("SLACK_BOT_TOKEN", "xoxb-of-tests");
    court.start(&["run"]);
    let pr = court.finished("evt-github-42-2026-02-07T10:00:00Z");
    assert_eq!(
        (&pr["type"], &pr["payload"]["pr_number"]),
        (&json!("github.pr.review_requested"), &json!("7"))
    );
    let event = court.file("queue/events/completed", "evt-github-42-2026-02-07T10:00:00Z").unwrap();
    assert_eq!(event["repo"], "o/r");
    let ticket = court.finished("evt-jira-QP-1-20260207100000");
    assert_eq!(
        (&ticket["type"], &ticket["payload"]["ticket_key"]),
        (&json!("jira.ticket.updated"), &json!("QP-1"))
    );
    let build = court.finished("evt-ci-1");
    assert_eq!((&build["type"], &build["payload"]["tokens"]), (&json!("ci.failed"), &json!("none")));
    wait_until("GitHub is asked again, conditionally", || seen.load(Ordering::SeqCst) > 0);
    until("the program is run again", || (court.file("queue/events/completed", "evt-ci-3")).map(|_| ()));
    court.kill9(None);
    court.start(&["run"]);
    let before = looks.load(Ordering::SeqCst);
    wait_until("GitHub is asked after a restart", || looks.load(Ordering::SeqCst) > before);
    court.terminate();
    for event in ["evt-github-42-2026-02-07T10:00:00Z", "evt-jira-QP-1-20260207100000", "evt-ci-1"] {
        assert_eq!(tasks_of(&court, event), 1, "{event}");
    }
    assert_eq!(
        court.names("rejected").len(),
        2,
        "the line that is no event, once: {:?}",
        court.names("rejected")
    );
    assert!(!court.log().contains("of-tests"), "no token is logged");
}

/// C18, C23: a source that redirects, answers rubbish, or too much, brings nothing and harms nothing; the others go on.
#[test]
fn hostile_sources_bring_nothing() {
    let trap = Arc::new(AtomicUsize::new(0));
    let caught = Arc::clone(&trap);
    let elsewhere = StandIn::start(move |_| {
        caught.fetch_add(1, Ordering::SeqCst);
        Reply::json(200, &json!([]))
    });
    let away = elsewhere.url();
    let github = StandIn::start(move |_| Reply::json(302, &json!({})).header("location", &away));
    let jira = StandIn::start(|_| Reply::json(200, &json!({"issues": "x".repeat(5 << 20)})));
    let mut court = court(&github, &jira);
    court.start(&["run"]);
    let _ = court.finished("evt-ci-2");
    wait_until("both are complained of", || {
        let log = court.log();
        log.contains("github") && log.contains("jira")
    });
    assert!(court.is_alive());
    assert_eq!(trap.load(Ordering::SeqCst), 0, "a redirect was followed");
    let doctor = court.output(&["doctor"]);
    assert!(doctor.code == 0, "{}", doctor.stdout);
}

/// A court that watches a GitHub, a Jira and a program.
fn court(github: &StandIn, jira: &StandIn) -> Court {
    let settings = format!(
        "[sentinel.github]\nbase_url = \"{}\"\npoll_s = 1\n[sentinel.jira]\nbase_url = \"{}\"\njql = \"project = QP\"\n\
         poll_s = 1\n[sentinel.command.ci]\ncommand = [\"sh\", \"soldiers/source.sh\"]\npoll_s = 1\n",
        github.url(),
        jira.url()
    );
    let court =
        Court::with(&settings).env("GITHUB_TOKEN", "gh-of-tests").env("JIRA_API_TOKEN", "jira-of-tests");
    court.general("all", MANIFEST).soldier("source", SOURCE).soldier("all", SOLDIER)
}

fn tasks_of(court: &Court, event: &str) -> usize {
    let states = ["pending", "in_progress", "completed"].map(|state| format!("queue/tasks/{state}"));
    let all = states.iter().flat_map(|place| court.files(place));
    all.filter(|(_, task)| task["event_id"] == event).count()
}

/// GitHub with one notification.
fn hub(visit: &Visit) -> Reply {
    if visit.header("authorization") != Some("Bearer gh-of-tests") {
        return Reply::json(401, &json!({"message": "Bad credentials"}));
    }
    if visit.header("if-none-match") == Some("\"v1\"") {
        return Reply::json(304, &Value::Null).header("etag", "\"v1\"");
    }
    let notification = json!({"id": "42", "reason": "review_requested", "updated_at": "2026-02-07T10:00:00Z",
        "subject": {"title": "A change", "type": "PullRequest", "url": "https://api.github.com/repos/o/r/pulls/7"},
        "repository": {"full_name": "o/r"}});
    Reply::json(200, &json!([notification])).header("etag", "\"v1\"")
}

/// Jira in the cloud with one issue.
fn site(visit: &Visit) -> Reply {
    if visit.path() != "/rest/api/3/search/jql" || visit.header("authorization").is_none() {
        return Reply::json(410, &json!({}));
    }
    let fields =
        json!({"summary": "s", "status": {"name": "Open"}, "updated": "2026-02-07T19:00:00.000+0900"});
    Reply::json(200, &json!({"issues": [{"key": "QP-1", "fields": fields}], "isLast": true}))
}

const MANIFEST: &str = "subscribes = [\"github.pr.review_requested\", \"jira.ticket.updated\", \"ci.failed\"]\n\
    command = [\"sh\", \"soldiers/all.sh\"]\n";
const SOLDIER: &str = r#"[ -z "${GITHUB_TOKEN-}${JIRA_API_TOKEN-}${JIRA_EMAIL-}${SLACK_BOT_TOKEN-}" ] || exit 1
echo "{\"task_id\": \"$MUSTER_TASK_ID\", \"status\": \"success\", \"summary\": \"\"}" >"$MUSTER_RESULT_PATH.part"
mv "$MUSTER_RESULT_PATH.part" "$MUSTER_RESULT_PATH"
"#;
/// Prints one more event each time, and always a line that is none.
const SOURCE: &str = r#"echo x >>state/runs
tokens=none
[ -z "${GITHUB_TOKEN-}${JIRA_API_TOKEN-}${JIRA_EMAIL-}${SLACK_BOT_TOKEN-}" ] || tokens=leaked
echo 'this is no event'
for n in $(seq "$(wc -l <state/runs)"); do
  echo "{\"id\": \"evt-ci-$n\", \"type\": \"ci.failed\", \"payload\": {\"tokens\": \"$tokens\"}}"
done
"#;
