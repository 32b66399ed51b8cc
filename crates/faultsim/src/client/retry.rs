//! Retries of runs, on the devices on which they failed (Q15).

use crate::{
    checker::{Broken, ensure},
    message::Request,
    network::{Sender, Ticket},
    scene::Scene,
};
use muster_contract_operations::{Retry, failure_of, read_key, read_retry};
use muster_model::{Command, JobId, Name, Submission, SubmissionKey, TaskRecord};
use muster_problem::Problem;
use serde_json::json;
use std::collections::BTreeSet;

/// A retry of a run. Its key lets the server recognise a repeat.
#[derive(Clone, Debug)]
pub(super) struct RetryOrder {
    run: JobId,
    key: SubmissionKey,
    /// Only devices that failed so.
    failure_reason: Option<String>,
    title: Option<String>,
}

impl RetryOrder {
    /// The nth retry, of a run of which some device failed.
    pub(super) fn draw(n: usize, run: JobId, scene: &mut Scene) -> Self {
        let rows: Vec<TaskRecord> = scene.checker.failed_rows(run).cloned().collect();
        let is_picky = scene.dice.chance(500);
        let reason = scene.dice.pick(&rows).filter(|_| is_picky).map(|row| failure_of(row.error.as_deref()));
        Self {
            run,
            key: SubmissionKey::new(&format!("retry-{n}")).expect("a plain key"),
            failure_reason: reason.map(str::to_owned),
            title: n.is_multiple_of(2).then(|| format!("once more {n}")),
        }
    }

    /// Sends the request. The server looks up which devices failed; more may have since it was sent first.
    pub(super) fn send(&self, scene: &mut Scene) -> Option<Ticket> {
        let body = json!({"failure_reason": self.failure_reason, "title": self.title});
        let submission = self.accept(&Request::json(&body).with_key(Some(&self.key)), scene);
        let submission = scene.understood(submission)?;
        Some(scene.ask(Sender::Client, Command::Submit(Box::new(submission)), None))
    }

    /// Reads the request as the server does, and makes a run of it.
    fn accept(&self, request: &Request, scene: &Scene) -> Result<Submission, Broken> {
        let misread = |read: &Result<Retry, Problem>| {
            Broken::new("request_misread", format!("{self:?} was read as {read:?}"))
        };
        let read = request.opt_value().and_then(|body| read_retry(body.as_ref()));
        let Ok(retry) = &read else { return Err(misread(&read)) };
        let rows = scene.checker.failed_rows(self.run);
        let devices: BTreeSet<Name> =
            rows.filter(|row| retry.means(row.error.as_deref())).map(|row| row.lane.clone()).collect();
        let job = scene.checker.job(self.run).cloned();
        let timeout = scene.plan.settings.attempt_timeout;
        let run =
            job.and_then(|job| retry.submission(job, devices, timeout)).ok_or_else(|| misread(&read))?;
        let key = read_key(&request.headers).ok().flatten();
        let is_meant = retry.failure_reason == self.failure_reason
            && key.as_ref() == Some(&self.key)
            && self.title.as_deref().is_none_or(|title| run.payload.title.as_deref() == Some(title));
        ensure(is_meant, "request_misread", || format!("{self:?} was read as {read:?} and {key:?}"))?;
        Ok(Submission { key, ..run })
    }
}
