//! One of Slack's messages, as far as an envoy reads it.

use super::replies::is_ts;
use serde_json::Value;

/// What a person said.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Said {
    pub(super) text: String,
    pub(super) ts: String,
    pub(super) user: String,
    pub(super) channel: String,
    /// The thread, where it was said in one.
    pub(super) thread_ts: Option<String>,
    /// Whether nobody else reads it.
    pub(super) is_direct: bool,
    /// Whether it is a plain message, and not one that was shared as well.
    pub(super) is_plain: bool,
}

impl Said {
    /// Reads a message; those of programs (ours among them), changes to messages and empty ones are nobody's.
    pub(super) fn by_somebody(message: &Value) -> Option<Self> {
        let text = |key: &str| message[key].as_str().unwrap_or_default().to_owned();
        let subtype = message["subtype"].as_str();
        if !message["bot_id"].is_null() || !subtype.is_none_or(|subtype| SPOKEN.contains(&subtype)) {
            return None;
        }
        let said = Self {
            text: unescaped(&text("text")),
            ts: text("ts"),
            user: text("user"),
            channel: text("channel"),
            thread_ts: message["thread_ts"].as_str().filter(|ts| is_ts(ts)).map(str::to_owned),
            is_direct: message["channel_type"] == "im",
            is_plain: subtype.is_none(),
        };
        (is_ts(&said.ts) && !said.text.is_empty()).then_some(said)
    }
}

/// What was typed: Slack escapes three characters. `&` comes last, so that what is escaped once is turned back once.
fn unescaped(text: &str) -> String {
    text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
}

/// The kinds of messages that are a person's own words.
const SPOKEN: [&str; 2] = ["thread_broadcast", "file_share"];

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// C15: a soldier reads what a person typed, not how Slack wrote it down.
    #[test]
    fn what_was_typed_is_read() {
        let said = |text: &str| {
            let message = json!({"text": text, "ts": "1707300000.000100", "user": "U1", "channel": "C1"});
            Said::by_somebody(&message).unwrap().text
        };
        assert_eq!(said("a &lt; b &amp;&amp; c &gt; d"), "a < b && c > d");
        assert_eq!(said("&amp;lt; is written so"), "&lt; is written so");
    }
}
