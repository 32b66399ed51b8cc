//! Reads a workflow's file (N22).

use super::check::check_step;
use super::fields::{Fields, Place, Problem, WorkflowError};
use super::{OnFailure, Step, StepKind, Workflow};
use muster_artifacts::Template;
use std::{collections::BTreeSet, time::Duration};
use toml::{Table, Value};

/// Reads the text of a workflow's file. `file` is what errors call it.
pub fn parse(id: &str, file: &str, text: &str) -> Result<Workflow, WorkflowError> {
    let table = read_table(file, text)?;
    let fields = Fields { place: Place::file(file), table: &table };
    fields.only(&["timeoutMs", "storage_path", "steps"])?;
    let storage_path = fields.text("storage_path")?.map(str::to_owned);
    if let Some(problem) = storage_path.as_deref().and_then(|path| Template::parse(path).err()) {
        return Err(fields.contradiction(format!("storage_path {problem}")));
    }
    Ok(Workflow { id: id.to_owned(), timeout: timeout(&fields)?, steps: steps(&fields)?, storage_path })
}

/// Reads TOML.
pub(crate) fn read_table(file: &str, text: &str) -> Result<Table, WorkflowError> {
    let syntax = |error: toml::de::Error| Problem::Syntax(error.to_string().trim_end().to_owned());
    toml::from_str(text).map_err(|error| Place::file(file).error(syntax(error)))
}

fn steps(fields: &Fields<'_>) -> Result<Vec<Step>, WorkflowError> {
    let listed = fields.table.get("steps").ok_or_else(|| fields.missing("steps"))?;
    let listed = listed.as_array().filter(|steps| (1..=STEPS_MAX).contains(&steps.len()));
    let listed =
        listed.ok_or_else(|| fields.contradiction(format!("steps must be 1 to {STEPS_MAX} [[steps]]")))?;
    let steps = listed.iter().enumerate().map(|(at, value)| step(&fields.place.file, at + 1, value));
    let steps = steps.collect::<Result<Vec<_>, _>>()?;
    let mut ids = BTreeSet::new();
    match steps.iter().find(|step| !ids.insert(step.id.as_str())) {
        Some(step) => Err(fields.contradiction(format!("two steps have the id {}", step.id))),
        None => Ok(steps),
    }
}

fn step(file: &str, number: usize, value: &Value) -> Result<Step, WorkflowError> {
    let place = |step: &str| Place { file: file.to_owned(), step: Some(step.to_owned()) };
    let numbered = place(&format!("number {number}"));
    let Some(table) = value.as_table() else {
        return Err(numbered.error(Problem::Contradiction("is not a table".to_owned())));
    };
    let id = id(&Fields { place: numbered, table })?;
    let fields = Fields { place: place(&id), table };
    fields.only(&["id", "kind", "command", "action", "params", "timeoutMs", "onFailure", "retryCount"])?;
    let (on_failure, retries) = failure_policy(&fields)?;
    let step = Step {
        id,
        kind: fields.word("kind", KINDS)?.ok_or_else(|| fields.missing("kind"))?,
        command: fields.texts("command")?.unwrap_or_default(),
        action: fields.text("action")?.map(str::to_owned),
        params: fields.object("params")?,
        timeout: timeout(&fields)?,
        on_failure,
        retries,
    };
    check_step(&fields, &step)?;
    Ok(step)
}

fn id(fields: &Fields<'_>) -> Result<String, WorkflowError> {
    let id = fields.required_text("id")?;
    if is_step_id(id) { Ok(id.to_owned()) } else { Err(fields.unfit("id", "1 to 64 of A-Z, 0-9 and _")) }
}

/// Says whether a text can be a step's id (N11).
pub(crate) fn is_step_id(text: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_';
    (1..=64).contains(&text.len()) && text.bytes().all(fits)
}

fn failure_policy(fields: &Fields<'_>) -> Result<(OnFailure, u32), WorkflowError> {
    let on_failure = fields.word("onFailure", POLICIES)?.unwrap_or(OnFailure::Stop);
    let retries = fields.number("retryCount", 0..=RETRIES_MAX)?.unwrap_or(0);
    let retries = u32::try_from(retries).expect("RETRIES_MAX fits");
    match (on_failure, retries) {
        (OnFailure::Retry, 0) => Err(fields.contradiction("onFailure = \"retry\" needs a retryCount from 1")),
        (OnFailure::Stop | OnFailure::Continue, 1..) => {
            Err(fields.contradiction(format!("retryCount = {retries} needs onFailure = \"retry\"")))
        }
        policy => Ok(policy),
    }
}

fn timeout(fields: &Fields<'_>) -> Result<Duration, WorkflowError> {
    let millis = fields.number("timeoutMs", 1..=MS_MAX)?.ok_or_else(|| fields.missing("timeoutMs"))?;
    Ok(Duration::from_millis(millis))
}

const STEPS_MAX: usize = 100;
const RETRIES_MAX: u64 = 100;
/// A day: whatever takes longer is no step of a task.
pub(super) const MS_MAX: u64 = 86_400_000;

const KINDS: &[(&str, StepKind)] = &[
    ("adb", StepKind::Adb),
    ("vendor", StepKind::Vendor),
    ("command", StepKind::Command),
    ("upload", StepKind::Upload),
    ("assert", StepKind::Assert),
    ("sleep", StepKind::Sleep),
];

