//! From step to step.

use super::{Executor, Progress, Upload, reason_of};
use crate::{
    Artifact, End, Job, StepStatus,
    driver::{Cause, ProducedFile, StepCall, StepFailure, StepOutput},
    workflow::{OnFailure, Step, StepKind, Values, Workflow},
};
use muster_model::FailureReason;
use serde_json::Value;
use std::{path::Path, pin::pin, time::Duration};
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

/// Output of earlier steps for later ones.
#[derive(Debug, Default)]
pub(super) struct Left {
    pub(super) text: Option<String>,
    pub(super) file: Option<ProducedFile>,
    pub(super) artifact: Option<Artifact>,
}

/// Failure of a try of a step.
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
                return End::Stopped { reason: reason_of(step, Cause::Cancelled, true) };
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

/// True if the next step follows although this one failed.
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
        reason: reason_of(step, cause, timed_out),
        error: crate::core::bounded(&error).to_owned(),
        timed_out,
    }
}

/// Result of a try.
enum Done {
    Output(StepOutput),
    Uploaded(Artifact),
}

impl Walk<'_> {
    /// Tries a step once. Returns when nothing of the try runs any more, in time or not.
    pub(super) async fn one_try(&self, step: &Step, left: &mut Left) -> Result<(), Trouble> {
        let cancel = self.cancel.child_token();
        let call = StepCall {
            device: &self.job.device,
            handle: self.handle,
            step,
            params: &self.params,
            attempt: self.job.attempt,
            scratch: self.scratch,
            cancel: &cancel,
        };
        let done = {
            let mut work = pin!(self.perform(&call, left));
            tokio::select! {
                biased;
                done = &mut work => done,
                () = tokio::time::sleep(step.timeout) => {
                    cancel.cancel();
                    // Whatever it answers now is too late, but it must have ended.
                    let _ = work.await;
                    return Err(Trouble::TimedOut);
                }
            }
        };
        left.take(done.map_err(Trouble::Failed)?);
        Ok(())
    }

    async fn perform(&self, call: &StepCall<'_>, left: &Left) -> Result<Done, StepFailure> {
        let executor = self.executor;
        match (executor.fleet.simulated(), call.step.kind) {
            (Some(simulated), StepKind::Upload) => match simulated.picture(call).await? {
                Some(file) => self.upload(call, &Left { file: Some(file), ..Left::default() }).await,
                None => simulated.upload(call, self.job).await,
            }
            .map(Done::Uploaded),
            (Some(simulated), _) => simulated.perform(call).await.map(Done::Output),
            (None, StepKind::Adb) => executor.fleet.adb().perform(call).await.map(Done::Output),
            (None, StepKind::Vendor) => executor.fleet.vendor().perform(call).await.map(Done::Output),
            (None, StepKind::Command) => executor.programs.perform(call, self.job).await.map(Done::Output),
            (None, StepKind::Upload) => self.upload(call, left).await.map(Done::Uploaded),
            (None, StepKind::Assert) => assert(call.step, left.text.as_deref()).map(Done::Output),
            (None, StepKind::Sleep) => sleep(call).await.map(Done::Output),
        }
    }

    async fn upload(&self, call: &StepCall<'_>, left: &Left) -> Result<Artifact, StepFailure> {
        let file =
            left.file.as_ref().ok_or_else(|| StepFailure::other("no step before left a file behind"))?;
        let kind = call.step.params.get("kind").and_then(Value::as_str).unwrap_or(&file.kind);
        let uploads = self.workflow.steps.iter().filter(|step| step.kind == StepKind::Upload).count();
        let upload = Upload {
            job: self.job,
            file: &file.path,
            kind,
            content_type: &file.content_type,
            name: (uploads > 1).then_some(call.step.id.as_str()),
            storage_path: self.workflow.storage_path.as_deref(),
            cancel: call.cancel,
        };
        self.executor.uploads.upload(upload).await
    }
}

impl Left {
    fn take(&mut self, done: Done) {
        match done {
            Done::Output(output) => {
                self.text = output.text.or_else(|| self.text.take());
                self.file = output.file.or_else(|| self.file.take());
            }
            Done::Uploaded(artifact) => self.artifact = Some(artifact),
        }
    }
}

/// Compares what the last step said that said something.
fn assert(step: &Step, said: Option<&str>) -> Result<StepOutput, StepFailure> {
    let said = said.ok_or_else(|| StepFailure::other("the step before said nothing"))?.trim();
    let wanted = |key: &str| step.params.get(key).and_then(Value::as_str);
    let unlike = |how: &str, wanted: &str| {
        let said: String = said.chars().take(SAID_CHARS_MAX).collect();
        Err(StepFailure::other(format!("{said:?} {how} {wanted:?}")))
    };
    if let Some(wanted) = wanted("equals").filter(|wanted| wanted.trim() != said) {
        return unlike("is not", wanted);
    }
    match wanted("contains").filter(|wanted| !said.contains(wanted)) {
        Some(wanted) => unlike("does not contain", wanted),
        None => Ok(StepOutput::default()),
    }
}

async fn sleep(call: &StepCall<'_>) -> Result<StepOutput, StepFailure> {
    let given = call.step.params.get("ms");
    let number = given.and_then(|ms| ms.as_u64().or_else(|| ms.as_str()?.trim().parse().ok()));
    let no_number =
        || StepFailure::other(format!("params.ms is no number: {}", given.unwrap_or(&Value::Null)));
    let pause = Duration::from_millis(number.ok_or_else(no_number)?);
    tokio::select! {
        biased;
        () = call.cancel.cancelled() => Err(StepFailure::cancelled()),
        () = tokio::time::sleep(pause) => Ok(StepOutput::default()),
    }
}

const SAID_CHARS_MAX: usize = 200;
