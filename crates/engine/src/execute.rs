//! One match over all commands: each is decided, what it makes true is applied, and what follows is settled.

use crate::{
    decide::{
        Context, Decision, Refused,
        attempt::{self, End},
        cancel, claim, operate, presence, pull, report, settle, submit, tick,
    },
    rule::heartbeat,
    state::State,
};
use alloc::{boxed::Box, vec, vec::Vec};
use muster_model::{
    AccountCommand, AccountReply, Command, Event, FrameCommand, FrameReply, JobId, JobReply, JobStatus,
    Millis, Name, Outcome, PoolCommand, PoolReply, Pull, PullReply, Recorded, Rejection, Reply, Report,
    ScheduleCommand, SweepReply, TaskRecord,
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
            Command::Submit(submission) => self.job(submit::decide(state, submission, context)?),
            Command::Cancel { job } => self.job(cancel::decide(state, job, context)?),
            Command::Pull(pull) => Reply::Pulled(self.pull(pull)),
            Command::Heartbeat { worker } => {
                self.meet(&worker);
                self.take_heartbeat(&worker);
                Reply::Done
            }
            Command::Report(report) => Reply::Recorded(self.report(*report)?),
            Command::Claim { worker, max, lease } => Reply::Claimed(self.claim(&worker, max, lease)),
            Command::Renew { task, worker, lease } => {
                let decision = claim::renew(state, task, (&worker, lease), context)?;
                Reply::Renewed(self.apply(decision))
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
            Command::Label { lane, labels } => self.done(operate::label(state, lane, labels, context)?),
            Command::ReturnToService { lane, note } => {
                self.done(operate::return_to_service(state, lane, note, context)?)
            }
            Command::Drain { worker } => self.done(operate::drain(state, worker, true, context)?),
            Command::Resume { worker } => self.done(operate::drain(state, worker, false, context)?),
            Command::SetCap { worker, cap } => self.done(operate::set_cap(state, worker, cap, context)?),
            Command::RotateSecret { worker, hash } => {
                self.done(operate::rotate_secret(state, worker, hash, context)?)
            }
            Command::Frames(command) => Reply::Frames(self.frames(command)?),
            Command::Pool(command) => Reply::Pool(self.pool(command)?),
            Command::Accounts(command) => Reply::Accounts(self.accounts(command)?),
            Command::Schedules(command) => self.schedules(command)?,
        })
    }

    fn frames(&mut self, command: FrameCommand) -> Result<FrameReply, Rejection> {
        let decision = crate::frames::carry_out(&self.state.farm, command, self.context);
        self.apply(Decision::done(decision.events));
        decision.result.map_err(Rejection::Frames)
    }

    fn pool(&mut self, command: PoolCommand) -> Result<PoolReply, Rejection> {
        let result = crate::pool::carry_out(&mut self.state.pool, command, (self.context, &mut self.events));
        self.settle();
        result.map_err(Rejection::Pool)
    }

    fn accounts(&mut self, command: AccountCommand) -> Result<AccountReply, Rejection> {
        let decided = crate::accounts::carry_out(&self.state.accounts, command, self.context);
        let (events, reply) = decided.map_err(Rejection::Accounts)?;
        self.apply(Decision::done(events));
        Ok(reply)
    }

    fn schedules(&mut self, command: ScheduleCommand) -> Result<Reply, Rejection> {
        let decision = crate::schedules::decide(self.state, command, self.context)?;
        Ok(match self.apply(decision) {
            Reply::Job(job) => Reply::Job(self.with_current_status(job)),
            reply => reply,
        })
    }

    /// Applies a decision about a job. A repeat, which changes nothing, is answered as the first time was.
    fn job(&mut self, decision: Decision<JobReply>) -> Reply {
        let is_repeat = decision.events.is_empty();
        let reply = self.apply(decision);
        Reply::Job(if is_repeat { reply } else { self.with_current_status(reply) })
    }

    /// Applies a decision that has nothing to tell.
    fn done(&mut self, decision: Decision) -> Reply {
        self.apply(decision);
        Reply::Done
    }

    /// A pull is three decisions: who speaks, what is attached there, and what it is given on that ground.
    fn pull(&mut self, pull: Pull) -> PullReply {
        self.meet(&pull.worker);
        self.expect_heartbeat(&pull.worker);
        if let Some(devices) = pull.devices {
            let reported = pull::report_devices(self.state, &pull.worker, devices, self.context);
            self.apply(Decision::done(reported));
        }
        self.apply(pull::supply(self.state, &pull.worker, pull.max, self.context))
    }

    /// Whoever reports is there, even if the report is refused (N1b, N15).
    fn report(&mut self, report: Report) -> Result<Recorded, Rejection> {
        self.meet(&report.worker);
        self.expect_heartbeat(&report.worker);
        match report::decide(self.state, report, self.context) {
            Ok(decision) => Ok(self.apply(decision)),
            Err(Refused { events, rejection }) => {
                self.apply(Decision::done(events));
                Err(rejection)
            }
        }
    }

    fn claim(&mut self, worker: &Name, max: u32, lease: Millis) -> Vec<TaskRecord> {
        self.see(worker);
        self.apply(claim::decide(self.state, worker, (max, lease), self.context));
        let grants = self.events.iter().filter_map(|event| match event {
            Event::LeaseGranted(grant) => Some(grant.task),
            _ => None,
        });
        grants.filter_map(|id| Some(self.state.task_record(id, self.state.task(id)?))).collect()
    }

    /// Ends an attempt; the reply is the task as it is afterwards.
    fn end_attempt(&mut self, end: End) -> Result<Reply, Rejection> {
        let id = end.task;
        self.apply(attempt::decide(self.state, end, self.context)?);
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
            let due = tick::next_due(self.state, self.context)
                .or_else(|| crate::frames::next_due(&mut self.state.farm, self.context));
            let Some(due) = due else {
                if crate::pool::next_due(&mut self.state.pool, self.context, &mut self.events).is_none() {
                    break;
                }
                continue;
            };
            self.apply(Decision::done(due));
            for ix in core::mem::take(&mut self.state.dirty.rearm) {
                self.state.arm(ix);
            }
        }
        self.settle();
        Reply::Done
    }

    /// Enrols whoever speaks for the first time, and notes the sign of life.
    fn meet(&mut self, worker: &Name) {
        let appeared = presence::appear(self.state, worker, self.context.now);
        self.apply(Decision::done(appeared));
        self.see(worker);
    }

    /// Starts the wait for the heartbeats of a worker that pulls or calls back (N8c).
    fn expect_heartbeat(&mut self, worker: &Name) {
        if let Some(ix) = self.state.workers.ix(worker)
            && self.state.workers[ix].heartbeat_due.is_none()
        {
            self.state.workers[ix].heartbeat_due = Some(heartbeat::late_at(self.state, self.context.now));
            self.state.arm(ix);
        }
    }

    /// Notes a heartbeat; not durable, unless it ends the lateness of earlier ones (N8c).
    fn take_heartbeat(&mut self, worker: &Name) {
        let Some(ix) = self.state.workers.ix(worker) else {
            return;
        };
        let at = self.context.now;
        self.state.workers[ix].heartbeat_due = Some(heartbeat::late_at(self.state, at));
        if self.state.workers[ix].heartbeat_late_since.is_some() {
            let back = Event::HeartbeatChanged { worker: worker.clone(), late: false, at };
            self.apply(Decision::done(vec![back]));
        }
    }

    /// Notes a sign of life; not durable but for its consequences.
    fn see(&mut self, worker: &Name) {
        let Some(ix) = self.state.workers.ix(worker) else {
            return;
        };
        let now = self.context.now;
        self.state.workers[ix].heartbeat_due = heartbeat::due_after_silence(self.state, ix, now);
        self.state.workers[ix].last_seen = now.max(self.state.workers[ix].last_seen);
        self.state.dirty.sighted.insert(ix);
        if !self.state.workers[ix].online {
            let appeared = presence::appear(self.state, worker, now);
            self.apply(Decision::done(appeared));
        }
    }

    /// Makes a decision true, and whatever follows from it.
    fn apply<R>(&mut self, decision: Decision<R>) -> R {
        for event in &decision.events {
            self.state.apply(event);
        }
        self.events.extend(decision.events);
        self.settle();
        decision.reply
    }

    fn settle(&mut self) {
        loop {
            let mut follow = settle::consequences(self.state, self.context);
            follow.extend(self.state.farm.consequences(self.context));
            self.state.pool.consequences(self.context.now, &mut self.events);
            if follow.is_empty() {
                return;
            }
            for event in &follow {
                self.state.apply(event);
            }
            self.events.extend(follow);
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
