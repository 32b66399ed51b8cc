//! Makes events so. Nothing here refuses, and nothing here is decided.

use super::{
    Pool,
    ready::Place,
    state::{Job, Lease, Member, PoolTimer, Vote},
    vote,
};
use crate::Mutant;
use alloc::{boxed::Box, collections::btree_map, sync::Arc, vec::Vec};
use muster_model::{
    AssignmentId, AssignmentRecord, AssignmentState, Demand, PoolChange, PoolEndRecord, PoolEvent, PoolGrant,
    PoolJobId, PoolJobRecord, PoolKeyRecord, PoolRegistration, PoolResult, PoolSubmission, PoolWorkerId,
    Timestamp, UserId,
};

/// End of a lease, with its result.
struct LeaseEnd<'a> {
    state: AssignmentState,
    result: Option<&'a Arc<PoolResult>>,
    at: Timestamp,
}

impl Pool {
    /// Changes memory by one event.
    pub(crate) fn apply(&mut self, event: &PoolEvent) {
        match event {
            PoolEvent::WorkerRegistered { worker, registration, at } => {
                self.register(*worker, registration, *at);
            }
            PoolEvent::WorkerSeen { worker, at } => self.see(*worker, *at),
            PoolEvent::WorkerKeyed { .. }
            | PoolEvent::WorkerOnline { .. }
            | PoolEvent::WorkerOffline { .. }
            | PoolEvent::WorkerDraining { .. }
            | PoolEvent::WorkerBanned { .. }
            | PoolEvent::WorkerUnbanned { .. }
            | PoolEvent::WorkerJudged { .. } => self.apply_to_member(event),
            PoolEvent::JobsSubmitted { first, submission, at } => self.submit(*first, submission, *at),
            PoolEvent::Granted(grant) => self.grant(grant),
            PoolEvent::Started { assignment, .. } => {
                if let Some(lease) = self.lease_mut(*assignment) {
                    lease.started = true;
                    if !self.has_bug(Mutant::StartForgotten) {
                        self.dirty.leases.insert(*assignment);
                    }
                }
            }
            PoolEvent::Ended { assignment, state, at } => {
                self.end_lease(*assignment, LeaseEnd { state: *state, result: None, at: *at })
            }
            PoolEvent::ResultTaken { result, at } => self.take_result(result, *at),
            PoolEvent::JobEnded { job, status, assignment, error, at } => {
                let Some(client) = self.jobs.get(job).map(|job| job.client) else {
                    return;
                };
                let (assignment, error) = (*assignment, error.clone());
                self.end_job(PoolEndRecord {
                    job: *job,
                    client,
                    status: *status,
                    assignment,
                    error,
                    at: *at,
                });
            }
        }
    }

    fn register(&mut self, id: PoolWorkerId, registration: &PoolRegistration, at: Timestamp) {
        self.add_member(id, Member::new(registration.clone(), at));
        self.dirty.members.insert(id);
    }

    pub(super) fn add_member(&mut self, id: PoolWorkerId, member: Member) {
        self.next_worker = self.next_worker.max(id.0 + 1);
        self.names.insert(member.name.clone(), id);
        *self.owned.entry(member.owner).or_default() += 1;
        self.members.insert(id, member);
    }

    fn see(&mut self, worker: PoolWorkerId, at: Timestamp) {
        if let Some(member) = self.members.get_mut(&worker) {
            member.heard = member.heard.max(at);
            member.last_seen = member.last_seen.max(Some(at));
            self.dirty.sighted.insert(worker);
        }
    }

    fn apply_to_member(&mut self, event: &PoolEvent) {
        let (PoolEvent::WorkerKeyed { worker, .. }
        | PoolEvent::WorkerOnline { worker, .. }
        | PoolEvent::WorkerOffline { worker, .. }
        | PoolEvent::WorkerDraining { worker, .. }
        | PoolEvent::WorkerBanned { worker, .. }
        | PoolEvent::WorkerUnbanned { worker, .. }
        | PoolEvent::WorkerJudged { worker, .. }) = event
        else {
            return;
        };
        let Some(member) = self.members.get_mut(worker) else {
            return;
        };
        match event {
            PoolEvent::WorkerKeyed { public_key, .. } => member.public_key = Some(public_key.clone()),
            PoolEvent::WorkerOnline { .. } => member.online = true,
            PoolEvent::WorkerOffline { .. } => member.online = false,
            PoolEvent::WorkerDraining { draining, .. } => member.draining = *draining,
            PoolEvent::WorkerBanned { reason, .. } => {
                member.banned = Some(reason.clone());
                member.online = false;
            }
            PoolEvent::WorkerUnbanned { .. } => (member.banned, member.dissents) = (None, 0),
            PoolEvent::WorkerJudged { agreed: true, .. } => {
                member.agreements = member.agreements.saturating_add(1)
            }
            PoolEvent::WorkerJudged { agreed: false, .. } => {
                member.dissents = member.dissents.saturating_add(1);
                self.dirty.judged.insert(*worker);
            }
            _ => {}
        }
        self.dirty.members.insert(*worker);
        self.dirty.freed.insert(*worker);
        self.arm(*worker);
    }

