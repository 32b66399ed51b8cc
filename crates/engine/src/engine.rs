//! The engine: one state, changed by one command after the other.

use crate::{
    decide::{
        self, Context, Decided, Decision, Refused,
        attempt::{self, End},
        cancel, claim, operate, presence, pull, report, settle, submit, tick,
    },
    rule::heartbeat,
    state::State,
};
use alloc::{vec, vec::Vec};
use muster_model::{
    Change, Command, Event, Explanation, JobReply, JobStatus, Key, Name, Outcome, PoolWorkerId, Pull,
    Rejection, Reply, ReportKind, Scope, Settings, Strangers, Subject, SweepReply, TaskId, TaskRecord,
    Timestamp, WorkerSupply,
};

/// Timers followed in one command at most; the rest is due at once.
const TIMERS_PER_TICK: usize = 1000;

/// Everything live, and the rules by which it changes.
#[derive(Clone, Debug, Default)]
pub struct Engine {
    pub(crate) state: State,
}

/// What became of a command.
#[derive(Debug)]
pub struct Executed {
    /// What the sender is told.
    pub result: Result<Reply, Rejection>,
    /// What became true, in order.
    pub events: Vec<Event>,
}

/// Whose waiting requests should be decided again.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Woken {
    /// Everybody's.
    pub all: bool,
    /// Theirs.
    pub workers: Vec<Name>,
    /// Those of these simulation workers.
    pub renderers: Vec<Name>,
    /// Those of these workers of the pool.
    pub members: Vec<PoolWorkerId>,
}