const POLICIES: &[(&str, OnFailure)] =
    &[("stop", OnFailure::Stop), ("continue", OnFailure::Continue), ("retry", OnFailure::Retry)];

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(text: &str) -> String {
        parse("w", "w.toml", text).unwrap_err().to_string()
    }

    fn step_refusal(step: &str) -> String {
        refusal(&format!("timeoutMs = 1000\n[[steps]]\n{step}"))
    }

    /// N22: every key of the format is read.
    #[test]
    fn every_key_is_read() {
        let text = r#"
            timeoutMs = 180000
            storage_path = "shots/{device_id}.png"
            [[steps]]
            id = "TAP_1"
            kind = "vendor"
            action = "click"
            timeoutMs = 5000
            onFailure = "retry"
            retryCount = 3
            params = { x = 1, y = 0.5, deep = { list = ["a", true] } }
            [[steps]]
            id = "RUN"
            kind = "command"
            command = ["prog", "--url={{URL}}"]
            timeoutMs = 86400000
            onFailure = "continue"
        "#;
        let workflow = parse("w", "w.toml", text).unwrap();
        assert_eq!((workflow.id.as_str(), workflow.timeout), ("w", Duration::from_secs(180)));
        assert_eq!(workflow.storage_path.as_deref(), Some("shots/{device_id}.png"));
        let [tap, run] = workflow.steps.as_slice() else { panic!("two steps") };
        assert_eq!((tap.kind, tap.action.as_deref()), (StepKind::Vendor, Some("click")));
        assert_eq!((tap.on_failure, tap.retries), (OnFailure::Retry, 3));
        let params = serde_json::json!({"x": 1, "y": 0.5, "deep": {"list": ["a", true]}});
        assert_eq!(serde_json::Value::Object(tap.params.clone()), params);
        assert_eq!((run.kind, run.on_failure, run.retries), (StepKind::Command, OnFailure::Continue, 0));
        assert_eq!(run.command, ["prog", "--url={{URL}}"]);
        assert_eq!(run.timeout, Duration::from_hours(24));
    }

    /// N22: what is missing or unknown is named with its file and step, and the near word is suggested.
    #[test]
    fn mistakes_are_named() {
        assert_eq!(refusal("timeoutMs = 1"), "w.toml: steps is missing");
        assert_eq!(refusal("timeoutMS = 1"), "w.toml: unknown key timeoutMS; did you mean timeoutMs?");
        assert_eq!(step_refusal("kind = 'sleep'"), "w.toml, step number 1: id is missing");
        assert_eq!(
            step_refusal("id = 'login'"),
            "w.toml, step number 1: id must be 1 to 64 of A-Z, 0-9 and _, not \"login\""
        );
        assert_eq!(
            step_refusal("id = 'A'\nonfailure = 'stop'"),
            "w.toml, step A: unknown key onfailure; did you mean onFailure?"
        );
        assert_eq!(
            step_refusal("id = 'A'\nkind = 'comand'"),
            "w.toml, step A: kind must be one of adb, vendor, command, upload, assert, sleep, not \"comand\"; \
             did you mean command?"
        );
        let path = "timeoutMs = 1\nstorage_path = 'a/{{device_id}}.png'";
        assert!(
            refusal(path).ends_with("storage_path has a brace without its partner in \"{{device_id}}.png\"")
        );
        assert!(refusal("timeoutMs = ").starts_with("w.toml: TOML parse error at line 1"));
    }

    /// N22: values outside their range are refused.
    #[test]
    fn values_out_of_range_are_refused() {
        let sleep = "id = 'A'\nkind = 'sleep'\nparams.ms = 1\n";
        for (more, expected) in [
            ("", "timeoutMs is missing"),
            ("timeoutMs = 0", "timeoutMs must be a whole number from 1 to 86400000, not 0"),
            ("timeoutMs = 86400001", "timeoutMs must be a whole number from 1 to 86400000, not 86400001"),
            ("timeoutMs = '1'", "timeoutMs must be a whole number from 1 to 86400000, not \"1\""),
            ("timeoutMs = 1\nretryCount = 101", "retryCount must be a whole number from 0 to 100, not 101"),
            ("timeoutMs = 1\nonFailure = 'retry'", "onFailure = \"retry\" needs a retryCount from 1"),
            (
                "timeoutMs = 1\nonFailure = 'stop'\nretryCount = 2",
                "retryCount = 2 needs onFailure = \"retry\"",
            ),
            ("timeoutMs = 1\nretryCount = 2", "retryCount = 2 needs onFailure = \"retry\""),
        ] {
            assert_eq!(step_refusal(&format!("{sleep}{more}")), format!("w.toml, step A: {expected}"));
        }
        let long_id = format!("id = '{}'", "A".repeat(65));
        assert!(step_refusal(&long_id).contains("id must be 1 to 64"));
        let twice = format!("{sleep}timeoutMs = 1\n[[steps]]\n{sleep}timeoutMs = 1");
        assert_eq!(step_refusal(&twice), "w.toml: two steps have the id A");
        let many: String = (0..101)
            .map(|n| format!("[[steps]]\nid = 'S{n}'\nkind = 'sleep'\nparams.ms = 1\ntimeoutMs = 1\n"))
            .collect();
        assert_eq!(refusal(&format!("timeoutMs = 1\n{many}")), "w.toml: steps must be 1 to 100 [[steps]]");
        assert_eq!(refusal("timeoutMs = 1\nsteps = []"), "w.toml: steps must be 1 to 100 [[steps]]");
    }
}
