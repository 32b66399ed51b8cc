//! N4–N7, N9–N16: what a worker's report makes true, once.

use super::{Context, Decided, Decision, submit::ended_status};
use crate::{
    Mutant,
    rule::retry::{Ending, end_attempt},
    state::{State, Task},
};
use alloc::{boxed::Box, format, vec::Vec};
use muster_model::{
    AlertKind, AlertRecord, Digest, Event, Fact, JobId, JobStatus, Key, Name, Outcome, Recorded, Rejection,
    Reply, Report, ReportKind, RunSummary, TaskId, TaskRecord, TaskReport, TaskReportKind, TaskStatus,
};

/// What the parts of a decision add up to.
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

pub(crate) fn decide(state: &State, report: Report, context: &Context<'_>) -> Decided {
    if let Some(digest) = known(state, &report, context) {
        return match digest == report.digest {
            true => Ok(Decision::new(Vec::new(), Reply::Recorded(Recorded::Duplicate))),
            false => Err(Rejection::ReportConflict),
        };
    }
    if report.at < context.now - state.settings.report_id_retention {
        return Ok(Decision::new(Vec::new(), Reply::Recorded(Recorded::Stale)));
    }
    let (kind, task, effect) = match &report.kind {
        ReportKind::RunStarted { job } => {
            check_job(state, *job, context)?;
            ("run_started", None, Effect::applied(Vec::new()))
        }
        ReportKind::RunFinished { job, summary } => {
            check_job(state, *job, context)?;
            ("run_finished", None, run_finished(state, &report, (*job, *summary), context))
        }
        ReportKind::Task(task) => {
            (type_of(&task.kind), Some(task.task), about_task(state, &report, task, context)?)
        }
    };
    let mut events = effect.events;
    events.extend(stop_ended(state, &report, context));
    let Report { id, digest, worker, body, .. } = report;
    let at = context.now;
    events.push(Event::ReportRecorded { id, digest, worker, kind, task, effect: effect.recorded, body, at });
    Ok(Decision::new(events, Reply::Recorded(effect.recorded)))
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

/// Who had the last attempt of a task, and which it was.
fn last_attempt(state: &State, id: TaskId, context: &Context<'_>) -> Option<(Name, u16)> {
    let live = state.task(id).map(|task| (state.workers[task.worker].name.clone(), task.attempt));
    live.or_else(|| ended_task(state, id, context).map(|task| (task.worker.clone(), task.attempt)))
}

fn known(state: &State, report: &Report, context: &Context<'_>) -> Option<Digest> {
    if let Some(digest) = state.recent.reports.get(&report.id) {
        return Some(*digest);
    }
    match context.facts.get(&Key::Report(report.id.clone()))? {
        Fact::Report(digest) => Some(*digest),
        _ => None,
    }
}

fn type_of(kind: &TaskReportKind) -> &'static str {
    match kind {
        TaskReportKind::Started => "task_started",
        TaskReportKind::Progress(_) => "task_progress",
        TaskReportKind::Finished { .. } => "task_finished",
    }
}

fn check_job(state: &State, job: JobId, context: &Context<'_>) -> Result<(), Rejection> {
    let known = state.job_ids.contains_key(&job) || ended_status(state, job, context).is_some();
    if known { Ok(()) } else { Err(Rejection::JobUnknown) }
}

/// Compares the node's count with the rows, and lets go of the share (N8b, N14).
fn run_finished(
    state: &State,
    report: &Report,
    (job, said): (JobId, RunSummary),
    context: &Context<'_>,
) -> Effect {
    let Some(worker) = state.workers.ix(&report.worker).map(|ix| &state.workers[ix]) else {
        return Effect::applied(Vec::new());
    };
    // Whoever has ended its share runs nothing of it: a stop that it could never report the end of is over too.
    let stops = worker.superseded.iter().filter(|task| task.job == job);
    let stop_ended = |task: &TaskId| Event::StopEnded { worker: report.worker.clone(), task: *task };
    let mut events: Vec<Event> = stops.map(stop_ended).collect();
    let Some(share) = worker.shares.values().find(|share| share.job == job && share.first.is_some()) else {
        return Effect::applied(events);
    };
    let counts = share.counts;
    let same = said.succeeded == u64::from(counts.completed)
        && [counts.failed, counts.failed_attempts].map(u64::from).contains(&said.failed)
        && share.is_drained();
    // What was stopped the node counts as failed, and the rows as cancelled: both are right.
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
            check_names(report, about, (&state.workers[task.worker].name, &state.lanes[task.lane].name))
                .map(|()| about_live_task(state, task, about, context))
        }
        None => {
            let ended = ended_task(state, about.task, context).ok_or(Rejection::TaskUnknown)?;
            check_names(report, about, (&ended.worker, &ended.lane)).map(|()| about_ended_task(&ended, about))
        }
    };
    match result {
        // Its device has moved and another has the task now: the end it was told to report is merely stale.
        Err(Rejection::NotHolder { .. }) if is_told_to_stop(state, report, about.task) => Ok(Effect::stale()),
        result => result,
    }
}

