//! Walks a device through a workflow (N22).
//!
//! `walk` goes from step to step, gives each try a time limit and knows what a failure means. Each task has a directory
//! of its own.

mod walk;

#[cfg(test)]
mod tests;

use crate::{
    Artifact, End, Job, StepStatus,
    driver::{Cause, Fleet, StepFailure, command::CommandDriver},
    workflow::{Step, StepKind, Workflows, reason_named},
};
use muster_model::{FailureReason, Millis};
use serde_json::Value;
use std::{
    fmt::Debug,
    io,
    path::{Path, PathBuf},
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};
use tokio::{fs, sync::OnceCell};
use tokio_util::sync::CancellationToken;

/// Receiver of the progress of steps.
pub type Progress<'a> = &'a (dyn Fn(&str, StepStatus) + Send + Sync);

/// Executes jobs, any number at once.
#[derive(Debug)]
pub struct Executor {
    /// The workflows that can be executed.
    pub workflows: Workflows,
    /// On what.
    pub fleet: Fleet,
    /// Runs the programs of steps.
    pub programs: CommandDriver,
    /// Takes the files that tasks leave behind.
    pub uploads: Arc<dyn Uploads>,
    /// Directory for files of running tasks.
    pub scratch: Scratch,
}

impl Executor {
    /// Executes a job on the device that `handle` reaches now. Returns when nothing of it runs any more.
    ///
    /// `cancel` ends it with [`End::Stopped`]; a job that has done its last step by then has succeeded all the same.
    #[allow(clippy::too_many_arguments, reason = "what, where, who hears of it, who may end it")]
    pub async fn run(
        &self,
        job: &Job,
        handle: &str,
        progress: Progress<'_>,
        cancel: &CancellationToken,
    ) -> End {
        let Some(workflow) = self.workflows.get(&job.workflow) else { return self.no_workflow(job) };
        let params = match serde_json::from_str(&job.params) {
            Ok(params) => params,
            Err(error) => return failed(format!("the run's parameters are no JSON: {error}")),
        };
        let scratch = match self.scratch.make().await {
            Ok(scratch) => scratch,
            Err(error) => return failed(format!("no directory for the task: {error}")),
        };
        let walk =
            walk::Walk { executor: self, workflow, job, handle, params, scratch: &scratch, progress, cancel };
        let end = walk.run().await;
        self.scratch.remove(&scratch).await;
        end
    }

    /// Timeout of each workflow as a whole; its runner must cancel it then.
    pub fn timeouts(&self) -> impl Iterator<Item = (&str, Millis)> {
        self.workflows.iter().map(|workflow| {
            let millis = i64::try_from(workflow.timeout.as_millis()).unwrap_or(i64::MAX);
            (workflow.id.as_str(), Millis(millis))
        })
    }

    fn no_workflow(&self, job: &Job) -> End {
        let known: Vec<&str> = self.workflows.iter().map(|workflow| workflow.id.as_str()).collect();
        failed(format!("no workflow {:?} here; there is {}", job.workflow, known.join(", ")))
    }
}

fn failed(error: String) -> End {
    End::Failed {
        reason: FailureReason::Unknown,
        error: crate::core::bounded(&error).to_owned(),
        timed_out: false,
    }
}

/// Finds it: what the driver could tell counts first, then what the step says of itself, then which step it was.
fn reason_of(step: &Step, cause: Cause, timed_out: bool) -> FailureReason {
    match cause {
        Cause::NeedsUsbAuthorization => FailureReason::NeedsUsbAuthorization,
        Cause::AdbOffline => FailureReason::AdbOffline,
        Cause::AdbMissing => FailureReason::AdbMissing,
        Cause::VendorWs => FailureReason::VendorWsError,
        Cause::VendorCommand => FailureReason::VendorCommandError,
        Cause::EmulatorNotOnline => FailureReason::EmulatorNotOnline,
        Cause::EmulatorNotBooted => FailureReason::EmulatorNotBooted,
        Cause::Named(reason) => reason,
        Cause::Cancelled | Cause::Other => reason_of_step(step, timed_out),
    }
}

fn reason_of_step(step: &Step, timed_out: bool) -> FailureReason {
    let named = step.params.get("failure_reason").and_then(Value::as_str).and_then(reason_named);
    let usual = match (step.id.as_str(), step.kind) {
        ("BOOTSTRAP", _) => FailureReason::BootstrapCriticalFailed,
        ("LOGIN_FLOW", _) if timed_out => FailureReason::LoginFlowTimeout,
        ("SCREENSHOT", _) => FailureReason::ScreenshotError,
        ("UPLOAD", _) | (_, StepKind::Upload) => FailureReason::UploadError,
        _ => FailureReason::Unknown,
    };
    named.unwrap_or(usual)
}

/// Takes the files that tasks leave behind to where they are kept (N21).
pub trait Uploads: Debug + Send + Sync {
    /// Uploads a file. Returns soon after `cancel` was asked for.
    fn upload<'a>(&'a self, upload: Upload<'a>) -> UploadFuture<'a>;
}

/// An upload under way.
pub type UploadFuture<'a> = Pin<Box<dyn Future<Output = Result<Artifact, StepFailure>> + Send + 'a>>;

/// A file to be uploaded.
#[derive(Clone, Copy, Debug)]
pub struct Upload<'a> {
    /// Whose file.
    pub job: &'a Job,
    /// Its path.
    pub file: &'a Path,
    /// Such as `screenshot`.
    pub kind: &'a str,
    /// Such as `image/png`.
    pub content_type: &'a str,
    /// Tells several uploads of one task apart; the step's id where its workflow has more than one.
    pub name: Option<&'a str>,
    /// The workflow's template for the path, where it has one.
    pub storage_path: Option<&'a str>,
    /// Asks to end.
    pub cancel: &'a CancellationToken,
}

/// Directories for tasks, below a directory that only the agent uses.
///
/// Directories of an earlier life of the agent are removed before the first new one is made, not sooner: until then
/// programs of that life may still write there.
#[derive(Debug)]
pub struct Scratch {
    root: PathBuf,
    last: AtomicU64,
    emptied: OnceCell<()>,
}

impl Scratch {
    /// Touches nothing yet.
    #[must_use]
    pub fn new(root: PathBuf) -> Self {
        Self { root, last: AtomicU64::new(0), emptied: OnceCell::new() }
    }

    /// Makes an empty directory. Its name is a number: nothing that a backend sent becomes part of a path.
    async fn make(&self) -> io::Result<PathBuf> {
        self.emptied.get_or_try_init(|| empty(&self.root)).await?;
        let number = self.last.fetch_add(1, Ordering::Relaxed) + 1;
        let path = std::path::absolute(self.root.join(number.to_string()))?;
        fs::DirBuilder::new().mode(0o700).create(&path).await?;
        Ok(path)
    }

    async fn remove(&self, path: &Path) {
        if let Err(error) = fs::remove_dir_all(path).await {
            tracing::warn!(path = %path.display(), %error, "a task's directory is left behind");
        }
    }
}

async fn empty(root: &Path) -> io::Result<()> {
    match fs::remove_dir_all(root).await {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => fs::DirBuilder::new().mode(0o700).recursive(true).create(root).await,
    }
}
