//! Workflows are data (N22). The format stands in `docs/workflows.md`.

mod check;
mod parse;
pub mod template;

pub use parse::{Place, Problem, WorkflowError, parse};
pub use template::{TemplateError, Values};

pub(crate) use check::check_step;
pub(crate) use parse::{Fields, is_step_id, near, read_table};

use muster_model::FailureReason;
use serde_json::{Map, Value};
use std::{collections::BTreeMap, fs, io, path::Path, time::Duration};

/// A sequence of steps on a device.
#[derive(Clone, Debug, PartialEq)]
pub struct Workflow {
    /// The name of its file.
    pub id: String,
    /// Timeout of the whole.
    pub timeout: Duration,
    /// In order.
    pub steps: Vec<Step>,
    /// Destination of uploads, if not the coordinator's usual one (N21): a path with `{KEY}`s that the coordinator
    /// knows.
    pub storage_path: Option<String>,
}

/// One step.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// `[A-Z0-9_]{1,64}`, unique within its workflow (N11).
    pub id: String,
    /// Executor of the step.
    pub kind: StepKind,
    /// A program and its arguments, or for `adb` the words after `adb`.
    pub command: Vec<String>,
    /// For `vendor`: what to ask for.
    pub action: Option<String>,
    /// Whatever its kind needs.
    pub params: Map<String, Value>,
    /// Timeout of one try.
    pub timeout: Duration,
    /// Consequence of a failure for the task.
    pub on_failure: OnFailure,
    /// Further tries after a failure, where `on_failure` is `Retry`.
    pub retries: u32,
}

/// Executor of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepKind {
    /// The adb server.
    Adb,
    /// The vendor's program.
    Vendor,
    /// Any program.
    Command,
    /// The agent: it uploads the last file that a step left behind.
    Upload,
    /// The agent: it compares.
    Assert,
    /// The agent: it waits `params.ms`.
    Sleep,
}

/// Consequence of a failure for the task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnFailure {
    /// The task fails.
    Stop,
    /// The next step follows.
    Continue,
    /// It is tried again, `retries` times; then the task fails.
    Retry,
}

/// Finds the reason that a word of the contract names (N13).
#[must_use]
pub fn reason_named(word: &str) -> Option<FailureReason> {
    FailureReason::from_word(word)
}

/// The workflows that this agent can run, by id.
///
/// An id that a backend sends is only ever looked up here; it never becomes part of a path.
#[derive(Clone, Debug, PartialEq)]
pub struct Workflows {
    by_id: BTreeMap<String, Workflow>,
}

impl Workflows {
    /// Reads those that ship with the agent, then a directory's `<workflow_id>.toml`, which may replace them.
    pub fn load(directory: Option<&Path>) -> Result<Self, WorkflowError> {
        let mut by_id = BTreeMap::new();
        for (id, text) in SHIPPED {
            by_id.insert((*id).to_owned(), parse(id, &format!("{id}.toml"), text)?);
        }
        if let Some(directory) = directory {
            let read = read_directory(directory)?;
            by_id.extend(read.into_iter().map(|workflow| (workflow.id.clone(), workflow)));
        }
        Ok(Self { by_id })
    }

    /// Finds one.
    #[must_use]
    pub fn get(&self, id: &str) -> Option<&Workflow> {
        self.by_id.get(id)
    }

    /// Lists them in the order of their ids.
    pub fn iter(&self) -> impl Iterator<Item = &Workflow> {
        self.by_id.values()
    }
}

fn read_directory(directory: &Path) -> Result<Vec<Workflow>, WorkflowError> {
    let unreadable = |error: io::Error| unreadable(directory, &error);
    let entries = fs::read_dir(directory).map_err(unreadable)?;
    let mut paths =
        entries.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>().map_err(unreadable)?;
    paths.retain(|path| is_workflow_file(path));
    // The first mistake reported is then always the same one.
    paths.sort();
    paths.iter().map(|path| read_file(path)).collect()
}

/// Leaves out what editors put beside a file, and whatever else lies there.
fn is_workflow_file(path: &Path) -> bool {
    let hidden = path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
    !hidden && path.extension().is_some_and(|extension| extension == "toml")
}

