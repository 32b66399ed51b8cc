//! What an agent means by a request, told without the wire: the server must read the same from the bytes.

use crate::checker::Broken;
use muster_agent::core::{Attempt, EventKind, Outcome as AgentOutcome, PullRequest};
use muster_contract_nodes::read_event;
use muster_model::{
    DeviceReport, Name, NameError, Outcome, Pull, Report, ReportId, ReportKind, Step, TaskReport,
    TaskReportKind, Timestamp,
};
use std::str::FromStr;

/// The report that an agent makes with these bytes of its spool.
pub(super) fn report(worker: &Name, bytes: &[u8]) -> Result<Report, Broken> {
    let event = read_event(bytes).map_err(|error| strange(&error.to_string()))?;
    let id = ReportId::new(&event.id).map_err(|error| strange(&error.to_string()))?;
    let kind = match event.kind {
        EventKind::RunStarted { run, .. } => ReportKind::RunStarted { job: id_of(&run)? },
        EventKind::RunFinished { run, summary } => ReportKind::RunFinished { job: id_of(&run)?, summary },
        EventKind::TaskStarted { attempt, .. } => about(&attempt, TaskReportKind::Started)?,
        EventKind::TaskProgress { attempt, step, status } => {
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
pub(super) fn pull(worker: &Name, request: &PullRequest) -> Result<Pull, Broken> {
    let device = |attached: &muster_agent::Attached| {
        Ok(DeviceReport {
            device: name_of(&attached.device)?,
            handle: name_of(&attached.handle)?,
            attachment: attached.attachment,
        })
    };
    let devices = request.devices.as_ref().map(|devices| devices.iter().map(device).collect());
    Ok(Pull { worker: worker.clone(), max: request.max_jobs, devices: devices.transpose()? })
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

fn id_of<T: FromStr>(text: &str) -> Result<T, Broken> {
    text.parse().map_err(|_| strange(text))
}

fn name_of(text: &str) -> Result<Name, Broken> {
    Name::new(text).map_err(|error: NameError| strange(&format!("{text}: {error}")))
}

fn strange(what: &str) -> Broken {
    Broken::new("agent_speaks_strangely", what.to_owned())
}
