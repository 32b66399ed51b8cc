//! From the agent's words to the coordinator's and back, as the wire and the dialect would.

use crate::checker::Broken;
use muster_agent::{
    Job, StepStatus as AgentStep, Text,
    core::{AnnouncedRun, Attempt, EventKind, Outcome as AgentOutcome, PullRequest, PulledWork},
};
use muster_contract_nodes::read_event;
use muster_model::{
    DeviceReport, Handout, Millis, Name, NameError, Outcome, Pull, PullReply, Report, ReportId, ReportKind,
    RunSummary, Step, StepStatus, TaskReport, TaskReportKind, Timestamp,
};
use std::str::FromStr;

/// What every run of these worlds executes.
pub(super) const WORKFLOW: &str = "w";

/// The report that spooled bytes are.
pub(super) fn report(worker: &Name, bytes: &[u8]) -> Result<Report, Broken> {
    let event = read_event(bytes).map_err(|error| strange(&error.to_string()))?;
    let id = ReportId::new(&event.id).map_err(|error| strange(&error.to_string()))?;
    let kind = match event.kind {
        EventKind::RunStarted { run, .. } => ReportKind::RunStarted { job: id_of(&run)? },
        EventKind::RunFinished { run, summary } => ReportKind::RunFinished {
            job: id_of(&run)?,
            summary: RunSummary {
                succeeded: summary.succeeded,
                failed: summary.failed,
                timeout: summary.timeout,
            },
        },
        EventKind::TaskStarted { attempt, .. } => about(&attempt, TaskReportKind::Started)?,
        EventKind::TaskProgress { attempt, step, status } => {
            let status = match status {
                AgentStep::Running => StepStatus::Running,
                AgentStep::Done => StepStatus::Done,
            };
            let step = Step { name: name_of(&step)?, status, at: event.at };
            about(&attempt, TaskReportKind::Progress(step))?
        }
        EventKind::TaskFinished { attempt, started_at, outcome } => {
            about(&attempt, finished(outcome, started_at))?
        }
    };
    let worker = worker.clone();
    Ok(Report { id, worker, at: event.at, body: "{}".into(), kind })
}

/// A request for work.
pub(super) fn pull(worker: &Name, request: PullRequest) -> Result<Pull, Broken> {
    let device = |attached: muster_agent::Attached| {
        Ok(DeviceReport {
            device: name_of(&attached.device)?,
            handle: name_of(&attached.handle)?,
            attachment: attached.attachment,
        })
    };
    let devices = request.devices.map(|devices| devices.into_iter().map(device).collect());
    Ok(Pull { worker: worker.clone(), max: request.max_jobs, devices: devices.transpose()? })
}

/// What a pull was answered with.
pub(super) fn pulled(reply: &PullReply, timeout: Millis) -> PulledWork {
    let job = |handout: &Handout| Job {
        task: written(handout.task),
        run: written(handout.task.job),
        device: handout.lane.as_str().into(),
        handle: handout.handle.as_str().into(),
        workflow: WORKFLOW.into(),
        params: "{}".into(),
        timeout,
        attempt: handout.attempt.into(),
        token: Some(written(handout.fence)),
    };
    let runs = reply.announced.iter().map(|announced| AnnouncedRun {
        run: written(announced.job),
        targets: announced.targets.into(),
        max_concurrency: announced.slots.into(),
    });
    PulledWork {
        runs: runs.collect(),
        jobs: reply.handouts.iter().map(job).collect(),
        finished_runs: reply.finished.iter().map(written).collect(),
        stop: reply.stop.iter().map(written).collect(),
        stop_jobs: reply.stopping.iter().map(job).collect(),
        warnings: Vec::new(),
    }
}

fn about(attempt: &Attempt, kind: TaskReportKind) -> Result<ReportKind, Broken> {
    Ok(ReportKind::Task(TaskReport {
        job: id_of(&attempt.run)?,
        task: id_of(&attempt.task)?,
        lane: name_of(&attempt.device)?,
        attempt: u16::try_from(attempt.number).ok(),
        fence: attempt.token.as_ref().map(|token| id_of(token)).transpose()?,
        kind,
    }))
}

fn finished(outcome: AgentOutcome, started_at: Timestamp) -> TaskReportKind {
    let outcome = match outcome {
        AgentOutcome::Succeeded { .. } => Outcome::Succeeded,
        AgentOutcome::Failed { reason, error } => {
            Outcome::Failed { reason: Some(reason), error: Some((&*error).into()) }
        }
    };
    TaskReportKind::Finished { outcome, started_at, result: None }
}

fn written(id: impl ToString) -> Text {
    id.to_string().into()
}

fn id_of<T: FromStr>(text: &str) -> Result<T, Broken> {
    text.parse().map_err(|_| strange(text))
}

fn name_of(text: &str) -> Result<Name, Broken> {
    Name::new(text).map_err(|error: NameError| strange(&format!("{text}: {error}")))
}

fn strange(what: &str) -> Broken {
    Broken::new("agent_speaks_strangely", what.to_owned())
}
