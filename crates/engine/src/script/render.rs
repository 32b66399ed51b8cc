//! Writes events and replies in the words of scripts.

use super::Stage;
use alloc::{
    format,
    string::{String, ToString},
    vec::Vec,
};
use muster_model::{
    Event, JobId, JobReply, Outcome, PullReply, Rejection, Reply, SweepReply, TaskId, TaskRecord,
};

impl Stage {
    pub(super) fn job_name(&self, id: JobId) -> String {
        let known = self.jobs.iter().find(|(_, job)| **job == id);
        known.map_or_else(|| id.to_string(), |(name, _)| name.clone())
    }

    fn task_name(&self, id: TaskId) -> String {
        let known = self.tasks.iter().find(|(_, task)| **task == id);
        known.map_or_else(|| id.to_string(), |(name, _)| name.clone())
    }

    pub(super) fn render_events(&self, events: &[Event]) -> String {
        let told: Vec<String> = events.iter().filter_map(|event| self.render_event(event)).collect();
        if told.is_empty() { "nothing".into() } else { told.join("; ") }
    }

    fn render_event(&self, event: &Event) -> Option<String> {
        Some(match event {
            Event::WorkerOffline { worker, .. } => format!("offline {worker}"),
            Event::WorkerOnline { worker, .. } => format!("online {worker}"),
            Event::HeartbeatChanged { worker, late, .. } => {
                format!("heartbeat {worker} {}", if *late { "late" } else { "back" })
            }
            Event::SupplyPaused { worker, .. } => format!("paused {worker}"),
            Event::SupplyResumed { worker, .. } => format!("supplied {worker}"),
            Event::LeasesExtended { worker, until } => format!("extended {worker} {}s", until.0 / 1000),
            Event::LaneFailed { lane, .. } => format!("error {lane}"),
            Event::LaneReturned { lane, .. } => format!("returned {lane}"),
            Event::JobActivated { job, .. } => format!("active {}", self.job_name(*job)),
            Event::JobEnded { job, status, error, .. } => {
                let error = error.as_ref().map_or_else(String::new, |error| format!(" ({error})"));
                format!("over {} {status:?}{error}", self.job_name(*job))
            }
            Event::LeaseGranted(grant) => format!("granted {}#{}", self.task_name(grant.task), grant.attempt),
            Event::LeaseConfirmed { task, .. } => format!("confirmed {}", self.task_name(*task)),
            Event::LeaseRenewed { task, until } => {
                format!("renewed {} {}s", self.task_name(*task), until.0 / 1000)
            }
            Event::TaskProgressed { task, .. } => format!("progress {}", self.task_name(*task)),
            Event::AttemptEnded { task, attempt, outcome, .. } => {
                format!("ended {}#{attempt} {}", self.task_name(*task), word(outcome))
            }
            Event::TaskQueued { task, .. } => format!("queued {}", self.task_name(*task)),
            Event::TaskForgiven { task } => format!("forgiven {}", self.task_name(*task)),
            Event::TaskEnded { task, status, error, .. } => {
                let error = error.as_ref().map_or_else(String::new, |error| format!(" ({error})"));
                format!("closed {} {status:?}{error}", self.task_name(*task))
            }
            Event::TaskSkipped { task, .. } => format!("skipped {}", self.task_name(*task)),
            Event::AlertRaised(alert) => format!("alert {}", alert.kind.as_str()),
            _ => return None,
        })
    }

    pub(super) fn render_reply(&self, result: &Result<Reply, Rejection>) -> String {
        match result {
            Err(Rejection::NotHolder { holder }) => format!("! NotHolder {holder}"),
            Err(rejection) => format!("! {rejection:?}"),
            Ok(Reply::Job(JobReply { job, status })) => format!("{} {status:?}", self.job_name(*job)),
            Ok(Reply::Pulled(reply)) => self.render_pull(reply),
            Ok(Reply::Recorded(recorded)) => format!("{recorded:?}"),
            Ok(Reply::Claimed(rows)) => rows
                .iter()
                .map(|row| format!("{}#{}", self.task_name(row.id), row.attempt))
                .collect::<Vec<_>>()
                .join(","),
            Ok(Reply::Renewed(renewed)) => renewed.to_string(),
            Ok(Reply::Task(row)) => self.render_row(row),
            Ok(Reply::Swept(SweepReply { jobs, tasks })) => format!("jobs={jobs} tasks={tasks}"),
            Ok(Reply::Frames(reply)) => format!("{reply:?}"),
            Ok(Reply::Pool(reply)) => format!("{reply:?}"),
            Ok(Reply::Accounts(reply)) => format!("{reply:?}"),
            Ok(Reply::Schedule(record)) => format!("{record:?}"),
            Ok(Reply::Done) => "done".into(),
        }
    }

    fn render_row(&self, row: &TaskRecord) -> String {
        format!("{} {:?} {}/{}", self.task_name(row.id), row.status, row.attempt, row.max_attempts)
    }

    fn render_pull(&self, reply: &PullReply) -> String {
        let jobs = reply.handouts.iter().map(|job| format!("{}#{}", self.task_name(job.task), job.attempt));
        let runs = reply.announced.iter().map(|run| format!("{}:{}", self.job_name(run.job), run.targets));
        let contested = reply.contested.iter().map(|(lane, worker)| format!("{lane}:{worker}"));
        let parts: [(&str, Vec<String>); 5] = [
            ("runs", runs.collect()),
            ("jobs", jobs.collect()),
            ("finished", reply.finished.iter().map(|job| self.job_name(*job)).collect()),
            ("stop", reply.stop.iter().map(|task| self.task_name(*task)).collect()),
            ("contested", contested.collect()),
        ];
        let told = parts.iter().filter(|(_, items)| !items.is_empty());
        let text: Vec<String> = told.map(|(part, items)| format!("{part}={}", items.join(","))).collect();
        if text.is_empty() { "nothing".into() } else { text.join(" ") }
    }
}

fn word(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Succeeded => "ok",
        Outcome::Failed { .. } => "failed",
        Outcome::TimedOut | Outcome::LeaseLost => "timeout",
    }
}