fn read_file(path: &Path) -> Result<Workflow, WorkflowError> {
    let id = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    let text = fs::read_to_string(path).map_err(|error| unreadable(path, &error))?;
    parse(id, &path.display().to_string(), &text)
}

fn unreadable(path: &Path, error: &io::Error) -> WorkflowError {
    Place::file(path.display().to_string()).error(Problem::Unreadable(error.to_string()))
}

const SHIPPED: &[(&str, &str)] =
    &[("login_settings_screenshot_v1", include_str!("../../workflows/login_settings_screenshot_v1.toml"))];

#[cfg(test)]
mod tests {
    use super::{OnFailure, StepKind, *};
    use std::{collections::BTreeSet, time::Duration};

    /// N22: the shipped workflow has the numbers of the contract.
    #[test]
    fn the_shipped_workflow_is_the_contracts() {
        let workflows = Workflows::load(None).unwrap();
        let workflow = workflows.get("login_settings_screenshot_v1").unwrap();
        assert_eq!(workflow.timeout, Duration::from_secs(180));
        let steps: Vec<_> = workflow
            .steps
            .iter()
            .map(|step| (step.id.as_str(), step.timeout.as_secs(), step.on_failure, step.retries))
            .collect();
        assert_eq!(
            steps,
            [
                ("PREFLIGHT", 20, OnFailure::Stop, 0),
                ("BOOTSTRAP", 5, OnFailure::Continue, 0),
                ("LOGIN_FLOW", 120, OnFailure::Stop, 0),
                ("SCREENSHOT", 30, OnFailure::Retry, 1),
                ("UPLOAD", 60, OnFailure::Retry, 2),
            ]
        );
        let kinds: Vec<_> = workflow.steps.iter().map(|step| step.kind).collect();
        let adb = StepKind::Adb;
        assert_eq!(kinds, [adb, adb, adb, adb, StepKind::Upload]);
    }

    /// N22: the example of the documentation is a workflow, as it stands there.
    #[test]
    fn the_documented_example_is_a_workflow() {
        let documented = include_str!("../../../../docs/workflows.md");
        let example = documented.split("```toml").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
        let workflow = parse("open_page_v1", "docs/workflows.md", example).unwrap();
        let kinds: BTreeSet<_> = workflow.steps.iter().map(|step| format!("{:?}", step.kind)).collect();
        assert_eq!(kinds.len(), 6, "one of each kind");
    }

    /// N22: a directory adds workflows and may replace the shipped ones.
    #[test]
    fn a_directory_adds_and_replaces() {
        let directory = tempfile::tempdir().unwrap();
        let text = "timeoutMs = 1\n[[steps]]\nid = 'A'\nkind = 'sleep'\nparams.ms = 1\ntimeoutMs = 1";
        for name in ["mine.toml", "login_settings_screenshot_v1.toml"] {
            fs::write(directory.path().join(name), text).unwrap();
        }
        for name in [".#mine.toml", "README.md"] {
            fs::write(directory.path().join(name), "not a workflow").unwrap();
        }
        let workflows = Workflows::load(Some(directory.path())).unwrap();
        let ids: Vec<_> =
            workflows.iter().map(|workflow| (workflow.id.as_str(), workflow.steps.len())).collect();
        assert_eq!(ids, [("login_settings_screenshot_v1", 1), ("mine", 1)]);
    }

    /// N22: a mistake names the file; a directory that is not there is not taken for an empty one.
    #[test]
    fn mistakes_name_the_file() {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("bad.toml"), "timeoutMs = 0").unwrap();
        let refusal = Workflows::load(Some(directory.path())).unwrap_err().to_string();
        assert!(refusal.contains("bad.toml: timeoutMs must be"), "{refusal}");
        let refusal = Workflows::load(Some(&directory.path().join("gone"))).unwrap_err();
        assert!(matches!(*refusal.problem, Problem::Unreadable(_)), "{refusal}");
    }

    /// N22: an id is a name to look up, not a path.
    #[test]
    fn an_id_is_no_path() {
        let workflows = Workflows::load(None).unwrap();
        for id in ["../login_settings_screenshot_v1", "/etc/passwd", "", "login_settings_screenshot_v1.toml"]
        {
            assert_eq!(workflows.get(id), None);
        }
    }
}
