//! One match over all commands: each is decided, what it makes true is applied, and what follows is settled.

use crate::{
    Mutant,
    devices::{
        decide::{
            claim::{self, Claim, End},
            job, operate, pull, report, tick,
        },
        rule::{heartbeat, liveness},
        state::{State, WorkerIx},
    },
    kernel::{Context, Decided, Decision, Refused},
};
use alloc::{boxed::Box, vec, vec::Vec};
use muster_model::{
    Command, Event, JobId, JobReply, JobStatus, Name, Outcome, Pull, PullReply, Recorded, Rejection, Reply,
    Report, ReportBatch, SweepReply, TaskRecord, WorkerMessage,
};

/// Timers followed in one command at most; the rest is due at once.
const TIMERS_PER_TICK: usize = 1000;

/// One command while it is carried out.
pub(crate) struct Execution<'a> {
    pub(crate) state: &'a mut State,
    pub(crate) context: &'a Context<'a>,
    /// Events so far, in order.
    pub(crate) events: Vec<Event>,
}

impl Execution<'_> {
    /// Carries a command out. The one place that tells commands apart: sessions, the pool, accounts and schedules have
    /// a match of their own, over their own commands.
    pub(crate) fn carry_out(&mut self, command: Command) -> Result<Reply, Rejection> {
        let (state, context) = (&*self.state, self.context);
        Ok(match command {
            Command::Submit(submission) => self.job(job::submit(state, submission, context))?,
            Command::Cancel { job } => self.job(job::cancel(state, job, context))?,
            Command::Pull(pull) => Reply::Pulled(self.pull(pull)),
            Command::Heartbeat { worker } => {
                self.heartbeat(&worker);
                Reply::Done
            }
            Command::Report(report) => Reply::Recorded(self.report(report)?),
            Command::ReportBatch(batch) => Reply::RecordedBatch(self.report_batch(batch)),
            Command::Claim { worker, max, lease } => {
                Reply::Claimed(self.claim(&Claim { worker: &worker, max, lease }))
            }
            Command::Renew { task, worker, lease } => {
                let claim = Claim { worker: &worker, max: 1, lease };
                Reply::Renewed(self.conclude(claim::renew(state, task, &claim, context))?)
            }
            Command::Complete { task, worker, result } => {
                self.end_attempt(End { task, worker, outcome: Outcome::Succeeded, result })?
            }
            Command::FailOrRetry { task, worker, error } => {
                let outcome = Outcome::Failed { reason: None, error };
                self.end_attempt(End { task, worker, outcome, result: None })?
            }
            Command::Tick => self.follow_timers(),
            Command::Sweep => Reply::Swept(self.sweep()),
            Command::Label { lane, labels } => self.done(operate::label(state, lane, labels, context))?,
            Command::ReturnToService { lane, note } => {
                self.done(operate::return_to_service(state, lane, note, context))?
            }
            Command::Drain { worker } => self.done(operate::drain(state, worker, true, context))?,
            Command::Resume { worker } => self.done(operate::drain(state, worker, false, context))?,
            Command::SetCap { worker, cap } => self.done(operate::set_cap(state, worker, cap, context))?,
            Command::RotateSecret { worker, hash } => {
                self.done(operate::rotate_secret(state, worker, hash, context))?
            }
            Command::Frames(command) => {
                let decided = crate::frames::decide(&state.farm, command, context);
                Reply::Frames(self.conclude(decided).map_err(Rejection::Frames)?)
            }
            Command::Pool(command) => {
                let result = crate::pool::Steps::new(self).carry_out(command);
                self.settle();
                Reply::Pool(result.map_err(Rejection::Pool)?)
            }
            Command::Accounts(command) => {
                let decided = crate::accounts::decide(&state.accounts, command, context);
                Reply::Accounts(self.conclude(decided).map_err(Rejection::Accounts)?)
            }
            Command::Schedules(command) => {
                match self.conclude(crate::schedules::decide(state, command, context))? {
                    Reply::Job(job) => Reply::Job(self.with_current_status(job)),
                    reply => reply,
                }
            }
        })
    }

    /// Applies a decision about a job. A repeat, which changes nothing, is answered as the first time was.
    fn job(&mut self, decided: Decided<JobReply>) -> Result<Reply, Rejection> {
        let is_repeat = decided.as_ref().is_ok_and(|decision| decision.events.is_empty());
        let reply = self.conclude(decided)?;
        Ok(Reply::Job(if is_repeat { reply } else { self.with_current_status(reply) }))
    }

    /// Applies a decision without a reply.
    fn done(&mut self, decided: Decided) -> Result<Reply, Rejection> {
        self.conclude(decided).map(|()| Reply::Done)
    }

    /// A pull is three decisions: who speaks, what is attached there, and what it is given on that ground.
    fn pull(&mut self, pull: Pull) -> PullReply {
        let worker = self.meet(&pull.worker);
        self.expect_heartbeat(worker);
        if let Some(devices) = pull.devices {
            let reported = pull::report_devices(self.state, &pull.worker, devices, self.context);
            self.apply(Decision::done(reported));
        }
        self.apply(pull::supply(self.state, worker, pull.max, self.context))
    }

    /// Decides on a report. A worker that reports is online, even if the report is rejected (N1b, N15).
    fn report(&mut self, report: Box<Report>) -> Result<Recorded, Rejection> {
        let worker = self.meet(&report.worker);
        self.expect_heartbeat(worker);
        self.conclude(report::decide(self.state, report, self.context))
    }

    /// Decides the messages of a batch one after the other, each on what the ones before it made true (N25).
    fn report_batch(&mut self, batch: ReportBatch) -> Vec<Result<Recorded, Rejection>> {
        let mut results: Vec<Result<Recorded, Rejection>> = Vec::with_capacity(batch.messages.len());
        let mut hidden = Vec::new();
        for (part, message) in (0..).zip(batch.messages) {
            if let Some(Err(first)) = results.iter().find(|result| result.is_err())
                && self.state.has_bug(Mutant::BatchStopsAtRefusal)
            {
                results.push(Err(first.clone()));
                continue;
            }
            results.push(self.part(part, message));
            if self.state.has_bug(Mutant::BatchRepeatTaken) {
                hidden.push(core::mem::take(&mut self.state.recent.reports));
            }
        }
        hidden.into_iter().for_each(|ids| self.state.recent.reports.absorb(ids));
        results
    }

    /// Decides one message of a batch as the command that it would be alone, with numbers of its own.
    fn part(&mut self, part: u64, message: WorkerMessage) -> Result<Recorded, Rejection> {
        let seed = self.context.seed_of_part(part);
        let context = Context { seed: &seed, ..*self.context };
        let events = core::mem::take(&mut self.events);
        let mut alone = Execution { state: &mut *self.state, context: &context, events };
        let result = match message {
            WorkerMessage::Report(report) => alone.report(report),
            WorkerMessage::Heartbeat { worker } => {
                alone.heartbeat(&worker);
                Ok(Recorded::Applied)
            }
        };
        self.events = alone.events;
        result
    }

    fn heartbeat(&mut self, worker: &Name) {
        let worker = self.meet(worker);
        self.take_heartbeat(worker);
    }

    fn claim(&mut self, claim: &Claim<'_>) -> Vec<TaskRecord> {
        if let Some(worker) = self.state.workers.ix(claim.worker) {
            self.see(worker);
        }
        self.apply(claim::decide(self.state, claim, self.context));
        let grants = self.events.iter().filter_map(|event| match event {
            Event::LeaseGranted(grant) => Some(grant.task),
            _ => None,
        });
        grants.filter_map(|id| Some(self.state.task_record(id, self.state.task(id)?))).collect()
    }

    /// Ends an attempt; the reply is the task as it is afterwards.
    fn end_attempt(&mut self, end: End) -> Result<Reply, Rejection> {
        let id = end.task;
        self.conclude(claim::end(self.state, end, self.context))?;
        let live = self.state.task(id).map(|task| Box::new(self.state.task_record(id, task)));
        let task = live.or_else(|| report::ended_task(self.state, id, self.context));
        Ok(Reply::Task(task.expect("a task whose attempt ended is live, or ended just now")))
    }

    fn sweep(&mut self) -> SweepReply {
        self.follow_timers();
        let count = |wanted: fn(&Event) -> bool| {
            u32::try_from(self.events.iter().filter(|event| wanted(event)).count()).unwrap_or(u32::MAX)
        };
        SweepReply {
            jobs: count(|event| matches!(event, Event::JobEnded { .. })),
            tasks: count(|event| matches!(event, Event::AttemptEnded { .. })),
        }
    }

    fn follow_timers(&mut self) -> Reply {
        for _ in 0..TIMERS_PER_TICK {
            if !self.follow_next_timer() {
                break;
            }
        }
        self.settle();
        Reply::Done
    }

    /// Takes the next due timer and applies what follows from it. Returns whether one was due.
    fn follow_next_timer(&mut self) -> bool {
        let (now, context) = (self.context.now, self.context);
        if let Some(timer) = tick::take_due(self.state, now) {
            self.apply(Decision::done(tick::decide(self.state, timer, context)));
            for ix in core::mem::take(&mut self.state.dirty.rearm) {
                self.state.arm(ix);
            }
        } else if let Some(timer) = self.state.farm.take_due(now) {
            let due = crate::frames::decide_due(&self.state.farm, &timer, context);
            if due.is_empty() {
                self.state.farm.rearm(&timer, now);
            }
            self.apply(Decision::done(due));
        } else if let Some(timer) = self.state.pool.take_due(now) {
            crate::pool::Steps::new(self).follow(timer);
        } else {
            return false;
        }
        true
    }

    /// Enrols whoever speaks for the first time, and notes the sign of life.
    fn meet(&mut self, name: &Name) -> WorkerIx {
        let known = self.state.workers.ix(name);
        let appeared = liveness::appear(self.state, name, known, self.context.now);
        self.apply(Decision::done(appeared));
        let worker = known.or_else(|| self.state.workers.ix(name)).expect("who appears is enrolled");
        self.see(worker);
        worker
    }

    /// Starts the wait for the heartbeats of a worker that pulls or calls back (N8c).
    fn expect_heartbeat(&mut self, ix: WorkerIx) {
        if self.state.workers[ix].heartbeat_due.is_none() {
            self.state.workers[ix].heartbeat_due = Some(heartbeat::late_at(self.state, self.context.now));
            self.state.arm(ix);
        }
    }

    /// Notes a heartbeat; not durable, unless it ends the lateness of earlier ones (N8c).
    fn take_heartbeat(&mut self, ix: WorkerIx) {
        let at = self.context.now;
        self.state.workers[ix].heartbeat_due = Some(heartbeat::late_at(self.state, at));
        if self.state.workers[ix].heartbeat_late_since.is_some() {
            let worker = self.state.workers[ix].name.clone();
            let back = Event::HeartbeatChanged { worker, late: false, at };
            self.apply(Decision::done(vec![back]));
        }
    }

    /// Notes a sign of life; not durable but for its consequences.
    fn see(&mut self, ix: WorkerIx) {
        let now = self.context.now;
        self.state.workers[ix].heartbeat_due = heartbeat::due_after_silence(self.state, ix, now);
        self.state.workers[ix].last_seen = now.max(self.state.workers[ix].last_seen);
        self.state.dirty.sighted.insert(ix);
        if !self.state.workers[ix].online {
            let appeared = liveness::appear(self.state, &self.state.workers[ix].name, Some(ix), now);
            self.apply(Decision::done(appeared));
        }
    }

    /// Applies the outcome of a decision; a rejection may have events as well.
    fn conclude<R, X>(&mut self, decided: Decided<R, X>) -> Result<R, X> {
        match decided {
            Ok(decision) => Ok(self.apply(decision)),
            Err(Refused { events, rejection }) => {
                self.apply(Decision::done(events));
                Err(rejection)
            }
        }
    }

    /// Applies a decision and settles what follows from it.
    fn apply<R>(&mut self, decision: Decision<R>) -> R {
        self.apply_all(decision.events);
        self.settle();
        decision.reply
    }

    /// Applies the events of a decision. Reuses its list if it is the first, as it is for most commands.
    fn apply_all(&mut self, mut events: Vec<Event>) {
        for event in &events {
            self.state.apply(event);
        }
        match self.events.is_empty() {
            true => self.events = events,
            false => self.events.append(&mut events),
        }
    }

    /// Applies the events of one step of a command; what follows from them is settled when all steps are done.
    pub(crate) fn step(&mut self, events: impl IntoIterator<Item: Into<Event>>) {
        for event in events {
            let event = event.into();
            self.state.apply(&event);
            self.events.push(event);
        }
    }

    fn settle(&mut self) {
        self.state.farm.note_time(self.context.now);
        while !self.state.is_settled() {
            let mut follow = tick::consequences(self.state, self.context);
            follow.extend(self.state.farm.consequences(self.context));
            crate::pool::Steps::new(self).ban_dissenters();
            if follow.is_empty() {
                return;
            }
            self.apply_all(follow);
        }
    }

    fn with_current_status(&self, reply: JobReply) -> JobReply {
        JobReply { status: self.job_status(reply.job).unwrap_or(reply.status), ..reply }
    }

    fn job_status(&self, job: JobId) -> Option<JobStatus> {
        let live = self.state.job(job).map(|job| job.status);
        live.or_else(|| self.state.recent.jobs.get(&job).copied())
    }
}
