//! N4–N7, N9–N16: what a worker's report makes true, once.

use super::{Context, Decided, Decision, Refused, job::ended_status};
use crate::{
    Mutant,
    devices::{
        rule::retry::{Ending, end_attempt},
        state::{State, Task},
    },
};
use alloc::{boxed::Box, format, vec::Vec};
use muster_model::{
    AlertKind, AlertRecord, Event, Fact, JobId, JobStatus, Key, Millis, Name, Outcome, Recorded, Rejection,
    Report, ReportKind, ReportSubject, RunSummary, TaskId, TaskRecord, TaskReport, TaskReportKind,
    TaskStatus,
};

/// Sum of the parts of a decision.
struct Effect {
    events: Vec<Event>,
    recorded: Recorded,
}

impl Effect {
    fn applied(events: Vec<Event>) -> Self {
        Self { events, recorded: Recorded::Applied }
    }

    fn stale() -> Self {
        Self { events: Vec::new(), recorded: Recorded::Stale }
    }
}

/// Decides a report. The id alone makes it a repeat, whatever else differs; an id that was used for another subject is
/// refused, with an alert (N5).
pub(crate) fn decide(state: &State, report: Box<Report>, context: &Context<'_>) -> Decided<Recorded> {
    let subject = subject_of(state, &report);
    match earlier_subject(state, &report, context) {
        None => {}
        Some(earlier) if earlier.is_none_or(|earlier| earlier == subject && names_own_run(&report)) => {
            return Ok(Decision::unchanged(Recorded::Duplicate));
        }
        Some(_) => {
            let events = conflict_alert(state, &report, context).into_iter().collect();
            return Err(Refused { events, rejection: Rejection::ReportConflict });
        }
    }
    if report.at < context.now - state.settings.report_id_retention {
        return Ok(Decision::unchanged(Recorded::Stale));
    }
    let (task, effect) = match &report.kind {
        ReportKind::RunStarted { job } => {
            check_job(state, *job, context)?;
            (None, Effect::applied(Vec::new()))
        }
        ReportKind::RunFinished { job, summary } => {
            check_job(state, *job, context)?;
            (None, run_finished(state, &report, &RunEnd { job: *job, summary: *summary }, context))
        }
        ReportKind::Task(task) => (Some(task.task), about_task(state, &report, task, context)?),
    };
    let mut events = effect.events;
    events.extend(stop_ended(state, &report, context));
    let Report { id, worker, body, .. } = *report;
    let at = context.now;
    events.push(Event::ReportRecorded { id, subject, worker, task, effect: effect.recorded, body, at });
    Ok(Decision { events, reply: effect.recorded })
}

/// True if a report about a task names the task's own run.
fn names_own_run(report: &Report) -> bool {
    match &report.kind {
        ReportKind::Task(about) => about.job == about.task.job,
        ReportKind::RunStarted { .. } | ReportKind::RunFinished { .. } => true,
    }
}

/// The end of what a worker was told to stop: the attempt that it lost, not one before it.
fn stop_ended(state: &State, report: &Report, context: &Context<'_>) -> Option<Event> {
    let ReportKind::Task(about) = &report.kind else { return None };
    let ended = matches!(about.kind, TaskReportKind::Finished { .. });
    if !ended || !is_told_to_stop(state, report, about.task) {
        return None;
    }
    let (holder, attempt) = last_attempt(state, about.task, context)?;
    let older = holder == report.worker && about.attempt.is_some_and(|told| told < attempt);
    (!older).then(|| Event::StopEnded { worker: report.worker.clone(), task: about.task })
}

fn is_told_to_stop(state: &State, report: &Report, task: TaskId) -> bool {
    let worker = state.workers.ix(&report.worker);
    worker.is_some_and(|ix| state.workers[ix].superseded.contains(&task))
}

/// Holder and number of the last attempt of a task.
fn last_attempt(state: &State, id: TaskId, context: &Context<'_>) -> Option<(Name, u16)> {
    let live = state.task(id).map(|task| (state.workers[task.worker].name.clone(), task.attempt));
    live.or_else(|| ended_task(state, id, context).map(|task| (task.worker.clone(), task.attempt)))
}

