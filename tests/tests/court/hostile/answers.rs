//! Hostile results of soldiers and hostile answers of people.

use super::{Target, holds, raws, text, words};
use muster_tests::until;
use serde_json::{Value, json};

/// C11, C12, C16, C23: members of a result as hostile texts and wrong values: the task ends, with a valid result,
/// and what people read of it is text.
#[test]
fn results() {
    let mut target = Target::open();
    let (plain, mut events) = (words::result(), Vec::new());
    let members = plain.as_object().unwrap().keys().map(String::as_str);
    for (nth, member) in members.chain(["task_id"]).enumerate() {
        // A third of all for each member, each value for a third of the members: soldiers take their time.
        for raw in raws().iter().skip(nth % 3).step_by(3) {
            let value = String::from_utf8(words::with(&plain, member, raw)).unwrap();
            // What does not fit in an event is told to the soldier in a word.
            let short = if value.len() > 500_000 { json!({"large": member}) } else { json!({"raw": value}) };
            let mut event = words::event(&format!("evt-{}", events.len()));
            (event["type"], event["payload"]) = (json!("hostile.answer"), short);
            let id = text(&event, "id").to_owned();
            target.hand_in("queue/events/pending", &id, event.to_string().as_bytes());
            events.push(id);
        }
    }
    for event in events {
        let task = target.court.finished(&event);
        assert!(["completed", "failed"].contains(&text(&task, "status")), "{task}");
        let result = target.court.result(&task);
        assert_eq!(result["task_id"], task["id"]);
    }
    target.is_unharmed();
}

/// C11, C15, C23: a result's texts are carried to people as they are, each where it belongs.
#[test]
fn texts_of_results_reach_people_verbatim() {
    let mut target = Target::open();
    for hostile in words::TEXTS {
        let result = json!({"status": "failed", "summary": hostile, "error": hostile, "notify_channel": hostile,
            "proclamation": {"channel": hostile, "message": hostile}});
        let task = target.court.finished(&target.court.emit(&event(&json!({"raw": result.to_string()}))));
        let id = text(&task, "id");
        target.settle();
        let sent = target.court.files("queue/messages/sent");
        let told = |task: &str| {
            let of = |(_, message): &&(String, Value)| {
                message["context"]["task_id"] == task && message["type"] == "notification"
            };
            sent.iter().find(of).map(|(_, message)| message).unwrap()
        };
        let news = told(id);
        assert_eq!(news["content"], format!("❌ {id}\n{hostile}\n{hostile}"));
        assert_eq!(news["channel"], hostile);
        let proclamation = told(&format!("proclamation-{id}"));
        assert_eq!((&proclamation["content"], &proclamation["channel"]), (&json!(hostile), &json!(hostile)));
    }
    target.is_unharmed();
}

/// C16, C23: a soldier leaves a link, a pipe, a directory, or rubbish in the place of its result.
#[test]
fn results_that_are_none() {
    let mut target = Target::open();
    for kind in ["link", "pipe", "directory", "rubbish", "zeros", "nothing", "beside"] {
        let task = target.court.finished(&target.court.emit(&event(&json!({"leave": kind}))));
        let result = target.court.result(&task);
        assert_eq!(result["status"], "failed", "{kind}: {result}");
        assert!(!text(&result, "error").contains("root:"), "{result}");
    }
    target.is_unharmed();
}

pub(super) fn event(payload: &Value) -> Value {
    json!({"type": "hostile.answer", "source": "tests", "payload": payload})
}

/// Leaves whatever its payload says; an answer it keeps as it came.
pub(super) const ANSWER: &str = r#"import json, os, shutil
path, result = os.environ["MUSTER_TASK_PATH"], os.environ["MUSTER_RESULT_PATH"]
task_id = os.environ["MUSTER_TASK_ID"]
with open(path, encoding="utf-8") as file:
    task = json.load(file)
payload = task["payload"]

def leave(data):
    with open(result + ".part", "wb") as file:
        file.write(data)
    os.rename(result + ".part", result)

name = '{"task_id": "%s", ' % task_id
if task["type"] == "resume":
    shutil.copy(path, "seen/" + task_id)
    leave((name + '"status": "success", "summary": "went on"}').encode())
