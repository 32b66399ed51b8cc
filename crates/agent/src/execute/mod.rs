//! Walks a device through a workflow (N22).
//!
//! `walk` goes from step to step and knows what a failure means; `perform` has one try of a step done, in time;
//! `reason` finds the contract's word for a failure; `scratch` gives each task a directory of its own.

mod perform;
mod reason;
mod scratch;
mod uploads;
mod walk;

#[cfg(test)]
mod tests;

pub use scratch::Scratch;
pub use uploads::{Upload, UploadFuture, Uploads};

use crate::driver::Fleet;
use crate::driver::command::CommandDriver;
use crate::workflow::Workflows;
use crate::{End, Job, StepStatus};
use muster_model::{FailureReason, Millis};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// Whoever is told where a step stands.
pub type Progress<'a> = &'a (dyn Fn(&str, StepStatus) + Send + Sync);

/// Executes jobs, any number at once.
#[derive(Debug)]
pub struct Executor {
    /// What can be executed.
    pub workflows: Workflows,
    /// On what.
    pub fleet: Fleet,
    /// Runs the programs of steps.
    pub programs: CommandDriver,
    /// Takes the files that tasks leave behind.
    pub uploads: Arc<dyn Uploads>,
    /// Where tasks leave files while they run.
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

    /// The devices.
    #[must_use]
    pub fn fleet(&self) -> &Fleet {
        &self.fleet
    }

    /// Whether the vendor's control channel works, where one is used (N8).
    #[must_use]
    pub fn vendor_ws_ok(&self) -> bool {
        self.fleet.vendor_ws_ok()
    }

    /// How long each workflow may take as a whole; whoever runs it must cancel it then.
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
        error: crate::job::bounded(&error).to_owned(),
        timed_out: false,
    }
}
