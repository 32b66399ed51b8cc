//! From step to step.

use super::{Executor, Progress, reason};
use crate::driver::{Cause, ProducedFile, StepFailure};
use crate::workflow::{OnFailure, Step, Values, Workflow};
use crate::{Artifact, End, Job, StepStatus};
use muster_model::FailureReason;
use serde_json::Value;
use std::path::Path;
use tokio_util::sync::CancellationToken;

/// One task on its way.
pub(super) struct Walk<'a> {
    pub(super) executor: &'a Executor,
    pub(super) workflow: &'a Workflow,
    pub(super) job: &'a Job,
    pub(super) handle: &'a str,
    pub(super) params: Value,
    pub(super) scratch: &'a Path,
    pub(super) progress: Progress<'a>,
    pub(super) cancel: &'a CancellationToken,
}

/// What earlier steps left for later ones.
#[derive(Debug, Default)]
pub(super) struct Left {
    pub(super) text: Option<String>,
    pub(super) file: Option<ProducedFile>,
    pub(super) artifact: Option<Artifact>,
}

/// Why a step did not succeed.
#[derive(Debug)]
pub(super) enum Trouble {
    Failed(StepFailure),
    TimedOut,
}

impl Walk<'_> {
    pub(super) async fn run(&self) -> End {
        let mut left = Left::default();
        for step in &self.workflow.steps {
            if self.cancel.is_cancelled() {
                return End::Stopped { reason: FailureReason::Unknown };
            }
            (self.progress)(&step.id, StepStatus::Running);
            let Err(trouble) = self.step(step, &mut left).await else {
                (self.progress)(&step.id, StepStatus::Done);
                continue;
            };
            if self.cancel.is_cancelled() {
                return End::Stopped { reason: reason::of(step, Cause::Cancelled, true) };
            }
            if !goes_on(step) {
                return end(step, trouble);
            }
            tracing::info!(task = %self.job.task, step = step.id, ?trouble, "a step failed; the next one follows");
            // An assertion must not take an earlier step's words for those of the one that failed.
            left.text = None;
            (self.progress)(&step.id, StepStatus::Done);
        }
        End::Succeeded { artifact: left.artifact }
    }

    /// Does a step, as often as it takes and may.
    async fn step(&self, step: &Step, left: &mut Left) -> Result<(), Trouble> {
        let ready = self.ready(step).map_err(Trouble::Failed)?;
        let mut retries = step.retries;
        loop {
            let tried = self.one_try(&ready, left).await;
            if tried.is_ok() || retries == 0 || self.cancel.is_cancelled() {
                return tried;
            }
            retries -= 1;
        }
    }

    /// The step as this device needs it, with the run's parameters put in.
    fn ready(&self, step: &Step) -> Result<Step, StepFailure> {
        let step = self.executor.fleet.adapted(step)?;
        let filled = step.filled(&self.values());
        let mut ready = filled.map_err(|error| StepFailure {
            cause: Cause::Named(FailureReason::Unknown),
            message: error.to_string(),
        })?;
        // These are for the agent; a vendor's program is handed the rest as data.
        ready.params.retain(|key, _| !matches!(key.as_str(), "critical" | "failure_reason"));
        Ok(ready)
    }

    fn values(&self) -> Values<'_> {
        let own = vec![
            ("device_id", self.job.device.to_string()),
            ("runtime_handle", self.handle.to_owned()),
            ("run_id", self.job.run.to_string()),
            ("task_id", self.job.task.to_string()),
            ("attempt", self.job.attempt.to_string()),
        ];
        Values { own, params: &self.params }
    }
}

/// Whether the next step follows although this one failed.
fn goes_on(step: &Step) -> bool {
    let is_critical = step.params.get("critical").and_then(Value::as_bool).unwrap_or(false);
    step.on_failure == OnFailure::Continue && !is_critical
}

fn end(step: &Step, trouble: Trouble) -> End {
    let timed_out = matches!(trouble, Trouble::TimedOut);
    let (cause, error) = match trouble {
        Trouble::Failed(failure) => (failure.cause, format!("{}: {}", step.id, failure.message)),
        Trouble::TimedOut => {
            let limit = step.timeout.as_millis();
            (Cause::Cancelled, format!("timeout: {} took longer than {limit} ms", step.id))
        }
    };
    End::Failed {
        reason: reason::of(step, cause, timed_out),
        error: crate::job::bounded(&error).to_owned(),
        timed_out,
    }
}
