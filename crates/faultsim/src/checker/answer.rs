//! Invariants 4 and 5: what leaves the coordinator is durable, a report takes effect once, the feed has no gap.

use super::{Checker, Verdict, broken, ensure};
use crate::network::Ticket;
use muster_model::{
    Change, Command, JobReply, JobStatus, LogKind, Millis, Name, Outcome, Pull, PullReply, Recorded,
    Rejection, Reply, Report, ReportBatch, ReportKind, ReportRecord, Submission, TaskId, TaskReport,
    TaskReportKind, TaskStatus, Timestamp, WorkerMessage,
};
use muster_store::{Batch, FeedEntry};
use std::sync::Arc;

type Answered = Result<Reply, Rejection>;

/// An answer that leaves the coordinator.
#[derive(Clone, Copy)]
pub(crate) struct SentAnswer<'a> {
    pub(crate) ticket: &'a Ticket,
    pub(crate) result: &'a Answered,
    /// The moment, by the clock of the life that answers.
    pub(crate) now: Timestamp,
    /// It leaves soon after it was decided.
    pub(crate) is_timely: bool,
}

impl Checker {
    /// Checks an answer that leaves the coordinator.
    pub(crate) fn answered(&mut self, answer: SentAnswer<'_>) -> Verdict {
        let SentAnswer { ticket, result, .. } = answer;
        self.promised(ticket, result)?;
        match (&*ticket.command, result) {
            (Command::Pull(pull), Ok(Reply::Pulled(reply))) => self.check_pulled(pull, reply, answer),
            (Command::Report(report), Err(rejection)) => self.check_refused(report, rejection),
            (Command::ReportBatch(batch), Ok(Reply::RecordedBatch(results))) => {
                for (message, result) in batch.messages.iter().zip(results) {
                    if let (WorkerMessage::Report(report), Err(rejection)) = (message, result) {
                        self.seen.count("event of a batch refused");
                        self.check_refused(report, rejection)?;
                    }
                }
                Ok(())
            }
            (Command::Renew { task, worker, .. }, Ok(Reply::Renewed(true))) => {
                self.check_renewed(*task, worker)
            }
            (Command::Frames(command), result) => {
                let result = match result {
                    Ok(Reply::Frames(reply)) => Ok(reply),
                    Err(Rejection::Frames(rejection)) => Err(rejection),
                    _ => return broken("answer_of_another_contract", || format!("{command:?}: {result:?}")),
                };
                self.frames.answered(command, ticket, result)
            }
            (Command::Pool(command), result) => {
                let result = match result {
                    Ok(Reply::Pool(reply)) => Ok(reply),
                    Err(Rejection::Pool(rejection)) => Err(rejection),
                    _ => return broken("answer_of_another_contract", || format!("{command:?}: {result:?}")),
                };
                self.pool.answered(command, ticket.exchange, result)
            }
            _ => Ok(()),
        }
    }

    /// Checks that the promise of a response is durable and stays so, no matter which server leads when it leaves.
    pub(crate) fn promised(&mut self, ticket: &Ticket, result: &Answered) -> Verdict {
        match (&*ticket.command, result) {
            (Command::Submit(submission), Ok(Reply::Job(JobReply { job, .. }))) => {
                self.check_submitted(submission, *job)
            }
            (Command::Cancel { job }, Ok(_)) => {
                let status = self.mirror.jobs.get(job).map(|job| job.status);
                ensure(status == Some(JobStatus::Cancelled), "cancel_not_durable", || {
                    format!("{job}: {status:?}")
                })
            }
            (Command::Pull(pull), Ok(Reply::Pulled(reply))) => {
                let mut handouts = reply.handouts.iter();
                handouts.try_for_each(|it| self.check_leased(it.task, &pull.worker, it.attempt))
            }
            (Command::Report(report), Ok(Reply::Recorded(recorded))) => {
                self.check_recorded(report, &Ok(*recorded))
            }
            (Command::ReportBatch(batch), Ok(Reply::RecordedBatch(results))) => {
                self.check_batch(batch, results)
            }
            (Command::Claim { worker, .. }, Ok(Reply::Claimed(rows))) => {
                rows.iter().try_for_each(|row| self.check_leased(row.id, worker, row.attempt))
            }
            (Command::Complete { .. } | Command::FailOrRetry { .. }, Ok(Reply::Task(row))) => {
                let durable = self.mirror.tasks.get(&row.id);
                let same =
                    durable.is_some_and(|durable| durable.attempt >= row.attempt && durable.logs >= row.logs);
                ensure(same, "end_not_durable", || format!("{row:?} told, {durable:?} durable"))
            }
            (Command::Frames(command), Ok(Reply::Frames(reply))) => self.frames.promised(command, reply),
            (Command::Pool(command), Ok(Reply::Pool(reply))) => self.pool.promised(command, reply),
            _ => Ok(()),
        }
    }

