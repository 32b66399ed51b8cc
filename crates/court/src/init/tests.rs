use super::*;
use crate::{
    Document, Folder, Id, Kind, Place,
    config::{Court, Executor, Settings},
    file::{NewTask, Priority},
    folder::validated,
    roles::king::King,
};
use std::{collections::BTreeSet, process::Command};

/// A file of the example with every setting that it shows in force.
fn in_force(path: &Path) -> String {
    let is_setting =
        |line: &str| line.strip_prefix('#').is_some_and(|rest| rest.starts_with(|first: char| first != ' '));
    let text = fs::read_to_string(path).unwrap();
    let lines = text.lines().map(|line| if is_setting(line) { &line[1..] } else { line });
    lines.collect::<Vec<_>>().join("\n")
}

/// The keys a section may have, as the parser tells them when it meets another.
fn keys(section: &str) -> BTreeSet<String> {
    let refusal = toml::from_str::<Settings>(&format!("{section}\nnobody = 1")).unwrap_err().to_string();
    let (_, expected) = refusal.rsplit_once("expected").unwrap();
    expected.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

fn shown(table: &toml::Table, path: &[&str]) -> BTreeSet<String> {
    let section = path.iter().fold(table, |table, key| table[*key].as_table().unwrap());
    section.keys().cloned().collect()
}

/// C0: what `init` writes is a court, envoy to standard output, and what it shows commented out is one as well.
#[test]
fn the_example_is_read_as_it_is() {
    let home = tempfile::tempdir().unwrap();
    let made = init(&home.path().join("a/court")).unwrap();
    assert_eq!(made.len(), 4);
    let home = home.path().join("a/court");
    let court = Court::read(&home).unwrap();
    assert_eq!(court.settings, Settings::default());
    assert_eq!(court.owner_of("greet.hello").unwrap().name, "greet");

    for name in ["court.toml", "generals/greet.toml"] {
        fs::write(home.join(name), in_force(&home.join(name))).unwrap();
    }
    fs::rename(home.join("generals/fleet.toml.example"), home.join("generals/fleet.toml")).unwrap();
    let whole = Court::read(&home).unwrap();
    assert_eq!(whole.generals["fleet"].executor, Executor::Run);
    assert_eq!(whole.generals["greet"].schedules.len(), 1);
    assert!(King::new(whole, "ops".to_owned()).is_ok(), "the schedule shown must be one");
}

/// C0: the file is the manual: every key there is stands in it, with its default.
#[test]
fn every_key_is_in_the_manual() {
    let home = tempfile::tempdir().unwrap();
    init(home.path()).unwrap();
    let text = in_force(&home.path().join("court.toml"));
    let table: toml::Table = text.parse().unwrap();
    assert_eq!(shown(&table, &[]), keys(""));
    for section in
        ["envoy", "king", "chamberlain", "retention", "sentinel", "sentinel.github", "sentinel.jira"]
    {
        let path: Vec<&str> = section.split('.').collect();
        assert_eq!(shown(&table, &path), keys(&format!("[{section}]")), "{section}");
    }
    assert_eq!(shown(&table, &["sentinel", "command", "clock"]), keys("[sentinel.command.clock]"));

    let shown: Settings = toml::from_str(&text).unwrap();
    assert_eq!(shown.chamberlain, Settings::default().chamberlain);
    assert_eq!(shown.retention, Settings::default().retention);
    assert_eq!(shown.king.obey_health, Settings::default().king.obey_health);
    assert_eq!(shown.envoy.replies_poll_s, Settings::default().envoy.replies_poll_s);
    assert_eq!(shown.sentinel.github, Some(crate::config::Github::default()));
}

/// C0: the general's file shows every key of a general and of a schedule, with its default.
#[test]
fn every_key_of_a_general_is_in_the_manual() {
    let home = tempfile::tempdir().unwrap();
    init(home.path()).unwrap();
    let path = home.path().join("generals/greet.toml");
    let table: toml::Table = in_force(&path).parse().unwrap();
    let refusal = toml::from_str::<crate::config::General>("nobody = 1").unwrap_err().to_string();
    let named = |key: &str| refusal.contains(&format!("`{key}`"));
    assert!(table.keys().all(|key| named(key)), "{refusal}");
    assert_eq!(refusal.matches('`').count(), 2 * (table.len() + 1), "{refusal}");
    let schedule = table["schedules"][0].as_table().unwrap();
    assert_eq!(schedule.len(), 6);

    let before = Court::read(home.path()).unwrap();
    fs::write(&path, in_force(&path)).unwrap();
    let mut after = Court::read(home.path()).unwrap();
    let general = after.generals.get_mut("greet").unwrap();
    assert_eq!(general.timeout_s, Some(before.generals["greet"].limit_s()));
    (general.timeout_s, general.schedules) = (None, Vec::new());
    assert_eq!(after, before);
}

/// C0: nothing is overwritten, not even in part.
#[test]
fn what_is_there_stays() {
    let home = tempfile::tempdir().unwrap();
    fs::create_dir(home.path().join("soldiers")).unwrap();
    fs::write(home.path().join("soldiers/greet.sh"), "mine").unwrap();
    let refused = init(home.path()).unwrap_err();
    assert!(matches!(&refused, InitError::Exists(path) if path.ends_with("soldiers/greet.sh")), "{refused}");
    assert!(!home.path().join("court.toml").exists());
    assert_eq!(fs::read_to_string(home.path().join("soldiers/greet.sh")).unwrap(), "mine");
}

/// Runs the example's soldier on a task with this type and payload, and gives its result.
fn soldier(kind: &str, payload: &str) -> Document {
    let home = tempfile::tempdir().unwrap();
    init(home.path()).unwrap();
    let folder = Folder::open(home.path()).unwrap();
    let id = Id::parse("task-20260207-001").unwrap();
    let (general, event_id) = ("greet".to_owned(), "evt-1".to_owned());
    let task = NewTask {
        event_id,
        general,
        kind: kind.to_owned(),
        payload: payload.to_owned(),
        priority: Priority::Low,
    };
    folder
        .write(Place::TasksInProgress, &id, &task.document(&id, "2026-02-07T10:00:00Z".parse().unwrap()))
        .unwrap();
    let argv = &Court::read(home.path()).unwrap().generals["greet"].command;
    let status = Command::new(&argv[0])
        .args(&argv[1..])
        .current_dir(home.path())
        .env("MUSTER_TASK_ID", id.as_str())
        .env("MUSTER_TASK_PATH", folder.file(Place::TasksInProgress, &id))
        .env("MUSTER_RESULT_PATH", home.path().join("result.json"))
        .env("MUSTER_HEARTBEAT_PATH", home.path().join("heartbeat"))
        .status()
        .unwrap();
    assert!(status.success());
    assert!(home.path().join("heartbeat").exists());
    validated(Kind::Result, &fs::read(home.path().join("result.json")).unwrap()).unwrap()
}

/// C0, C11, C23: the example's soldier greets, asks, goes on with the answer, and obeys no payload.
#[test]
fn the_soldier_of_the_example_answers() {
    let summary = |result: &Document| result.text("summary").unwrap();
    assert_eq!(summary(&soldier("greet.hello", r#"{"name": "Ada"}"#)), "Hello, Ada!");
    assert_eq!(summary(&soldier("greet.hello", "{}")), "Hello, world!");
    let asked = soldier("greet.hello", r#"{"ask": true}"#);
    assert_eq!(asked.text("status").as_deref(), Some("needs_human"));
    assert!(asked.text("question").is_some());
    let resumed = soldier("resume", r#"{"text": "Grace", "reply_context": {"ask": true}}"#);
    assert!(summary(&resumed).starts_with("Hello, Grace"), "{resumed:?}");
    let hostile = soldier("greet.hello", r#"{"name": "$(touch x)`touch y`\", \"status\": \"failed"}"#);
    assert_eq!(hostile.text("status").as_deref(), Some("success"));
    assert_eq!(summary(&hostile), "Hello, world!");
}