    fn submit(&mut self, first: PoolJobId, submission: &PoolSubmission, at: Timestamp) {
        let client = submission.client;
        for (id, draft) in (first.0..).map(PoolJobId).zip(&submission.jobs) {
            let asked = draft.max_attempts.unwrap_or(self.settings.max_attempts);
            let max_attempts = asked.max(draft.redundancy);
            let record = PoolJobRecord { id, client, max_attempts, draft: draft.clone(), created_at: at };
            self.open_job(&record);
            if !self.has_bug(Mutant::PoolJobNotWritten) {
                self.dirty.history.push(PoolChange::Job(record.into()));
            }
        }
        let count = u32::try_from(submission.jobs.len()).unwrap_or(u32::MAX);
        if let Some(key) = &submission.key {
            let digest = submission.digest;
            let record = PoolKeyRecord { client, key: key.clone(), digest, first, count, at };
            if !self.has_bug(Mutant::PoolKeyForgotten) {
                self.recent.keys.insert((client, key.clone()), record.clone());
            }
            self.dirty.history.push(PoolChange::Key(record));
        }
    }

    /// Takes a job into memory; it waits until [`Self::reindex`] finds that it does not.
    pub(super) fn open_job(&mut self, record: &PoolJobRecord) {
        self.next_job = self.next_job.max(record.id.0 + 1);
        let draft = &record.draft;
        let mut demand = draft.demand.clone();
        if self.has_bug(Mutant::PoolRegionIgnored) {
            demand.region = None;
        }
        let job = Job {
            client: record.client,
            priority: draft.priority,
            class: self.ready.join(&demand, Vec::new()),
            max_attempts: record.max_attempts,
            redundancy: draft.redundancy.max(1),
            verify: draft.verify_output_hash || draft.redundancy > 1,
            timeout: draft.timeout,
            given: 0,
            forgiven: 0,
            leases: Vec::new(),
            had: Vec::new(),
            votes: Vec::new(),
            waits: false,
        };
        if demand != Demand::default() {
            *self.demands.entry(record.client).or_default().entry(demand).or_default() += 1;
        }
        self.jobs.insert(record.id, job);
        *self.open.entry(record.client).or_default() += 1;
        self.reindex(record.id);
    }

    /// Puts a job where it belongs among those that can be given out.
    pub(super) fn reindex(&mut self, id: PoolJobId) {
        let bug = self.has_bug(Mutant::OwnerVotesTwice);
        let level = self.level(id);
        let Some(job) = self.jobs.get_mut(&id) else {
            return;
        };
        let place = Place { priority: level, class: job.class, client: job.client, job: id };
        if job.waits {
            self.ready.remove(place);
        }
        let barred = if bug { Vec::new() } else { job.barred() };
        if self.ready.barred(job.class) != barred {
            let demand = self.ready.demand(job.class).clone();
            let class = self.ready.join(&demand, barred);
            self.ready.leave(core::mem::replace(&mut job.class, class));
        }
        let (was, wants) = (job.waits, job.wants() > 0);
        job.waits = wants;
        if wants {
            self.ready.insert(Place { class: job.class, ..place });
            *self.dirty.fresh.entry(job.class).or_default() += usize::from(!was || job.redundancy > 1);
        }
    }

    fn grant(&mut self, grant: &PoolGrant) {
        let (id, worker) = (grant.assignment, grant.worker);
        let Some(member) = self.members.get_mut(&worker) else {
            return;
        };
        member.live.push(id);
        let owner = member.owner;
        let Some(job) = self.jobs.get_mut(&id.job()) else {
            return;
        };
        job.given = job.given.max(id.ordinal());
        let PoolGrant { fence, started, at, timeout_at, .. } = *grant;
        job.leases.push(Lease { id, worker, owner, fence, started, granted_at: at, timeout_at });
        if job.redundancy > 1 {
            job.had.push(owner);
        }
        let client = job.client;
        if !self.has_bug(Mutant::PoolTurnsIgnored) {
            self.ready.serve(self.level(id.job()), client);
        }
        self.dirty.leases.insert(id);
        if let Some(end) = timeout_at.filter(|_| !self.has_bug(Mutant::PoolLimitIgnored)) {
            self.timers.set(end, PoolTimer::Timeout(id));
        }
        self.reindex(id.job());
        self.arm(worker);
    }