    /// N5, N6b: a report has effect on the attempt it speaks of, or none.
    pub(super) fn check_reports(&mut self, batch: &Batch) -> Verdict {
        for change in &batch.changes {
            let Change::Report(report) = change else { continue };
            self.seen.count(match report.effect {
                Recorded::Stale => "report stale",
                _ => "report applied",
            });
            self.check_effect(report, batch)?;
        }
        Ok(())
    }

    fn check_submitted(&self, submission: &Submission, job: muster_model::JobId) -> Verdict {
        ensure(self.mirror.jobs.contains_key(&job), "submission_not_durable", || format!("{job}"))?;
        let Some(key) = &submission.key else { return Ok(()) };
        let made = self.mirror.keys.get(key);
        ensure(made == Some(&job), "key_not_durable", || format!("{key:?} answered {job}, made {made:?}"))
    }

    fn check_pulled(&mut self, pull: &Pull, reply: &PullReply, answer: SentAnswer<'_>) -> Verdict {
        let SentAnswer { now, is_timely, .. } = answer;
        ensure(reply.handouts.len() <= pull.max as usize, "more_jobs_than_asked", || format!("{reply:?}"))?;
        if is_timely && reply.handouts.len() < pull.max as usize {
            self.check_redelivered(&pull.worker, reply, now)?;
        }
        for handout in &reply.handouts {
            self.shown.insert(handout.task, now);
        }
        Ok(())
    }

    /// N2: what was handed out and never confirmed is handed out again, unless its run was cancelled (Q7): then the
    /// node is told to stop it.
    fn check_redelivered(&self, worker: &Name, reply: &PullReply, now: Timestamp) -> Verdict {
        let due = |at: Timestamp| at.max(self.up_since) + self.settings.redeliver_after + SLACK < now;
        let forgotten = self.running().find(|row| {
            row.worker == *worker
                && row.lease == muster_model::LeaseKind::Presence
                && row.confirmed_at.is_none()
                && due(self
                    .shown
                    .get(&row.id)
                    .copied()
                    .unwrap_or(row.created_at)
                    .max(row.started_at.unwrap_or(now)))
                && reply.handouts.iter().all(|handout| handout.task != row.id)
                && !reply.stop.contains(&row.id)
        });
        ensure(forgotten.is_none(), "redelivery_forgotten", || format!("{forgotten:?} at {now:?}"))
    }

    fn check_leased(&self, task: TaskId, worker: &Name, attempt: u16) -> Verdict {
        let row = self.mirror.tasks.get(&task);
        let durable =
            row.is_some_and(|row| row.attempt > attempt || (row.attempt == attempt && row.worker == *worker));
        ensure(durable, "lease_not_durable", || format!("{task} attempt {attempt} to {worker}: {row:?}"))
    }

    fn check_renewed(&self, task: TaskId, worker: &Name) -> Verdict {
        let row = self.mirror.tasks.get(&task);
        let strange = row.filter(|row| row.status == TaskStatus::Running && row.worker != *worker);
        ensure(strange.is_none(), "stranger_renews", || format!("{worker} renewed {strange:?}"))
    }

    /// N25: a batch has a result for each of its messages, and what each of them acknowledges is durable.
    fn check_batch(&self, batch: &ReportBatch, results: &[Result<Recorded, Rejection>]) -> Verdict {
        self.seen.count("batch of reports answered");
        ensure(batch.messages.len() == results.len(), "batch_results_missing", || {
            format!("{} messages, {} results", batch.messages.len(), results.len())
        })?;
        for (message, result) in batch.messages.iter().zip(results) {
            match message {
                WorkerMessage::Report(report) if result.is_ok() => self.check_recorded(report, result)?,
                WorkerMessage::Report(_) => {}
                WorkerMessage::Heartbeat { .. } => {
                    ensure(*result == Ok(Recorded::Applied), "heartbeat_refused", || format!("{result:?}"))?;
                }
            }
        }
        Ok(())
    }

    fn check_refused(&mut self, report: &Report, rejection: &Rejection) -> Verdict {
        self.check_recorded(report, &Err(rejection.clone()))?;
        self.agent_refused(report, rejection)
    }

