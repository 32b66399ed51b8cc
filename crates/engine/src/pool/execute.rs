//! Carries out commands about the pool, step by step. Each step is decided on the pool as the steps before left it
//! ([`super::decide`]), and is applied before the next one is decided: a worker that brings a thousand results and takes
//! a thousand jobs needs no copy of anything.

use super::{Pool, decide, state::PoolTimer};
use crate::{Mutant, execute::Execution, kernel::Decided};
use alloc::{boxed::Box, format, sync::Arc, vec::Vec};
use muster_model::{
    AssignmentId, AssignmentState, Event, PoolCommand, PoolEvent, PoolRejection, PoolReply, PoolResult,
    PoolTaken, PoolWork, PoolWorkReply, PoolWorkerId, Timestamp,
};

/// The steps of one command.
pub(crate) struct Steps<'e, 'a> {
    execution: &'e mut Execution<'a>,
    now: Timestamp,
    /// Unguessable numbers drawn so far.
    drawn: u64,
}

impl<'e, 'a> Steps<'e, 'a> {
    pub(crate) fn new(execution: &'e mut Execution<'a>) -> Self {
        let now = execution.context.now;
        Self { execution, now, drawn: 0 }
    }

    /// Carries out a command.
    pub(crate) fn carry_out(&mut self, command: PoolCommand) -> Result<PoolReply, PoolRejection> {
        match command {
            PoolCommand::Register(registration) => {
                self.change_worker(decide::register(self.pool(), registration, self.now))
            }
            PoolCommand::SetKey { worker, owner, public_key } => {
                decide::check_owner(self.pool(), worker, owner)?;
                self.apply([PoolEvent::WorkerKeyed { worker, public_key, at: self.now }]);
                self.worker(worker)
            }
            PoolCommand::Beat { worker, owner } => {
                decide::check_owner(self.pool(), worker, owner)?;
                self.see(worker);
                Ok(PoolReply::Seen { at: self.now })
            }
            PoolCommand::Poll { worker, owner, start, supply } => {
                decide::check_owner(self.pool(), worker, owner)?;
                Ok(self.poll(worker, start, supply))
            }
            PoolCommand::Resume { worker, owner } => {
                decide::check_owner(self.pool(), worker, owner)?;
                self.see(worker);
                Ok(PoolReply::Assignments(decide::started(self.pool(), worker)))
            }
            PoolCommand::HandIn { worker, owner, result } => {
                decide::check_owner(self.pool(), worker, owner)?;
                self.expire(worker);
                self.hand_in(worker, &result).map(PoolReply::Taken)
            }
            PoolCommand::Work(work) => {
                decide::check_owner(self.pool(), work.worker, work.owner)?;
                Ok(PoolReply::Worked(self.work(&work)))
            }
            PoolCommand::Submit(submission) => {
                let decided = decide::submit(self.pool(), *submission, self.execution.context);
                self.conclude(decided).map(PoolReply::Submitted)
            }
            PoolCommand::Cancel { job, client } => {
                let decided = decide::cancel(self.pool(), job, client, self.execution.context);
                self.conclude(decided).map(PoolReply::Cancelled)
            }
            PoolCommand::Drain { worker, owner, draining } => {
                let drain = decide::Drain { worker, owner, draining };
                self.change_worker(decide::drain(self.pool(), &drain, self.now))
            }
            PoolCommand::Ban { worker, reason } => {
                decide::known(self.pool(), worker)?;
                self.ban(worker, reason);
                self.worker(worker)
            }
            PoolCommand::Unban { worker, reason } => {
                self.change_worker(decide::unban(self.pool(), worker, reason, self.now))
            }
        }
    }

    /// Follows a timer that was due.
    pub(crate) fn follow(&mut self, timer: PoolTimer) {
        match timer {
            PoolTimer::Member(worker) => {
                self.apply(decide::silence(self.pool(), worker, self.now));
                self.expire(worker);
                self.execution.state.pool.arm(worker);
            }
            PoolTimer::Timeout(assignment) => {
                if let Some(worker) = self.pool().lease(assignment).map(|lease| lease.worker) {
                    self.expire(worker);
                }
            }
        }
    }

    /// Bans the workers that dissented too often (P15). A ban may end jobs, whose votes are judged in turn.
    pub(crate) fn ban_dissenters(&mut self) {
        while let Some(worker) = self.execution.state.pool.dirty.judged.pop_first() {
            let limit = self.pool().settings.ban_after;
            let member = self.pool().members.get(&worker);
            let guilty = member.is_some_and(|member| member.banned.is_none() && member.dissents >= limit);
            if guilty && !self.pool().has_bug(Mutant::DissentForgiven) {
                self.ban(worker, format!("{limit} dissents from majorities").into());
            }
        }
    }