    fn take_result(&mut self, result: &Arc<PoolResult>, at: Timestamp) {
        let failed = vote::has_failed(result);
        let state = if failed { AssignmentState::Failed } else { AssignmentState::Completed };
        let lease = self.lease(result.assignment).copied();
        self.end_lease(result.assignment, LeaseEnd { state, result: Some(result), at });
        let Some((lease, hash)) = lease.zip(self.vote_of(result)) else {
            return;
        };
        if let Some(job) = self.jobs.get_mut(&lease.id.job()) {
            job.votes.push(Vote { id: lease.id, worker: lease.worker, owner: lease.owner, hash });
            self.reindex(lease.id.job());
        }
    }

    /// The vote that a result is for its job; `None` for a failure, and for a job without redundancy (P15).
    fn vote_of(&self, result: &PoolResult) -> Option<Box<str>> {
        let job = self.jobs.get(&result.assignment.job())?;
        if job.redundancy < 2 || vote::has_failed(result) {
            return None;
        }
        let trusts_declared = self.has_bug(Mutant::DeclaredHashTrusted);
        if trusts_declared { result.output_hash.clone() } else { result.vote.clone() }
    }

    /// Takes a lease down and writes down how it ended.
    fn end_lease(&mut self, id: AssignmentId, end: LeaseEnd<'_>) {
        let LeaseEnd { state, result, at } = end;
        let costs = self.has_bug(Mutant::RevokedCosts);
        let vote = result.and_then(|result| self.vote_of(result));
        let Some(job) = self.jobs.get_mut(&id.job()) else {
            return;
        };
        let Some(place) = job.leases.iter().position(|lease| lease.id == id) else {
            return;
        };
        let lease = job.leases.remove(place);
        job.forgiven += u8::from(state == AssignmentState::Revoked && !costs);
        if state == AssignmentState::Revoked {
            job.had.retain(|owner| *owner != lease.owner);
        }
        if let Some(end) = lease.timeout_at {
            self.timers.clear(end, PoolTimer::Timeout(id));
        }
        if let Some(member) = self.members.get_mut(&lease.worker) {
            member.live.retain(|held| *held != id);
            self.dirty.freed.insert(lease.worker);
        }
        self.dirty.leases.remove(&id);
        let record = AssignmentRecord {
            state,
            ended_at: Some(at),
            digest: result.map(|result| result.digest),
            output_hash: result.and_then(|result| result.output_hash.clone()),
            vote,
            ..lease.record()
        };
        if !self.has_bug(Mutant::ResultForgotten) {
            self.recent.assignments.insert(id, record.clone().into());
        }
        let record = AssignmentRecord { result: result.map(Arc::clone), ..record };
        self.dirty.history.push(PoolChange::Assignment(record.into()));
        self.reindex(id.job());
    }

    /// Priority level of a job among those that can be given out.
    fn level(&self, job: PoolJobId) -> u8 {
        let priority = self.jobs.get(&job).map_or(0, |job| job.priority);
        if self.has_bug(Mutant::PoolPriorityIgnored) { 0 } else { priority }
    }

    fn end_job(&mut self, end: PoolEndRecord) {
        let level = self.level(end.job);
        let Some(job) = self.jobs.remove(&end.job) else {
            return;
        };
        if job.waits {
            let place = Place { priority: level, class: job.class, client: job.client, job: end.job };
            self.ready.remove(place);
        }
        self.uncount(job.client, self.ready.demand(job.class).clone());
        self.ready.leave(job.class);
        self.recent.ends.insert(end.job, end.clone());
        self.dirty.history.push(PoolChange::End(end));
    }

    /// A job of a client is open no more.
    fn uncount(&mut self, client: UserId, demand: Demand) {
        if let Some(open) = self.open.get_mut(&client) {
            *open -= 1;
            if *open == 0 {
                self.open.remove(&client);
            }
        }
        let Some(demands) = self.demands.get_mut(&client) else {
            return;
        };
        if let btree_map::Entry::Occupied(mut asked) = demands.entry(demand) {
            *asked.get_mut() -= 1;
            if *asked.get() == 0 {
                asked.remove();
            }
        }
        if demands.is_empty() {
            self.demands.remove(&client);
        }
    }
}

impl Lease {
    /// Its row while it is live.
    pub(super) fn record(&self) -> AssignmentRecord {
        let state = if self.started { AssignmentState::Started } else { AssignmentState::Assigned };
        AssignmentRecord {
            id: self.id,
            worker: self.worker,
            owner: self.owner,
            fence: self.fence,
            state,
            granted_at: self.granted_at,
            timeout_at: self.timeout_at,
            ended_at: None,
            digest: None,
            output_hash: None,
            vote: None,
            result: None,
        }
    }
}
