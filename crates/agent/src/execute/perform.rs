//! One try of one step.

use super::uploads::Upload;
use super::walk::{Left, Trouble, Walk};
use crate::Artifact;
use crate::driver::{StepCall, StepFailure, StepOutput};
use crate::workflow::{Step, StepKind};
use serde_json::Value;
use std::{pin::pin, time::Duration};

/// What a try came to.
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
