//! Reads a workflow's file (N22).

use super::{OnFailure, Step, StepKind, Workflow, check::check_step};
use muster_artifacts::Template;
use serde_json::{Map, Number, Value};
use std::{collections::BTreeSet, fmt, ops::RangeInclusive, time::Duration};
use toml::Table;

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

fn step(file: &str, number: usize, value: &toml::Value) -> Result<Step, WorkflowError> {
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

/// Reason why a file cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {problem}")]
pub struct WorkflowError {
    /// Position of the mistake.
    pub place: Place,
    /// The problem.
    pub problem: Box<Problem>,
}

/// Problem of a file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// It cannot be read.
    #[error("{0}")]
    Unreadable(String),
    /// It is not TOML; the parser says where.
    #[error("{0}")]
    Syntax(String),
    /// A key that nobody reads.
    #[error("unknown key {key}{}", meant(.near.as_deref()))]
    UnknownKey {
        /// The text found.
        key: String,
        /// The nearest known word.
        near: Option<String>,
    },
    /// A key that must be there and is not.
    #[error("{0} is missing")]
    Missing(String),
    /// A value that its key cannot have.
    #[error("{key} must be {expected}, not {found}{}", meant(.near.as_deref()))]
    Unfit {
        /// Whose value.
        key: String,
        /// Allowed values.
        expected: String,
        /// The value found.
        found: String,
        /// The nearest known word.
        near: Option<String>,
    },
    /// Values that are good alone and not together, or a text that cannot work.
    #[error("{0}")]
    Contradiction(String),
}

/// A position in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The file's name.
    pub file: String,
    /// The step's id, or its number while it has none.
    pub step: Option<String>,
}

/// A table of the file.
pub(crate) struct Fields<'a> {
    pub(crate) place: Place,
    pub(crate) table: &'a Table,
}

impl Fields<'_> {
    /// Refuses keys that nobody would read.
    pub(crate) fn only(&self, known: &[&str]) -> Result<(), WorkflowError> {
        let Some(key) = self.table.keys().find(|key| !known.contains(&key.as_str())) else {
            return Ok(());
        };
        Err(self.error(Problem::UnknownKey { key: key.clone(), near: near(key, known) }))
    }

    pub(crate) fn text(&self, key: &str) -> Result<Option<&str>, WorkflowError> {
        let Some(value) = self.table.get(key) else { return Ok(None) };
        let text = value.as_str().filter(|text| !text.is_empty());
        text.map(Some).ok_or_else(|| self.unfit(key, "a text"))
    }

    pub(crate) fn required_text(&self, key: &str) -> Result<&str, WorkflowError> {
        self.text(key)?.ok_or_else(|| self.missing(key))
    }

    /// One of a few words.
    pub(crate) fn word<T: Copy>(&self, key: &str, words: &[(&str, T)]) -> Result<Option<T>, WorkflowError> {
        let Some(found) = self.text(key)? else { return Ok(None) };
        if let Some((_, meaning)) = words.iter().find(|(word, _)| *word == found) {
            return Ok(Some(*meaning));
        }
        let words: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        let (expected, near) = (format!("one of {}", words.join(", ")), near(found, &words));
        let (key, found) = (key.to_owned(), format!("\"{found}\""));
        Err(self.error(Problem::Unfit { key, expected, found, near }))
    }

    /// A whole number of a range.
    pub(crate) fn number(&self, key: &str, range: RangeInclusive<u64>) -> Result<Option<u64>, WorkflowError> {
        let Some(value) = self.table.get(key) else { return Ok(None) };
        let number = value.as_integer().and_then(|number| u64::try_from(number).ok());
        let number = number.filter(|number| range.contains(number));
        let expected = || format!("a whole number from {} to {}", range.start(), range.end());
        number.map(Some).ok_or_else(|| self.unfit(key, &expected()))
    }

    /// A list of texts that is not empty.
    pub(crate) fn texts(&self, key: &str) -> Result<Option<Vec<String>>, WorkflowError> {
        let Some(value) = self.table.get(key) else { return Ok(None) };
        let items = value.as_array().filter(|items| !items.is_empty());
        let texts =
            items.and_then(|items| items.iter().map(|item| item.as_str().map(str::to_owned)).collect());
        texts.map(Some).ok_or_else(|| self.unfit(key, "a list of texts, such as [\"get-state\"]"))
    }

    /// A table, as JSON.
    pub(crate) fn object(&self, key: &str) -> Result<Map<String, Value>, WorkflowError> {
        let Some(value) = self.table.get(key) else { return Ok(Map::new()) };
        match json(value) {
            Some(Value::Object(object)) => Ok(object),
            _ => Err(self.unfit(key, "a table without nan and inf")),
        }
    }

    pub(crate) fn missing(&self, key: &str) -> WorkflowError {
        self.error(Problem::Missing(key.to_owned()))
    }

    pub(crate) fn unfit(&self, key: &str, expected: &str) -> WorkflowError {
        let found = self.table.get(key).map(toml::Value::to_string).unwrap_or_default();
        let (key, expected) = (key.to_owned(), expected.to_owned());
        self.error(Problem::Unfit { key, expected, found, near: None })
    }

    pub(crate) fn contradiction(&self, problem: impl Into<String>) -> WorkflowError {
        self.error(Problem::Contradiction(problem.into()))
    }

    pub(crate) fn error(&self, problem: Problem) -> WorkflowError {
        self.place.clone().error(problem)
    }
}

impl Place {
    /// A file as a whole.
    pub(crate) fn file(file: impl Into<String>) -> Self {
        Self { file: file.into(), step: None }
    }

    pub(crate) fn error(self, problem: Problem) -> WorkflowError {
        WorkflowError { place: self, problem: Box::new(problem) }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.step {
            Some(step) => write!(f, "{}, step {step}", self.file),
            None => f.write_str(&self.file),
        }
    }
}

/// Finds the known word most like an unknown one, if any is much like it.
pub(crate) fn near(word: &str, known: &[&str]) -> Option<String> {
    let word = word.to_lowercase();
    let scored = known.iter().map(|known| (strsim::jaro_winkler(&known.to_lowercase(), &word), known));
    let best = scored.max_by(|(a, _), (b, _)| a.total_cmp(b))?;
    (best.0 > 0.8).then(|| (*best.1).to_owned())
}

fn meant(near: Option<&str>) -> String {
    near.map(|near| format!("; did you mean {near}?")).unwrap_or_default()
}

fn json(value: &toml::Value) -> Option<Value> {
    Some(match value {
        toml::Value::String(text) => Value::String(text.clone()),
        toml::Value::Integer(number) => Value::from(*number),
        toml::Value::Float(number) => Value::Number(Number::from_f64(*number)?),
        toml::Value::Boolean(boolean) => Value::Bool(*boolean),
        toml::Value::Datetime(moment) => Value::String(moment.to_string()),
        toml::Value::Array(items) => Value::Array(items.iter().map(json).collect::<Option<_>>()?),
        toml::Value::Table(table) => {
            let members = table.iter().map(|(key, value)| Some((key.clone(), json(value)?)));
            Value::Object(members.collect::<Option<_>>()?)
        }
    })
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
