//! Answers of people, as events (C8, C14).

use crate::Document;

/// The event of an answer that was given in a thread at a moment, both as Slack names posts.
pub(crate) fn reply_event(thread_ts: &str, ts: &str, payload: &Document) -> Document {
    let [thread, moment] = [thread_ts, ts].map(|ts| ts.replace('.', "-"));
    slack_event(&format!("evt-slack-reply-{thread}-{moment}"), ("slack.thread.reply", "high"), payload)
}

/// An event that people made at Slack.
pub(crate) fn slack_event(id: &str, (kind, priority): (&str, &str), payload: &Document) -> Document {
    let mut event = Document::new();
    event
        .set_text("id", id)
        .set_text("type", kind)
        .set_text("source", "slack")
        .set_raw("repo", "null")
        .set_object("payload", payload)
        .set_text("priority", priority);
    event
}