    fn check_recorded(&self, report: &Report, result: &Result<Recorded, Rejection>) -> Verdict {
        let known = self.mirror.reports.get(&report.id);
        let same = known.filter(|(subject, _)| *subject == report.subject());
        let right = match result {
            Ok(Recorded::Duplicate) => {
                self.seen.count("report duplicate");
                same.is_some()
            }
            Ok(effect) => same.is_some_and(|(_, durable)| durable == effect),
            Err(Rejection::ReportConflict) => known.is_some() && same.is_none(),
            // Every task that was handed out stays known: nothing is deleted in this world.
            Err(Rejection::NotHolder { .. }) => {
                self.seen.count("report of another's row");
                true
            }
            Err(_) => false,
        };
        ensure(right, "report_not_durable", || format!("{report:?} answered {result:?}, durable {known:?}"))?;
        match (&report.kind, result) {
            (ReportKind::Task(task), Ok(Recorded::Applied)) => self.check_outcome(task),
            _ => Ok(()),
        }
    }

    /// A success that was acknowledged is in the row, for good.
    fn check_outcome(&self, about: &TaskReport) -> Verdict {
        let TaskReportKind::Finished { outcome, .. } = &about.kind else {
            return Ok(());
        };
        let row = &self.mirror.tasks[&about.task];
        let kept = match outcome {
            Outcome::Succeeded => matches!(row.status, TaskStatus::Completed | TaskStatus::Cancelled),
            _ => {
                row.status != TaskStatus::Running || about.attempt.is_none_or(|attempt| row.attempt > attempt)
            }
        };
        let whose =
            about.attempt.is_none_or(|attempt| attempt == row.attempt || *outcome != Outcome::Succeeded);
        ensure(kept && whose, "outcome_lost", || format!("{about:?} was acknowledged, the row is {row:?}"))
    }

    fn check_effect(&mut self, report: &ReportRecord, batch: &Batch) -> Verdict {
        let Some(task) = report.task else { return Ok(()) };
        let Some(sent) = self.spoken.get(&report.id) else {
            return broken("report_from_nobody", || format!("{report:?}"));
        };
        let Some(attempt) = sent.attempt else { return Ok(()) };
        if report.effect == Recorded::Stale {
            let row = &self.mirror.tasks[&task];
            let live =
                row.status == TaskStatus::Running && row.attempt == attempt && Some(row.fence) == sent.fence;
            return ensure(!live, "live_report_taken_for_stale", || format!("{report:?} of {row:?}"));
        }
        // The report's changes bear the moment it was taken; a claim may grant the next attempt at that very moment.
        let moved: Vec<u16> =
            batch.changes.iter().filter_map(|change| moved_by(report, task, change)).collect();
        ensure(moved.is_empty() || moved.contains(&attempt), "fence_not_checked", || {
            format!("{report:?} of attempt {attempt} moved {moved:?}")
        })
    }
}

/// The attempt that a station belongs to, where a report may have caused it.
fn moved_by(report: &ReportRecord, task: TaskId, change: &Change) -> Option<u16> {
    let Change::Log(log) = change else { return None };
    let by_report = matches!(log.kind, LogKind::Acked | LogKind::Succeeded | LogKind::Failed);
    (log.task == task && log.at == report.at && by_report).then_some(log.attempt)
}

impl Checker {
    /// A batch's part of the feed is durable with it.
    pub(super) fn feed_is_durable(&mut self, batch: &Batch) -> Verdict {
        for entry in &batch.feed {
            let last = self.mirror.feed;
            ensure(entry.seq == last + 1, "feed_numbers", || format!("{} after {last}", entry.seq))?;
            self.mirror.feed = entry.seq;
        }
        Ok(())
    }

    /// Subscribers are told; one that was away reads from the store what it missed.
    pub(crate) fn told(&mut self, entries: &[Arc<FeedEntry>]) -> Verdict {
        for entry in entries {
            ensure(entry.seq <= self.mirror.feed, "feed_ahead_of_store", || {
                format!("{} was told, {} is durable", entry.seq, self.mirror.feed)
            })?;
            ensure(entry.seq > self.told, "feed_repeats", || format!("{} was told twice", entry.seq))?;
            self.told = entry.seq;
        }
        Ok(())
    }

    /// Checks a feed from a former leader: it publishes only entries that it committed as leader. The new leader
    /// publishes the later ones.
    pub(crate) fn told_late(&self, entries: &[Arc<FeedEntry>]) -> Verdict {
        let last = entries.last().map_or(0, |entry| entry.seq);
        ensure(last <= self.mirror.feed, "feed_ahead_of_store", || {
            format!("{last} was told, {} is durable", self.mirror.feed)
        })
    }
}

/// Maximum time for a decision, its commit and the delivery of the response.
const SLACK: Millis = Millis(3_000);
