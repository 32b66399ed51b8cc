//! Hostile texts and values.

use serde_json::{Value, json};

/// Texts that some shell, path, format, terminal or markup would obey; each valid in JSON.
pub(super) const TEXTS: [&str; 16] = [
    "$(touch canary)",
    "`touch canary`",
    "; touch canary; rm -rf seen #",
    "| touch canary &",
    "${HOME}$IFS$PATH",
    "../../../canary",
    "/etc/passwd",
    "%s%n%d {} {0} {name} {{",
    "\u{1b}[31m\u{1b}]0;title\u{7}",
    "nul\u{0}inside",
    "line\r\nfeed\u{2028}\u{202e}and back",
    "<!channel> <@U1> &amp; <https://example.com|x>",
    "'\"\\\"'",
    "--help",
    "\u{feff}\u{fffd}😀",
    "' OR 1=1; --",
];

/// Members that are no text, or no text that can be held, each as JSON.
pub(super) fn wrong_values() -> Vec<String> {
    let deep = |depth: usize| format!("{}1{}", "[".repeat(depth), "]".repeat(depth));
    vec![
        "null".to_owned(),
        "true".to_owned(),
        "1e999999".to_owned(),
        "9".repeat(5000),
        "-0.000000000000000000000000000000000001".to_owned(),
        deep(3),
        deep(200_000),
        r#"{"a": {"b": []}}"#.to_owned(),
        r#"{"a": 1, "a": 2}"#.to_owned(),
        r#""\ud800""#.to_owned(),
        r#""\ud83d\ud83d""#.to_owned(),
        format!("\"{}\"", "x".repeat(10 << 20)),
        "NaN".to_owned(),
        "\"tab\tinside\"".to_owned(),
        "'single'".to_owned(),
        "\"open".to_owned(),
    ]
}

/// Whole files that are none.
pub(super) fn wrong_files() -> Vec<Vec<u8>> {
    vec![
        Vec::new(),
        b"{".to_vec(),
        b"[]".to_vec(),
        b"\"text\"".to_vec(),
        b"\xff\xfe\x00{".to_vec(),
        b"{\"id\": \"\xc3\x28\"}".to_vec(),
        b"{\"id\": \"a\"} {\"id\": \"b\"}".to_vec(),
        b"\xef\xbb\xbf{}".to_vec(),
        b"# toml = \"no\"".to_vec(),
        vec![0; 4096],
        vec![b'['; 10 << 20],
        vec![b' '; 10 << 20],
    ]
}

/// A file of each kind that is as it must be.
pub(super) fn event(id: &str) -> Value {
    json!({"id": id, "type": "hostile.carry", "source": "tests", "repo": null, "payload": {"of": id},
        "priority": "normal", "created_at": "2026-02-07T10:00:00Z", "status": "pending"})
}

pub(super) fn task(id: &str) -> Value {
    json!({"id": id, "event_id": "evt-none", "target_general": "carry", "type": "hostile.carry",
        "payload": {"of": id}, "priority": "normal", "created_at": "2026-02-07T10:00:00Z", "status": "pending"})
}

pub(super) fn message(id: &str) -> Value {
    json!({"id": id, "type": "report", "channel": "general", "urgency": "normal", "content": "good",
        "context": {"task_id": "none"}, "created_at": "2026-02-07T10:00:00Z", "status": "pending"})
}

/// A result, but for its task's id.
pub(super) fn result() -> Value {
    json!({"status": "success", "summary": "good", "error": null, "question": null, "reason": null,
        "notify_channel": null, "proclamation": null, "checkpoint_path": null, "memory_updates": null,
        "attempts": null})
}

/// The same file with one member written otherwise.
pub(super) fn with(file: &Value, member: &str, raw: &str) -> Vec<u8> {
    let members = file.as_object().unwrap().iter().map(|(key, value)| match key == member {
        true => format!("{}: {raw}", json!(key)),
        false => format!("{}: {value}", json!(key)),
    });
    format!("{{{}}}", members.collect::<Vec<_>>().join(", ")).into_bytes()
}