    /// The oldest assignment that was not started, else a new one.
    fn poll(&mut self, worker: PoolWorkerId, start: bool, supply: bool) -> PoolReply {
        self.see(worker);
        let waiting = decide::assigned(self.pool(), worker).first().copied();
        let handout = match waiting {
            Some(id) => Some(id),
            None if supply => self.grant(worker, start),
            None => None,
        };
        if start && let Some(id) = waiting {
            self.begin(id);
        }
        PoolReply::Assignment(handout.and_then(|id| decide::handout_of(self.pool(), id)))
    }

    /// Takes results and gives work, in one call.
    fn work(&mut self, work: &PoolWork) -> PoolWorkReply {
        let (worker, max) = (work.worker, work.max as usize);
        self.expire(worker);
        let results = work.results.iter().map(|result| self.hand_in(worker, result)).collect();
        self.see(worker);
        let mut ids: Vec<AssignmentId> = decide::assigned(self.pool(), worker);
        ids.truncate(max);
        if work.start {
            ids.iter().for_each(|id| self.begin(*id));
        }
        while work.supply && ids.len() < max {
            match self.grant(worker, work.start) {
                Some(id) => ids.push(id),
                None => break,
            }
        }
        let assignments = ids.into_iter().filter_map(|id| decide::handout_of(self.pool(), id)).collect();
        PoolWorkReply { results, assignments }
    }

    /// Takes a result (P8), and ends its job if that is over.
    fn hand_in(
        &mut self,
        worker: PoolWorkerId,
        result: &Arc<PoolResult>,
    ) -> Result<PoolTaken, PoolRejection> {
        let decided = decide::take_result(self.pool(), worker, result, self.execution.context);
        let taken = self.conclude(decided)?;
        self.apply(decide::follow_up(self.pool(), result.assignment.job(), Some(result), self.now));
        Ok(taken)
    }

    /// Notes a sign of life: it renews the worker's leases, those that are not over (P5).
    fn see(&mut self, worker: PoolWorkerId) {
        if !self.pool().has_bug(Mutant::LeaseRevived) {
            self.expire(worker);
        }
        self.apply(decide::see(self.pool(), worker, self.now));
    }

    fn begin(&mut self, assignment: AssignmentId) {
        self.apply([PoolEvent::Started { assignment, at: self.now }]);
    }

    fn grant(&mut self, worker: PoolWorkerId, started: bool) -> Option<AssignmentId> {
        let fence = self.execution.context.number(self.drawn);
        let grant = decide::grant(self.pool(), decide::Request { worker, started, fence, at: self.now })?;
        self.drawn += 1;
        let id = grant.assignment;
        self.apply([PoolEvent::Granted(grant)]);
        Some(id)
    }

    /// Bans a worker and takes back what it holds (invariant 11), without costing the jobs an attempt.
    fn ban(&mut self, worker: PoolWorkerId, reason: Box<str>) {
        let live = self.pool().members.get(&worker).map(|member| member.live.clone()).unwrap_or_default();
        self.apply([PoolEvent::WorkerBanned { worker, reason, at: self.now }]);
        if self.pool().has_bug(Mutant::BanKeepsLease) {
            return;
        }
        for assignment in live {
            self.end_lease(assignment, AssignmentState::Revoked);
        }
    }

    /// Ends a worker's overdue leases, before anything it asks is decided (P5).
    fn expire(&mut self, worker: PoolWorkerId) {
        for assignment in decide::overdue(self.pool(), worker, self.now) {
            self.end_lease(assignment, AssignmentState::Expired);
        }
    }

    fn end_lease(&mut self, assignment: AssignmentId, state: AssignmentState) {
        self.apply([PoolEvent::Ended { assignment, state, at: self.now }]);
        self.apply(decide::follow_up(self.pool(), assignment.job(), None, self.now));
    }

    /// Applies a decision about a worker; the reply is the worker as it is afterwards.
    fn change_worker(
        &mut self,
        decided: Decided<PoolWorkerId, PoolRejection>,
    ) -> Result<PoolReply, PoolRejection> {
        let worker = self.conclude(decided)?;
        self.worker(worker)
    }

    fn worker(&self, worker: PoolWorkerId) -> Result<PoolReply, PoolRejection> {
        let record = self.pool().worker_record(worker).ok_or(PoolRejection::WorkerUnknown)?;
        Ok(PoolReply::Worker(record.into()))
    }

    fn pool(&self) -> &Pool {
        &self.execution.state.pool
    }

    fn apply(&mut self, events: impl IntoIterator<Item: Into<Event>>) {
        self.execution.step(events);
    }

    fn conclude<R>(&mut self, decided: Decided<R, PoolRejection>) -> Result<R, PoolRejection> {
        let decision = decided.map_err(|refused| refused.rejection)?;
        self.apply(decision.events);
        Ok(decision.reply)
    }
}
