use super::*;
use crate::{
    Document, Id, Place,
    document::quoted,
    file::{MessageKind, NewMessage, NewTask, OutcomeStatus, Priority, Urgency},
};
use muster_proof::json;
use std::{collections::BTreeSet, fs, path::Path};

/// C12: every schema that ships asks only for what is checked, and no pattern without words for people.
#[test]
fn the_schemas_that_ship_are_understood() {
    for kind in SCHEMAS {
        explained(&compiled(kind));
    }
    assert!(check(Kind::Record, &json::parse(b"[1]").unwrap()).is_ok());
}

fn explained(node: &Node) {
    assert!(node.pattern.is_none() || node.title.is_some(), "{node:?}");
    let boxed = [&node.items, &node.condition, &node.consequence].into_iter().flatten().map(|node| &**node);
    let members = node.properties.0.iter().map(|(_, member)| member);
    boxed.chain(members).chain(&node.all_of).for_each(explained);
}

/// C12: a schema that asks for more than is checked is no schema.
#[test]
fn what_would_not_be_checked_is_refused() {
    for (schema, named) in [
        (r#"{"maxProperties": 3}"#, "maxProperties"),
        (r#"{"properties": {"a": {"items": {"not": {}}}}}"#, "not"),
        (r#"{"format": "date-time"}"#, "date-time"),
        (r#"{"type": "text"}"#, "Types"),
        (r#"{"enum": [1]}"#, "expected a string"),
        (r#"{"title": "a", "pattern": "("}"#, "group"),
        ("true", "expected struct Node"),
    ] {
        let error = serde_json::from_str::<Node>(schema).unwrap_err().to_string();
        assert!(error.contains(named), "{error}");
    }
}

/// C7, C8, C9, C10, C11, C12: the documents of the source, made concrete, are valid.
#[test]
fn the_examples_are_valid() {
    let mut seen = BTreeSet::new();
    for (name, text) in examples() {
        let kind = kind_of(&name);
        assert_eq!(verdict(kind, &text), "", "{name}");
        seen.insert(kind);
    }
    assert_eq!(seen, BTreeSet::from(SCHEMAS));
}

/// C12: without any one of the members that are required, a document is refused, and the member is named.
#[test]
fn every_required_member_is_missed() {
    for (kind, required) in [
        (Kind::Event, &["id", "type", "source", "payload", "priority", "created_at", "status"][..]),
        (
            Kind::Task,
            &["id", "event_id", "target_general", "type", "payload", "priority", "created_at", "status"],
        ),
        (Kind::Message, &["id", "type", "channel", "urgency", "content", "context", "created_at", "status"]),
        (Kind::Result, &["task_id", "status", "summary"]),
    ] {
        let whole = Document::parse(base(kind).as_bytes()).unwrap();
        for key in required {
            let mut less = whole.clone();
            less.remove(key);
            let told = verdict(kind, &less.to_json());
            assert!(told.starts_with(&format!("{key} is missing; it must be ")), "{kind:?}: {told}");
        }
        let mut more = whole;
        more.set_raw("nobody knows", r#"{"a": [123456789012345678901234567890, null]}"#);
        assert_eq!(verdict(kind, &more.to_json()), "");
    }
}

/// C7, C9, C10, C23: each member must be what the contract says; the sentence says which one is not, and how it must be.
#[test]
fn sentences_name_the_member_and_what_it_must_be() {
    let long = format!("\"{}\"", "a".repeat(201));
    let id = "must be an id: up to 200 letters, digits and . _ : + -, the first a letter or digit, not";
    let time = "must be a time like 2026-02-07T10:00:00Z (ISO 8601, UTC where no zone is given), not";
    let shown = format!("\"{}\"… (201 characters)", "a".repeat(40));
    for (kind, member, value, told) in [
        (
            Kind::Event,
            "priority",
            "\"urgent\"",
            "must be one of normal, high, low, not \"urgent\"".to_owned(),
        ),
        (Kind::Event, "priority", "null", "must be one of normal, high, low, not null".to_owned()),
        (Kind::Event, "id", "\"../x\"", format!("{id} \"../x\"")),
        (Kind::Event, "id", "\"a\\n\"", format!("{id} \"a\\n\"")),
        (Kind::Event, "id", &long, format!("{id} {shown}")),
        (Kind::Event, "type", "\"\"", "must be a string of 1 to 200 characters, not \"\"".to_owned()),
        (Kind::Event, "type", &long, format!("must be a string of 1 to 200 characters, not {shown}")),
        (Kind::Event, "repo", "7", "must be a string of at most 500 characters or null, not 7".to_owned()),
        (Kind::Event, "payload", "[]", "must be an object, not an array".to_owned()),
        (Kind::Event, "created_at", "\"yesterday\\u001b[2J\"", format!("{time} \"yesterday\\u{{1b}}[2J\"")),
        (Kind::Event, "created_at", "\"2026-02-30T10:00:00Z\"", format!("{time} \"2026-02-30T10:00:00Z\"")),
        (
            Kind::Event,
            "status",
            "\"in_progress\"",
            "must be one of pending, dispatched, completed, failed, not \"in_progress\"".to_owned(),
        ),
        (
            Kind::Task,
            "id",
            "\"task-20260207-01\"",
            "must be task-YYYYMMDD-NNN with at least three digits at the end, not \"task-20260207-01\""
                .to_owned(),
        ),
        (Kind::Task, "event_id", "\"a/b\"", format!("{id} \"a/b\"")),
        (Kind::Task, "target_general", "\"\"", format!("{id} \"\"")),
        (Kind::Message, "channel", "true", "must be a string of 1 to 200 characters, not true".to_owned()),
        (Kind::Message, "content", "{}", "must be a string, not an object".to_owned()),
    ] {
        assert_eq!(verdict(kind, &with(kind, member, value)), format!("{member} {told}"));
    }
    let hostile = with(Kind::Message, "context", r#"{"task_id": "../../x"}"#);
    assert_eq!(verdict(Kind::Message, &hostile), format!("context.task_id {id} \"../../x\""));
}

/// C11: what a result must have, by its status.
#[test]
fn a_status_needs_its_explanation() {
    for (status, member) in
        [("failed", "error"), ("killed", "error"), ("needs_human", "question"), ("skipped", "reason")]
    {
        let mut result = Document::parse(base(Kind::Result).as_bytes()).unwrap();
        result.set("status", status);
        let since = format!("it must be a string that is not empty, since status is {status:?}");
        assert_eq!(verdict(Kind::Result, &result.to_json()), format!("{member} is missing; {since}"));
        for nothing in ["null", "\"\""] {
            result.set_raw(member, nothing);
            let since =
                since.replacen("it", member, 1).replacen(", since", &format!(", not {nothing}, since"), 1);
            assert_eq!(verdict(Kind::Result, &result.to_json()), since);
        }
        result.set(member, "x");
        assert_eq!(verdict(Kind::Result, &result.to_json()), "");
    }
}

/// C11: the parts of a result are held against the schema too; lengths are counted in code points.
#[test]
fn the_parts_of_a_result_are_checked() {
    let proclaimed = |chars| format!(r#"{{"channel": "C0", "message": "{}"}}"#, "한".repeat(chars));
    let attempt = |members: &str| format!(r#"[{{"attempt": 1, "status": "killed"}}, {{{members}}}]"#);
    for (member, value, told) in [
        ("proclamation", proclaimed(3000), ""),
        ("proclamation", proclaimed(3001), "proclamation.message must be a string of 1 to 3000 characters"),
        ("proclamation", r#"{"message": "m"}"#.to_owned(), "proclamation.channel is missing; it must be"),
        ("proclamation", "null".to_owned(), ""),
        (
            "notify_channel",
            "\"\"".to_owned(),
            "notify_channel must be a string of 1 to 200 characters or null",
        ),
        ("memory_updates", "{}".to_owned(), "memory_updates must be an array or null, not an object"),
        ("attempts", attempt(r#""attempt": 2.0, "status": "failed", "error": null"#), ""),
        (
            "attempts",
            attempt(r#""attempt": 0, "status": "failed""#),
            "attempts[1].attempt must be an integer from 1 on",
        ),
        (
            "attempts",
            attempt(r#""attempt": 1.5, "status": "failed""#),
            "attempts[1].attempt must be an integer",
        ),
        ("attempts", attempt(r#""status": "failed""#), "attempts[1].attempt is missing"),
        (
            "attempts",
            attempt(r#""attempt": 1, "status": "x""#),
            "attempts[1].status must be one of success, failed, killed, needs_human, skipped, not \"x\"",
        ),
        (
            "attempts",
            attempt(r#""attempt": 1, "status": "failed", "ended_at": 5"#),
            "attempts[1].ended_at must be a time like",
        ),
    ] {
        let told_now = verdict(Kind::Result, &with(Kind::Result, member, &value));
        assert!(told_now.starts_with(told) && told.is_empty() == told_now.is_empty(), "{told_now}");
    }
}

/// C7: times of ISO 8601, with a zone or without.
#[test]
fn times_have_the_forms_that_sources_write() {
    for good in [
        "2026-02-07T10:00:00Z",
        "2026-02-07T10:00:00",
        "2026-02-07 10:00:00.123456789+09:00",
        "2026-02-07T10:00:00.000+0000",
        "2028-02-29T10:00-08",
        "2026-02-07T23:59:59,5Z",
    ] {
        assert_eq!(verdict(Kind::Event, &with(Kind::Event, "created_at", &quoted(good))), "");
    }
    for bad in [
        "2026-02-07",
        "20260207T100000Z",
        "2027-02-29T10:00:00Z",
        "2026-13-01T10:00:00Z",
        "2026-02-07T24:00:00Z",
        "2026-02-07T10:00:00Z\n",
        "2026-02-07T10:00:00[Asia/Seoul]",
        " 2026-02-07T10:00:00Z",
        "٢٠٢٦-02-07T10:00:00Z",
        "",
    ] {
        let told = verdict(Kind::Event, &with(Kind::Event, "created_at", &quoted(bad)));
        assert!(told.starts_with("created_at must be a time"), "{bad}: {told}");
    }
}

/// C2, C3: a schema admits exactly the words that the directories stand for.
#[test]
fn statuses_are_those_of_the_directories() {
    for kind in [Kind::Event, Kind::Task, Kind::Message] {
        let schema = compiled(kind);
        let words = schema.properties.of("status").unwrap().words.as_ref().unwrap();
        let places = kind.places().iter().flat_map(|place: &Place| place.statuses().iter().copied());
        assert_eq!(words.iter().map(String::as_str).collect::<BTreeSet<_>>(), places.collect());
    }
}

/// C9, C10, C11: what roles write is valid, in each of its words.
#[test]
fn what_is_written_here_is_valid() {
    let now = "2026-02-07T10:00:00Z".parse().unwrap();
    for priority in [Priority::High, Priority::Normal, Priority::Low] {
        let (event_id, general, kind) = ("schedule-a".to_owned(), "gen-pr".to_owned(), "resume".to_owned());
        let task = NewTask { event_id, general, kind, payload: "{}".to_owned(), priority };
        let id = Id::parse("task-20260207-1000").unwrap();
        assert_eq!(verdict(Kind::Task, &task.document(&id, now).to_json()), "");
    }
    let kinds = [MessageKind::ThreadStart, MessageKind::ThreadUpdate, MessageKind::HumanInputRequest];
    let urgencies = [Urgency::Normal, Urgency::High, Urgency::Urgent];
    let more = [MessageKind::Notification, MessageKind::Report];
    for (kind, urgency) in kinds.into_iter().chain(more).zip(urgencies.into_iter().cycle()) {
        let (channel, content) = ("dev".to_owned(), String::new());
        let message = NewMessage { kind, channel, urgency, content, context: Document::new() };
        let id = Id::parse("msg-20260207-001").unwrap();
        assert_eq!(verdict(Kind::Message, &message.document(&id, now).to_json()), "");
    }
    let schema = compiled(Kind::Result);
    for word in schema.properties.of("status").unwrap().words.as_ref().unwrap() {
        assert_eq!(OutcomeStatus::from_word(word).unwrap().as_str(), word);
    }
}

/// The first mistake in a document; nothing where it is valid.
fn verdict(kind: Kind, text: &str) -> String {
    let value = json::parse(text.as_bytes()).unwrap();
    check(kind, &value).err().map(|violation| violation.to_string()).unwrap_or_default()
}

/// A valid document with one member set to something else.
fn with(kind: Kind, member: &str, value: &str) -> String {
    Document::parse(base(kind).as_bytes()).unwrap().set_raw(member, value).to_json()
}

/// A valid document.
fn base(kind: Kind) -> String {
    let name = match kind {
        Kind::Event => "event-github",
        Kind::Task => "task-event",
        Kind::Message => "message-thread-start",
        _ => "result-proclamation",
    };
    examples().into_iter().find(|(known, _)| known == name).unwrap().1
}

fn examples() -> Vec<(String, String)> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("schemas/examples");
    let read = |path: &Path| {
        (path.file_stem().unwrap().to_str().unwrap().to_owned(), fs::read_to_string(path).unwrap())
    };
    fs::read_dir(directory).unwrap().map(|entry| read(&entry.unwrap().path())).collect()
}

fn kind_of(name: &str) -> Kind {
    match name.split('-').next() {
        Some("event") => Kind::Event,
        Some("task") => Kind::Task,
        Some("message") => Kind::Message,
        Some("result") => Kind::Result,
        _ => panic!("{name} is an example of nothing"),
    }
}

const SCHEMAS: [Kind; 4] = [Kind::Event, Kind::Task, Kind::Message, Kind::Result];