fn check_names(report: &Report, about: &TaskReport, (holder, lane): (&Name, &Name)) -> Result<(), Rejection> {
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
    if task.lease.is_some() && task.confirmed_at.is_none() {
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

/// Whether a report speaks of another attempt than the last one (N6b).
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

#[cfg(test)]
mod tests {
    use crate::script::check;

    /// N4, N5: a repeated report changes nothing, also after a restart; the same id with another body is refused.
    #[test]
    fn a_report_takes_effect_once() {
        check(
            "

            0s  pull PC-01 max=0 devices=d1
            1s  submit r1
            2s  pull PC-01
            3s  finished PC-01 r1/d1 failed id=x -> confirmed r1/d1; ended r1/d1#1 failed; queued r1/d1 => Applied
            4s  finished PC-01 r1/d1 failed id=x -> nothing => Duplicate
            5s  finished PC-01 r1/d1 failed id=x body=other => ! ReportConflict
            6s  restart
            7s  finished PC-01 r1/d1 failed id=x -> nothing => Duplicate
            ",
        );
    }

    /// N5: an event older than the ids are kept is stale.
    #[test]
    fn an_ancient_event_is_stale() {
        check(
            "

            100d pull PC-01 max=0 devices=d1
            100d submit r1
            100d pull PC-01
            100d finished PC-01 r1/d1 ok at=1d -> nothing => Stale
            ",
        );
    }

    /// N6: unknown run, task or device, another holder; a refused id is not remembered.
    #[test]
    fn unknown_things_and_foreign_holders_are_refused() {
        check(
            "

            0s  pull PC-01 max=0 devices=d1,d2
            0s  pull PC-02 max=0 devices=e1
            1s  submit r1
            2s  pull PC-01 max=1
            3s  started PC-01 zz/d1           => ! JobUnknown
            3s  started PC-01 r1/d2           => ! TaskUnknown
            3s  started PC-01 r1/d1 device=d2 => ! LaneUnknown
            3s  started PC-02 r1/d1 id=y      => ! NotHolder PC-01
            4s  started PC-01 r1/d1 id=y      -> confirmed r1/d1 => Applied
            ",
        );
    }

    /// N1b, N15: a refused report is a sign of life all the same, and enrols whoever sent it.
    #[test]
    fn a_refused_report_is_a_sign_of_life() {
        check(
            "

            0s  pull PC-01 max=0 devices=d1
            20s started PC-01 zz/d1 => ! JobUnknown
            20s started PC-02 zz/d1 => ! JobUnknown
            49s tick                -> nothing
            50s tick                -> offline PC-01; offline PC-02
            51s started PC-01 zz/d1 -> online PC-01 => ! JobUnknown
            ",
        );
    }

    /// N6b: a report of another attempt, by number, by fence or by its beginning, is stale.
    #[test]
    fn a_report_of_another_attempt_is_stale() {
        check(
            "

            0s  pull PC-01 max=0 devices=d1
            1s  submit r1
            2s  pull PC-01
            3s  finished PC-01 r1/d1 failed
            10s pull PC-01                    => jobs=r1/d1#2
            11s finished PC-01 r1/d1 ok attempt=1         -> nothing => Stale
            11s finished PC-01 r1/d1 ok fence=1           -> nothing => Stale
            11s finished PC-01 r1/d1 ok began=5s          -> nothing => Stale
            12s finished PC-01 r1/d1 ok attempt=2 fence=2 began=5s -> confirmed r1/d1; ended r1/d1#2 ok; closed r1/d1 Completed; over r1 Success => Applied
            ",
        );
    }

    /// N7: task_finished before its task_started counts as both; late progress never moves a finished task.
    #[test]
    fn out_of_order_arrival_is_normal() {
        check(
            "

            0s  pull PC-01 max=0 devices=d1
            1s  submit r1
            2s  pull PC-01
            3s  finished PC-01 r1/d1 ok       -> confirmed r1/d1; ended r1/d1#1 ok; closed r1/d1 Completed; over r1 Success
            4s  progress PC-01 r1/d1          -> nothing => Applied
            5s  started PC-01 r1/d1           -> nothing => Applied
            6s  finished PC-01 r1/d1 failed   -> nothing => Stale
            ",
        );
    }

    /// N11: progress confirms and is told.
    #[test]
    fn progress_is_told() {
        check(
            "

            0s  pull PC-01 max=0 devices=d1
            1s  submit r1
            2s  pull PC-01
            3s  progress PC-01 r1/d1          -> confirmed r1/d1; progress r1/d1
            4s  progress PC-01 r1/d1          -> progress r1/d1
            ",
        );
    }

    /// N8b, N9, N14: run_started and run_finished are recorded only; a summary unlike the rows raises an alert.
    #[test]
    fn a_summary_unlike_the_rows_raises_an_alert() {
        check(
            "

            0s  pull PC-01 max=0 devices=d1,d2
            1s  submit r1 attempts=2
            2s  pull PC-01
            2s  run_started PC-01 r1          -> nothing => Applied
            3s  finished PC-01 r1/d1 ok
            4s  finished PC-01 r1/d2 failed
            5s  run_finished PC-01 r1 ok=1 failed=1 -> alert summary_mismatch
            6s  pull PC-01
            7s  finished PC-01 r1/d2 failed
            8s  run_finished PC-01 r1 ok=1 failed=1 -> nothing
            9s  submit r2
            10s pull PC-01
            11s finished PC-01 r2/d1 ok
            12s run_finished PC-01 r2 ok=7    -> alert summary_mismatch
            ",
        );
    }

    /// N8b: what was stopped on request a node counts as failed, and nobody need look at it.
    #[test]
    fn a_summary_of_a_cancelled_run_raises_none() {
        check(
            "

            0s  pull PC-01 max=0 devices=d1,d2
            1s  submit r1
            2s  pull PC-01
            3s  started PC-01 r1/d1
            4s  cancel r1
            5s  finished PC-01 r1/d1 failed
            6s  finished PC-01 r1/d2 failed
            7s  run_finished PC-01 r1 failed=2 -> nothing
            ",
        );
    }

    /// N12, N13: a timed-out or superseded task is named in stop until its end is reported (N1).
    #[test]
    fn stop_is_repeated_until_the_end_is_reported() {
        check(
            "

            0s    pull PC-01 max=0 devices=d1
            1s    submit r1 attempts=1
            2s    pull PC-01
            3s    started PC-01 r1/d1
            1190s sight PC-01
            1202s tick
            1203s pull PC-01 max=0            => finished=r1 stop=r1/d1
            1204s restart
            1205s pull PC-01 max=0            => finished=r1 stop=r1/d1
            1206s finished PC-01 r1/d1 failed => Stale
            1207s pull PC-01 max=0            => finished=r1
            1208s run_finished PC-01 r1 failed=1
            1209s return d1
            1210s submit r2 attempts=1
            1211s pull PC-01                  => runs=r2:1 jobs=r2/d1#1
            2400s sight PC-01
            2411s tick
            2412s pull PC-01 max=0            => finished=r2 stop=r2/d1
            2413s run_finished PC-01 r2 failed=1
            2414s pull PC-01 max=0            => nothing
            ",
        );
    }

    /// N1, N1b: the late end of an earlier attempt does not end the stop of the one after it; a newer attempt does.
    #[test]
    fn a_stop_ends_with_its_own_attempt() {
        check(
            "

            0s    pull PC-01 max=0 devices=d1
            1s    submit r1 attempts=2
            2s    pull PC-01
            3s    started PC-01 r1/d1
            1202s tick
            1203s pull PC-01                            => jobs=r1/d1#2
            1204s started PC-01 r1/d1 attempt=2
            2403s tick
            2404s finished PC-01 r1/d1 failed attempt=1 => Stale
            2405s pull PC-01 max=0                      => finished=r1 stop=r1/d1
            2406s finished PC-01 r1/d1 failed attempt=2 => Stale
            2407s pull PC-01 max=0                      => finished=r1
            ",
        );
    }

    /// N1, N6b: whoever was told to stop may report the end, though the device and its task are another's by now.
    #[test]
    fn a_stop_ends_though_the_device_has_moved() {
        check(
            "

            0s    pull PC-01 max=0 devices=d1
            0s    pull PC-02 max=0 devices=e1
            1s    submit r1 devices=d1
            2s    pull PC-01
            3s    started PC-01 r1/d1
            1202s tick
            1203s pull PC-02 devices=e1,d1              => runs=r1:1 jobs=r1/d1#2
            1204s pull PC-01 max=0                      => finished=r1 stop=r1/d1
            1205s finished PC-01 r1/d1 failed attempt=1 -> nothing => Stale
            1206s pull PC-01 max=0                      => finished=r1
            1207s progress PC-01 r1/d1                  => ! NotHolder PC-02
            ",
        );
    }
}