/// The subject under which a report is remembered. A planted bug makes the timestamp a part of it.
fn subject_of(state: &State, report: &Report) -> ReportSubject {
    let subject = report.subject();
    match state.has_bug(Mutant::TimestampInSubject) {
        true => {
            ReportSubject { job: JobId(subject.job.0 ^ u128::from(report.at.0.unsigned_abs())), ..subject }
        }
        false => subject,
    }
}

/// The subject of the report that used this id before. `Some(None)`: an older version took it and kept no subject.
fn earlier_subject(state: &State, report: &Report, context: &Context<'_>) -> Option<Option<ReportSubject>> {
    if let Some(subject) = state.recent.reports.get(&report.id) {
        return Some(Some(*subject));
    }
    if context.facts.is_empty() {
        return None;
    }
    match context.facts.get(&Key::Report(report.id.clone()))? {
        Fact::Report(subject) => Some(*subject),
        _ => None,
    }
}

/// The alert about an id that was used twice; at most one per worker and minute, since a faulty worker may go on.
fn conflict_alert(state: &State, report: &Report, context: &Context<'_>) -> Option<Event> {
    let worker = &state.workers[state.workers.ix(&report.worker)?];
    if worker.conflict_alerted_at.is_some_and(|at| context.now < at + CONFLICT_ALERT_EVERY) {
        return None;
    }
    let message = format!(
        "{} used the event id {:?} for two different events; the second one was refused",
        report.worker,
        report.id.as_str()
    );
    Some(Event::AlertRaised(AlertRecord {
        id: context.number(0),
        kind: AlertKind::EventConflict,
        worker: report.worker.clone(),
        job: None,
        message: message.into(),
        at: context.now,
    }))
}

fn check_job(state: &State, job: JobId, context: &Context<'_>) -> Result<(), Rejection> {
    let known = state.job_ids.contains_key(&job) || ended_status(state, job, context).is_some();
    if known { Ok(()) } else { Err(Rejection::JobUnknown) }
}

/// End of a worker's share of a run, with its own count.
struct RunEnd {
    job: JobId,
    summary: RunSummary,
}

/// Compares the node's count with the rows, and lets go of the share (N8b, N14).
fn run_finished(state: &State, report: &Report, end: &RunEnd, context: &Context<'_>) -> Effect {
    let RunEnd { job, summary: said } = *end;
    let Some(worker) = state.workers.ix(&report.worker).map(|ix| &state.workers[ix]) else {
        return Effect::applied(Vec::new());
    };
    // A worker that has ended its share runs nothing of it, so stops whose end it could never report are over too.
    let stops = worker.superseded.iter().filter(|task| task.job == job);
    let stop_ended = |task: &TaskId| Event::StopEnded { worker: report.worker.clone(), task: *task };
    let mut events: Vec<Event> = stops.map(stop_ended).collect();
    let Some(share) =
        worker.shares.iter().map(|(_, share)| share).find(|share| share.job == job && share.first.is_some())
    else {
        return Effect::applied(events);
    };
    let counts = share.counts;
    let same = said.succeeded == u64::from(counts.completed)
        && [counts.failed, counts.failed_attempts].map(u64::from).contains(&said.failed)
        && share.is_drained();
    // The node counts stopped tasks as failed, the rows count them as cancelled: both are right.
    let live = state.job(job).map(|job| job.status);
    let is_cancelled = live.or_else(|| ended_status(state, job, context)) == Some(JobStatus::Cancelled);
    if !same && !is_cancelled {
        let message = format!(
            "{} reports {} succeeded and {} failed for run {job}; the rows say {} completed, {} failed and {} open",
            report.worker,
            said.succeeded,
            said.failed,
            counts.completed,
            counts.failed,
            share.open_rows + share.lacking,
        );
        events.push(Event::AlertRaised(AlertRecord {
            id: context.number(0),
            kind: AlertKind::SummaryMismatch,
            worker: report.worker.clone(),
            job: Some(job),
            message: message.into(),
            at: context.now,
        }));
    }
    if share.is_drained() {
        events.push(Event::ShareClosed { worker: report.worker.clone(), job });
    }
    Effect::applied(events)
}

