//! The court's schemas, held against a validator of others: Python's `jsonschema`. C7, C9 to C12.

use muster_court::{Kind, schema};
use muster_tests::{Dice, venv};
use serde_json::{Value, json};
use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
};

/// C12: the schemas are valid by draft 2020-12, and every example passes.
#[test]
fn examples_pass_elsewhere_too() {
    let cases = examples();
    assert!(cases.len() >= 20);
    for (case, verdict) in cases.iter().zip(judged_by_python(&cases)) {
        assert!(verdict && case.is_valid_here(), "{}", case.document);
    }
}

/// C7, C9, C10, C11, C12: documents with something changed are judged here as they are by a validator that reads the same
/// schemas.
#[test]
fn changed_documents_are_judged_alike() {
    let mut dice = Dice::announced();
    let examples = examples();
    let changed = |_| Case::changed(&examples[pick(&mut dice, examples.len())], &mut dice.split());
    let cases: Vec<Case> = (0..CASES).map(changed).collect();
    let verdicts = judged_by_python(&cases);
    for (case, verdict) in cases.iter().zip(&verdicts) {
        assert_eq!(case.is_valid_here(), *verdict, "{} {}", case.schema, case.document);
    }
    let valid = verdicts.iter().filter(|verdict| **verdict).count();
    assert!((CASES / 20..CASES * 19 / 20).contains(&valid), "{valid} of {CASES} are valid");
}

/// A document and the schema it is held against.
#[derive(Clone)]
struct Case {
    kind: Kind,
    schema: &'static str,
    document: Value,
}

impl Case {
    fn of_example(path: &Path) -> Self {
        let name = path.file_stem().unwrap().to_str().unwrap();
        let (kind, schema) = match name.split('-').next().unwrap() {
            "event" => (Kind::Event, "event"),
            "task" => (Kind::Task, "task"),
            "message" => (Kind::Message, "message"),
            "result" => (Kind::Result, "soldier-result"),
            _ => panic!("{name} is an example of nothing"),
        };
        Self { kind, schema, document: serde_json::from_slice(&fs::read(path).unwrap()).unwrap() }
    }

    /// The same with one or two members taken away, or set to something else.
    fn changed(&self, dice: &mut Dice) -> Self {
        let mut changed = self.clone();
        for _ in 0..=dice.below(2) {
            change(&mut changed.document, dice);
        }
        changed
    }

    fn is_valid_here(&self) -> bool {
        let text = self.document.to_string();
        schema::check(self.kind, &muster_proof::json::parse(text.as_bytes()).unwrap()).is_ok()
    }

    fn line(&self) -> String {
        format!("{}\n", json!({"schema": self.schema, "document": self.document}))
    }
}

/// Goes down to some object, and changes a member of it.
fn change(value: &mut Value, dice: &mut Dice) {
    let members = value.as_object_mut().unwrap();
    let mut keys: Vec<String> = members.keys().cloned().collect();
    keys.extend(OPTIONAL.map(str::to_owned));
    let key = &keys[pick(dice, keys.len())];
    let inner = match members.get_mut(key) {
        Some(Value::Array(elements)) => elements.first_mut(),
        other => other,
    };
    match inner {
        Some(inner) if inner.as_object().is_some_and(|inner| !inner.is_empty()) && dice.percent(60) => {
            change(inner, dice);
        }
        _ if dice.percent(15) => drop(members.remove(key)),
        _ => drop(members.insert(key.clone(), odd(dice))),
    }
}

fn odd(dice: &mut Dice) -> Value {
    let character = dice.pick(&["a", "한", "😀"]);
    let length = dice.pick(&[1, 64, 65, 200, 201, 500, 501, 3000, 3001, 4096, 4097]);
    match dice.below(5) {
        0 => Value::from(character.repeat(length)),
        1 => Value::from(dice.pick(&WORDS)),
        2 => Value::from(dice.pick(&TEXTS)),
        _ => {
            let values = odd_values();
            values[pick(dice, values.len())].clone()
        }
    }
}

fn odd_values() -> Vec<Value> {
    vec![
        json!(null),
        json!(true),
        json!(0),
        json!(1),
        json!(2.0),
        json!(1.5),
        json!(-3),
        json!(1e20),
        json!([]),
        json!({}),
        json!([{}]),
        json!(["a", 1]),
        json!({"task_id": "../x"}),
        json!({"channel": "C0", "message": "m"}),
        json!([{"attempt": 1, "status": "failed"}, {"attempt": 0, "status": "failed"}]),
        json!([{"attempt": 1.0, "status": "success", "started_at": null, "ended_at": "2026-02-30T10:00:00Z"}]),
    ]
}

/// Verdicts of the package on the documents.
fn judged_by_python(cases: &[Case]) -> Vec<bool> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("python/schema_judge.py");
    let mut command = Command::new(venv().join("bin/python"));
    command.arg(script).arg(schemas()).env("PYTHONIOENCODING", "utf-8");
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let lines: String = cases.iter().map(Case::line).collect();
    // A judge that refuses a schema reads nothing; what it says then matters more than the broken pipe.
    let sender = thread::spawn(move || input.write_all(lines.as_bytes()).is_ok());
    let output = child.wait_with_output().unwrap();
    let is_sent = sender.join().unwrap();
    assert!(output.status.success() && is_sent, "the judge gave up; it needs jsonschema==4.26.0, see ./test");
    let verdicts: Vec<bool> =
        String::from_utf8(output.stdout).unwrap().lines().map(|line| line == "valid").collect();
    assert_eq!(verdicts.len(), cases.len());
    verdicts
}

fn examples() -> Vec<Case> {
    let entries = fs::read_dir(schemas().join("examples")).unwrap();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.iter().map(|path| Case::of_example(path)).collect()
}

fn schemas() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/court/schemas")
}

fn pick(dice: &mut Dice, end: usize) -> usize {
    usize::try_from(dice.below(end as u64)).unwrap()
}

const CASES: usize = 1500;

/// Members that documents may have, and some that nobody knows.
const OPTIONAL: [&str; 9] = [
    "error",
    "question",
    "reason",
    "notify_channel",
    "proclamation",
    "memory_updates",
    "attempts",
    "repo",
    "nobody knows",
];

const WORDS: [&str; 18] = [
    "normal",
    "high",
    "low",
    "urgent",
    "pending",
    "dispatched",
    "in_progress",
    "completed",
    "success",
    "failed",
    "killed",
    "needs_human",
    "skipped",
    "sent",
    "report",
    "thread_start",
    "notification",
    "Normal",
];

const TEXTS: [&str; 18] = [
    "",
    " ",
    "x",
    "a\n",
    "../x",
    "é",
    "evt-slack-msg-1234-5678",
    "task-20260207-001",
    "task-20260207-001\n",
    "task-20260207-01",
    "task-20260207-1000",
    "msg-20260207-001",
    "msg-2026027-001",
    "2026-02-07T10:00:00",
    "2026-02-07T10:00:00.000+0000",
    "2027-02-29T10:00:00Z",
    "2026-02-07T24:00:00Z",
    "2026-02-07",
];