impl Engine {
    /// An engine that knows nothing yet.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        let farm = crate::frames::Farm { settings: settings.frames, ..crate::frames::Farm::default() };
        let pool = crate::pool::Pool::new(settings.pool);
        Self { state: State { settings, farm, pool, ..State::default() } }
    }

    /// Switches a planted bug on.
    #[cfg(feature = "mutants")]
    pub fn plant(&mut self, mutant: crate::Mutant) {
        self.state.mutant = Some(mutant);
        self.state.farm.mutant = Some(mutant);
        self.state.pool.mutant = Some(mutant);
    }

    /// What a command needs to know that memory may have forgotten.
    #[must_use]
    pub fn keys(&self, command: &Command) -> Vec<Key> {
        let state = &self.state;
        let mut keys = match command {
            Command::Submit(submission) => submission.key.iter().cloned().map(Key::Submission).collect(),
            Command::Cancel { job } => vec![Key::Job(*job)],
            Command::Report(report) => {
                let mut keys = vec![Key::Report(report.id.clone())];
                match &report.kind {
                    ReportKind::RunStarted { job } | ReportKind::RunFinished { job, .. } => {
                        keys.push(Key::Job(*job))
                    }
                    ReportKind::Task(task) => keys.extend([Key::Job(task.job), Key::Task(task.task)]),
                }
                keys
            }
            Command::Frames(command) => crate::frames::keys(&state.farm, command),
            Command::Pool(command) => crate::pool::keys(&state.pool, command),
            Command::Renew { task, .. }
            | Command::Complete { task, .. }
            | Command::FailOrRetry { task, .. } => {
                vec![Key::Task(*task)]
            }
            _ => Vec::new(),
        };
        keys.retain(|key| match key {
            Key::Job(job) => !state.job_ids.contains_key(job) && !state.recent.jobs.contains_key(job),
            Key::Task(task) => state.task(*task).is_none() && !state.recent.tasks.contains_key(task),
            Key::Report(id) => !state.recent.reports.contains_key(id),
            Key::Submission(key) => !state.recent.keys.contains_key(key),
            // Those of sessions and of the pool were looked for where they are kept.
            Key::Session(_) | Key::FrameTask(_) | Key::Chunk(_) => true,
            Key::PoolEnd(_) | Key::Assignment(_) | Key::PoolSubmission(..) => true,
        });
        keys
    }

    /// Decides a command, makes it so, and settles what follows.
    pub fn execute(&mut self, command: Command, context: &Context<'_>) -> Executed {
        let mut events = Vec::new();
        let result = self.carry_out(command, context, &mut events);
        Executed { result, events }
    }

    /// When the driver must next send `Tick`; an early tick decides nothing.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Timestamp> {
        let frames = self.state.farm.timers.first().map(|(at, _)| *at);
        let pool = self.state.pool.timers.first().map(|(at, _)| *at);
        [self.state.timers.next(), frames, pool].into_iter().flatten().min()
    }

    /// The rows that changed since the last call.
    pub fn take_changes(&mut self) -> Vec<Change> {
        let mut changes = self.state.take_changes();
        changes.extend(self.state.farm.take_changes());
        changes.extend(self.state.pool.take_changes());
        changes.extend(self.state.accounts.take_changes().into_iter().map(Change::Accounts));
        changes.extend(self.state.schedules.take_changes());
        changes
    }

    /// The signs of life since the last call.
    pub fn take_sightings(&mut self) -> Vec<(Name, Timestamp)> {
        self.state.take_sightings()
    }

    /// Whose waiting requests should be decided again since the last call.
    pub fn take_woken(&mut self) -> Woken {
        let all = core::mem::take(&mut self.state.dirty.woken_all);
        let woken = core::mem::take(&mut self.state.dirty.woken);
        if self.state.has_bug(crate::Mutant::WakeLost) {
            return Woken::default();
        }
        let workers = woken.into_iter().map(|ix| self.state.workers[ix].name.clone()).collect();
        let (renderers, members) = (self.state.farm.take_woken(), self.state.pool.take_woken());
        Woken { all, workers, renderers, members }
    }

    /// Tells that a request of a worker waits for work from now on: the worker is there while it does (N15).
    pub fn begin_waiting(&mut self, worker: &Name) {
        if let Some(ix) = self.state.workers.ix(worker) {
            self.state.workers[ix].waiting += 1;
        }
    }

    /// Tells that a waiting request was answered or given up.
    pub fn end_waiting(&mut self, worker: &Name) {
        if let Some(ix) = self.state.workers.ix(worker) {
            let waiting = &mut self.state.workers[ix].waiting;
            *waiting = waiting.checked_sub(1).expect("what ends has begun");
        }
    }

    /// Lets go of what a commit has made findable in the store.
    pub fn forget(&mut self, committed: &[Change]) {
        let recent = &mut self.state.recent;
        for change in committed {
            match change {
                Change::Report(report) => _ = recent.reports.remove(&report.id),
                Change::Key(key) => _ = recent.keys.remove(&key.key),
                Change::Task(task) if task.status.is_ended() => _ = recent.tasks.remove(&task.id),
                Change::Job(job) if !job.open => _ = recent.jobs.remove(&job.id),
                Change::Frames(change) => self.state.farm.forget(change),
                Change::Pool(change) => self.state.pool.forget(change),
                _ => {}
            }
        }
    }

    /// Why something is not running (Q16); `None` when memory does not know it.
    #[must_use]
    pub fn explain(&self, subject: Subject, now: Timestamp) -> Option<Explanation> {
        crate::explain::explain(&self.state, subject, now)
    }

    /// What a scope names and nobody has yet (Q6).
    #[must_use]
    pub fn strangers(&self, scope: &Scope) -> Strangers {
        crate::strangers::strangers(&self.state, scope)
    }

    /// How full these workers are and should be (Q21).
    #[must_use]
    pub fn supplies(&self, workers: &[Name]) -> Vec<WorkerSupply> {
        let known = workers.iter().filter_map(|name| self.state.workers.ix(name));
        known.map(|ix| crate::rule::slot::supply(&self.state, ix)).collect()
    }

    /// A task as it stands; `None` when memory does not know it.
    #[must_use]
    pub fn task(&self, id: TaskId) -> Option<TaskRecord> {
        let live = self.state.task(id).map(|task| self.state.task_record(id, task));
        live.or_else(|| self.state.recent.tasks.get(&id).map(|task| (**task).clone()))
    }

    fn carry_out(
        &mut self,
        command: Command,
        context: &Context<'_>,
        events: &mut Vec<Event>,
    ) -> Result<Reply, Rejection> {
        match command {
            Command::Pull(pull) => Ok(self.pull(pull, context, events)),
            Command::Claim { worker, max, lease } => {
                self.see(&worker, context, events);
                let decision = claim::decide(&self.state, &worker, (max, lease), context);
                self.make_so(decision, context, events);
                Ok(Reply::Claimed(self.granted(events)))
            }
            Command::Frames(command) => {
                let decision = crate::frames::carry_out(&self.state.farm, command, context);
                self.make_so(Decision::done(decision.events), context, events);
                decision.result.map(Reply::Frames).map_err(Rejection::Frames)
            }
            Command::Pool(command) => {
                let result = crate::pool::carry_out(&mut self.state.pool, command, (context, events));
                self.settle(context, events);
                result.map(Reply::Pool).map_err(Rejection::Pool)
            }
            Command::Accounts(command) => {
                let decided = crate::accounts::carry_out(&self.state.accounts, command, context);
                let (follow, reply) = decided.map_err(Rejection::Accounts)?;
                self.make_so(Decision::done(follow), context, events);
                Ok(Reply::Accounts(reply))
            }
            Command::Tick => Ok(self.follow_timers(context, events)),
            Command::Sweep => Ok(self.sweep(context, events)),
            Command::Heartbeat { worker } => {
                self.meet(&worker, context, events);
                self.take_heartbeat(&worker, context, events);
                Ok(Reply::Done)
            }
            command => self.carry_out_at_once(command, context, events),
        }
    }

    /// Commands that are one decision.
    fn carry_out_at_once(
        &mut self,
        command: Command,
        context: &Context<'_>,
        events: &mut Vec<Event>,
    ) -> Result<Reply, Rejection> {
        let (sender, row) = match &command {
            Command::Report(report) => (Some(report.worker.clone()), None),
            Command::Complete { task, .. } | Command::FailOrRetry { task, .. } => (None, Some(*task)),
            _ => (None, None),
        };
        if let Some(sender) = sender {
            // Whoever reports is there, even if the report is refused (N1b, N15).
            self.meet(&sender, context, events);
            self.expect_heartbeat(&sender, context);
        }
        let decision = match self.decide(command, context) {
            Ok(decision) => decision,
            Err(refused) => {
                self.make_so(Decision::done(refused.events), context, events);
                return Err(refused.rejection);
            }
        };
        let changed = !decision.events.is_empty();
        let reply = self.make_so(decision, context, events);
        Ok(match (row, reply) {
            (Some(task), _) => self.row(task, context).map_or(Reply::Done, |row| Reply::Task(row.into())),
            (None, Reply::Job(JobReply { job, status })) if changed => {
                Reply::Job(JobReply { job, status: self.job_status(job).unwrap_or(status) })
            }
            (None, reply) => reply,
        })
    }

    fn decide(&self, command: Command, context: &Context<'_>) -> Result<Decision, Refused> {
        match command {
            Command::Report(report) => report::decide(&self.state, *report, context),
            command => Ok(self.decide_other(command, context)?),
        }
    }

    fn decide_other(&self, command: Command, context: &Context<'_>) -> Decided {
        let state = &self.state;
        match command {
            Command::Submit(submission) => submit::decide(state, submission, context),
            Command::Cancel { job } => cancel::decide(state, job, context),
            Command::Renew { task, worker, lease } => claim::renew(state, task, (&worker, lease), context),
            Command::Complete { task, worker, result } => {
                attempt::decide(state, End { task, worker, outcome: Outcome::Succeeded, result }, context)
            }
            Command::FailOrRetry { task, worker, error } => {
                let outcome = Outcome::Failed { reason: None, error };
                attempt::decide(state, End { task, worker, outcome, result: None }, context)
            }
            Command::Label { lane, labels } => operate::label(state, lane, labels, context),
            Command::ReturnToService { lane, note } => operate::return_to_service(state, lane, note, context),
            Command::Drain { worker } => operate::drain(state, worker, true, context),
            Command::Resume { worker } => operate::drain(state, worker, false, context),
            Command::SetCap { worker, cap } => operate::set_cap(state, worker, cap, context),
            Command::RotateSecret { worker, hash } => operate::rotate_secret(state, worker, hash, context),
            Command::Schedules(command) => crate::schedules::decide(state, command, context),
            Command::Pull(_)
            | Command::Report(_)
            | Command::Claim { .. }
            | Command::Tick
            | Command::Sweep
            | Command::Heartbeat { .. }
            | Command::Pool(_)
            | Command::Accounts(_)
            | Command::Frames(_) => Ok(Decision::done(Vec::new())),
        }
    }

    /// A pull is three decisions: who speaks, what is attached there, and what it is given on that ground.
    fn pull(&mut self, pull: Pull, context: &Context<'_>, events: &mut Vec<Event>) -> Reply {
        self.meet(&pull.worker, context, events);
        self.expect_heartbeat(&pull.worker, context);
        if let Some(devices) = pull.devices {
            let reported = pull::report_devices(&self.state, &pull.worker, devices, context);
            self.make_so(Decision::done(reported), context, events);
        }
        let decision = pull::supply(&self.state, &pull.worker, pull.max, context);
        self.make_so(decision, context, events)
    }

    fn sweep(&mut self, context: &Context<'_>, events: &mut Vec<Event>) -> Reply {
        self.follow_timers(context, events);
        let count = |wanted: fn(&Event) -> bool| {
            u32::try_from(events.iter().filter(|event| wanted(event)).count()).unwrap_or(u32::MAX)
        };
        Reply::Swept(SweepReply {
            jobs: count(|event| matches!(event, Event::JobEnded { .. })),
            tasks: count(|event| matches!(event, Event::AttemptEnded { .. })),
        })
    }

    fn follow_timers(&mut self, context: &Context<'_>, events: &mut Vec<Event>) -> Reply {
        for _ in 0..TIMERS_PER_TICK {
            let due = tick::next_due(&mut self.state, context)
                .or_else(|| crate::frames::next_due(&mut self.state.farm, context));
            let Some(due) = due else {
                if crate::pool::next_due(&mut self.state.pool, context, events).is_none() {
                    break;
                }
                continue;
            };
            self.make_so(Decision::done(due), context, events);
            for ix in core::mem::take(&mut self.state.dirty.rearm) {
                self.state.arm(ix);
            }
        }
        self.settle(context, events);
        Reply::Done
    }

    /// Enrols whoever speaks for the first time, and notes the sign of life.
    fn meet(&mut self, worker: &Name, context: &Context<'_>, events: &mut Vec<Event>) {
        let appeared = presence::appear(&self.state, worker, context.now);
        self.make_so(Decision::done(appeared), context, events);
        self.see(worker, context, events);
    }

    /// Starts the wait for the heartbeats of a worker that pulls or calls back (N8c).
    fn expect_heartbeat(&mut self, worker: &Name, context: &Context<'_>) {
        if let Some(ix) = self.state.workers.ix(worker)
            && self.state.workers[ix].heartbeat_due.is_none()
        {
            self.state.workers[ix].heartbeat_due = Some(heartbeat::late_at(&self.state, context.now));
            self.state.arm(ix);
        }
    }

    /// Notes a heartbeat; not durable, unless it ends the lateness of earlier ones (N8c).
    fn take_heartbeat(&mut self, worker: &Name, context: &Context<'_>, events: &mut Vec<Event>) {
        let Some(ix) = self.state.workers.ix(worker) else {
            return;
        };
        self.state.workers[ix].heartbeat_due = Some(heartbeat::late_at(&self.state, context.now));
        if self.state.workers[ix].heartbeat_late_since.is_some() {
            let back = Event::HeartbeatChanged { worker: worker.clone(), late: false, at: context.now };
            self.make_so(Decision::done(vec![back]), context, events);
        }
    }

    /// Notes a sign of life; not durable but for its consequences.
    fn see(&mut self, worker: &Name, context: &Context<'_>, events: &mut Vec<Event>) {
        let Some(ix) = self.state.workers.ix(worker) else {
            return;
        };
        self.state.workers[ix].heartbeat_due = heartbeat::due_after_silence(&self.state, ix, context.now);
        self.state.workers[ix].last_seen = context.now.max(self.state.workers[ix].last_seen);
        self.state.dirty.sighted.insert(ix);
        if !self.state.workers[ix].online {
            let appeared = presence::appear(&self.state, worker, context.now);
            self.make_so(Decision::done(appeared), context, events);
        }
    }

    fn make_so(&mut self, decision: Decision, context: &Context<'_>, events: &mut Vec<Event>) -> Reply {
        for event in &decision.events {
            self.state.apply(event);
        }
        events.extend(decision.events);
        self.settle(context, events);
        decision.reply
    }

    fn settle(&mut self, context: &Context<'_>, events: &mut Vec<Event>) {
        loop {
            let mut follow = settle::consequences(&mut self.state, context);
            follow.extend(self.state.farm.consequences(context));
            self.state.pool.consequences(context.now, events);
            if follow.is_empty() {
                return;
            }
            for event in &follow {
                self.state.apply(event);
            }
            events.extend(follow);
        }
    }

    fn granted(&self, events: &[Event]) -> Vec<TaskRecord> {
        let grants = events.iter().filter_map(|event| match event {
            Event::LeaseGranted(grant) => Some(grant.task),
            _ => None,
        });
        grants.filter_map(|id| Some(self.state.task_record(id, self.state.task(id)?))).collect()
    }

    fn row(&self, id: muster_model::TaskId, context: &Context<'_>) -> Option<TaskRecord> {
        let live = self.state.task(id).map(|task| self.state.task_record(id, task));
        live.or_else(|| decide::report::ended_task(&self.state, id, context).map(|task| *task))
    }

    fn job_status(&self, job: muster_model::JobId) -> Option<JobStatus> {
        let live = self.state.job(job).map(|job| job.status);
        live.or_else(|| self.state.recent.jobs.get(&job).copied())
    }
}
