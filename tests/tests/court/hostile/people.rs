//! Questions and answers, if those who ask or answer mean no good.

use super::{Target, holds, results, text, words};
use muster_tests::until;
use serde_json::{Value, json};

/// C14, C23: hostile questions are shown as they are, and hostile answers reach the soldier as they are.
#[test]
fn answers() {
    let mut target = Target::open();
    // What an argument can hold: no NUL.
    for hostile in words::TEXTS.iter().filter(|text| !text.contains('\0')) {
        let result = json!({"status": "needs_human", "summary": "", "question": hostile});
        let payload = json!({"raw": result.to_string()});
        let task = target.court.finished(&target.court.emit(&results::event(&payload)));
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
    let task =
        target.court.finished(&target.court.emit(&results::event(&json!({"raw": result.to_string()}))));
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
        let task = target.court.finished(&target.court.emit(&results::event(&payload)));
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