fn about_task(
    state: &State,
    report: &Report,
    about: &TaskReport,
    context: &Context<'_>,
) -> Result<Effect, Rejection> {
    check_job(state, about.job, context)?;
    if about.task.job != about.job {
        return Err(Rejection::TaskUnknown);
    }
    let result = match state.task(about.task) {
        Some(task) => {
            let subject =
                Subject { holder: &state.workers[task.worker].name, lane: &state.lanes[task.lane].name };
            check_names(report, about, &subject).map(|()| about_live_task(state, task, about, context))
        }
        None => {
            let ended = ended_task(state, about.task, context).ok_or(Rejection::TaskUnknown)?;
            let subject = Subject { holder: &ended.worker, lane: &ended.lane };
            check_names(report, about, &subject).map(|()| about_ended_task(&ended, about))
        }
    };
    match result {
        // Its device has moved and another has the task now: the end it was told to report is merely stale.
        Err(Rejection::NotHolder { .. }) if is_told_to_stop(state, report, about.task) => Ok(Effect::stale()),
        result => result,
    }
}

/// Present or last holder of a task, and its device.
struct Subject<'a> {
    holder: &'a Name,
    lane: &'a Name,
}

fn check_names(report: &Report, about: &TaskReport, subject: &Subject<'_>) -> Result<(), Rejection> {
    let Subject { holder, lane } = *subject;
    if about.lane != *lane {
        return Err(Rejection::LaneUnknown);
    }
    if report.worker != *holder {
        return Err(Rejection::NotHolder { holder: holder.clone() });
    }
    Ok(())
}

/// A task that ended, from memory or from the store.
pub(crate) fn ended_task(state: &State, id: TaskId, context: &Context<'_>) -> Option<Box<TaskRecord>> {
    if let Some(task) = state.recent.tasks.get(&id) {
        return Some(task.clone());
    }
    match context.facts.get(&Key::Task(id))? {
        Fact::Task(task) => Some(task.clone()),
        _ => None,
    }
}

/// A task that ended stays ended; what belongs to the attempt that ended it is merely late (N7).
fn about_ended_task(task: &TaskRecord, about: &TaskReport) -> Effect {
    let same_attempt = about.attempt.is_none_or(|attempt| attempt == task.attempt)
        && about.fence.is_none_or(|fence| fence == task.fence);
    match about.kind {
        TaskReportKind::Started | TaskReportKind::Progress(_) if same_attempt => Effect::applied(Vec::new()),
        _ => Effect::stale(),
    }
}

fn about_live_task(state: &State, task: &Task, about: &TaskReport, context: &Context<'_>) -> Effect {
    if is_stale(task, about) && !state.has_bug(Mutant::FenceNotChecked) {
        return Effect::stale();
    }
    let (id, attempt, at) = (about.task, task.attempt, context.now);
    let mut events = Vec::new();
    if task.lease.is_some() && !task.confirmed_at.is_some() {
        events.push(Event::LeaseConfirmed { task: id, attempt, at });
    }
    match &about.kind {
        TaskReportKind::Started => {}
        TaskReportKind::Progress(step) => {
            events.push(Event::TaskProgressed { task: id, attempt, step: step.clone() });
        }
        TaskReportKind::Finished { outcome, result, .. } => {
            // A task that waits again has its last attempt counted as failed already: only a late
            // success changes anything (N15b).
            if task.status() == TaskStatus::Running || *outcome == Outcome::Succeeded {
                let ending = Ending { task: id, outcome: outcome.clone(), result: result.clone(), at };
                events.extend(end_attempt(state, task, ending));
            }
        }
    }
    Effect::applied(events)
}

/// True if a report speaks of another attempt than the last one (N6b).
fn is_stale(task: &Task, about: &TaskReport) -> bool {
    let other_attempt = about.attempt.is_some_and(|attempt| attempt != task.attempt);
    let other_fence = about.fence.is_some_and(|fence| fence != task.fence);
    let began_before = match &about.kind {
        // Before the first attempt there was none it could speak of: a node's clock may simply be behind.
        TaskReportKind::Finished { started_at, .. } if about.attempt.is_none() && about.fence.is_none() => {
            task.attempt > 1 && *started_at < task.granted_at && task.lease.is_some()
        }
        _ => false,
    };
    other_attempt || other_fence || began_before
}

const CONFLICT_ALERT_EVERY: Millis = Millis::from_secs(60);

#[cfg(test)]
mod tests;