elif "raw" in payload:
    raw = payload["raw"]
    leave((raw if '"task_id"' in raw else name + raw[1:]).encode("utf-8", "surrogatepass"))
elif "large" in payload:
    leave((name + '"status": "success", "summary": "", "%s": "%s"}' % (payload["large"], "x" * (10 << 20))).encode())
else:
    kind = payload["leave"]
    if kind == "link":
        os.symlink("/etc/passwd", result)
    elif kind == "pipe":
        os.mkfifo(result)
    elif kind == "directory":
        os.makedirs(result + "/below")
    elif kind == "rubbish":
        leave(b"\xff\xfe{" + b"[" * 100000)
    elif kind == "zeros":
        leave(bytes(10 << 20))
    elif kind == "beside":
        os.rename(path, path + ".gone") if os.path.exists(path + ".no") else None
        leave(b'{"task_id": "task-20260207-001", "status": "success", "summary": ""}')
"#;

/// C14, C23: hostile questions are shown as they are, and hostile answers reach the soldier as they are.
#[test]
fn answers() {
    let mut target = Target::open();
    // What an argument can hold: no NUL.
    for hostile in words::TEXTS.iter().filter(|text| !text.contains('\0')) {
        let result = json!({"status": "needs_human", "summary": "", "question": hostile});
        let payload = json!({"raw": result.to_string()});
        let task = target.court.finished(&target.court.emit(&event(&payload)));
        let inbox = target.court.output(&["inbox", "--json"]);
        let inbox: Value = serde_json::from_slice(&inbox.stdout).unwrap();
        assert_eq!(inbox["questions"][0]["question"], *hostile);
        let said = target.court.output(&["reply", "--", text(&task, "id"), hostile]);
        assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
        let event = String::from_utf8(said.stdout).unwrap();
        let seen: Value = serde_json::from_slice(&target.seen(event.trim_end())).unwrap();
        assert_eq!((text(&seen, "type"), &seen["payload"]["text"]), ("resume", &json!(hostile)));
    }
    let result = json!({"status": "needs_human", "summary": "", "question": "Long?"});
    let task = target.court.finished(&target.court.emit(&event(&json!({"raw": result.to_string()}))));
    let long = "x".repeat(60_000);
    assert!(!target.court.output(&["reply", text(&task, "id"), &long]).status.success());
    assert_eq!(target.court.count("state/questions/open"), 1);
    target.is_unharmed();
}

/// C14, C23: an answer in a thread is carried as it is; what Slack says of it leads nowhere else.
#[test]
fn answers_in_threads() {
    let mut target = Target::open();
    for hostile in [words::TEXTS[0], words::TEXTS[9], words::TEXTS[11]] {
        let result = json!({"status": "needs_human", "summary": "", "question": hostile});
        let payload = json!({"raw": result.to_string()});
        let task = target.court.finished(&target.court.emit(&event(&payload)));
        let thread = until("the question is asked", || {
            let posts = target.slack.posts_of(text(&task, "id"));
            posts.iter().find(|post| post.text.starts_with('❓')).and_then(|post| post.thread_ts.clone())
        });
        let ts = target.slack.say(&thread, hostile);
        let event = format!("evt-slack-reply-{thread}-{ts}").replace('.', "-");
        assert!(holds(&target.seen(&event), json!(hostile).to_string().as_bytes()));
    }
    target.is_unharmed();
}

/// C14, C23: events that claim to be answers, to questions that nobody asked.
#[test]
fn forged_answers() {
    let mut target = Target::open();
    for hostile in words::TEXTS {
        for context in [
            json!({"task_id": hostile, "target_general": hostile}),
            json!({"task_id": hostile, "target_general": "carry"}),
            json!({"task_id": {"deep": [hostile]}, "target_general": ["carry"]}),
        ] {
            let payload =
                json!({"text": hostile, "channel": hostile, "thread_ts": hostile, "reply_context": context});
            let event = json!({"type": "slack.thread.reply", "source": hostile, "payload": payload, "priority": "high"});
            let said = target.court.output_with(&["emit"], event.to_string().as_bytes());
            assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
        }
    }
    target.settle();
    assert_eq!(target.court.names("state/questions/answered"), Vec::<String>::new());
    target.is_unharmed();
}
