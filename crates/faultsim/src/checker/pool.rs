//! The ledger of the pool: what was handed in, leased and promised, independent of the engine.
//!
//! Like the rest of the ledger it reads what the store is told, what leaves the coordinator and when whom was heard of.

mod answer;
mod assignment;
mod end;
mod grant;

use super::{Verdict, ensure};
use crate::{pool::PoolView, scene::Counts};
use muster_model::{
    AssignmentId, AssignmentRecord, AssignmentState, Change, Fence, Millis, PoolChange, PoolCommand,
    PoolEndRecord, PoolJobId, PoolJobRecord, PoolKeyRecord, PoolResult, PoolSettings, PoolWorkerId,
    PoolWorkerRecord, SubmissionKey, Timestamp, UserId,
};
use muster_store::Batch;
use std::collections::{BTreeMap, BTreeSet};

/// The ledger.
#[derive(Default)]
pub(crate) struct PoolBook {
    settings: PoolSettings,
    seen: Counts,
    rows: Rows,
    /// Names of workers that hand in nothing but what is true, where nobody is strong enough to outvote them (P15).
    innocent: BTreeSet<String>,
    /// When the coordinator surely heard of each worker (P5).
    heard: BTreeMap<PoolWorkerId, Vec<Timestamp>>,
    /// When it may last have heard of each.
    maybe: BTreeMap<PoolWorkerId, Timestamp>,
    /// Whose requests waited when it was last looked.
    waited: BTreeSet<PoolWorkerId>,
    up_since: Timestamp,
    /// When each request was first taken in this life; it may be doubled.
    taken: BTreeMap<u64, Timestamp>,
    /// Results that reached the coordinator, by their digest.
    handed_in: BTreeSet<(PoolWorkerId, AssignmentId, [u8; 32])>,
    /// Assignments of which somebody was told that their result is taken.
    accepted: BTreeMap<AssignmentId, [u8; 32]>,
    /// Nonces that were ever given.
    fences: BTreeMap<Fence, AssignmentId>,
    /// Jobs that each submission key created (P13).
    promised: BTreeMap<(UserId, SubmissionKey), (PoolJobId, u32)>,
    /// Users who wanted to cancel each job (P13).
    cancels: BTreeMap<PoolJobId, Vec<Option<UserId>>>,
    /// Whom somebody wanted shut out, let in, or given work again, and when last.
    bans: BTreeSet<PoolWorkerId>,
    unbans: BTreeMap<PoolWorkerId, Timestamp>,
    resumes: BTreeMap<PoolWorkerId, Timestamp>,
    /// Keys that each worker ever had.
    keys: BTreeMap<PoolWorkerId, BTreeSet<Box<str>>>,
    /// Since when the store has it that a worker is shut out, or gets no more work.
    banned_since: BTreeMap<PoolWorkerId, Timestamp>,
    draining_since: BTreeMap<PoolWorkerId, Timestamp>,
    /// Since when the store has it that an assignment was started.
    started_since: BTreeMap<AssignmentId, Timestamp>,
    /// Assignments whose lease was over when their worker spoke again, and when that was (P5).
    dead: BTreeMap<AssignmentId, Timestamp>,
    /// Number of majorities that agreed with each worker, and number that did not (P15).
    agreed: BTreeMap<PoolWorkerId, u32>,
    dissented: BTreeMap<PoolWorkerId, u32>,
    /// Grants to each client in this life, by priority: when, and to which worker (P14).
    served: BTreeMap<(u8, UserId), Vec<Served>>,
}

/// A turn that a client had.
#[derive(Clone, Copy, Debug)]
struct Served {
    at: Timestamp,
    assignment: AssignmentId,
    worker: PoolWorkerId,
}

impl PoolBook {
    pub(super) fn new(settings: PoolSettings, seen: &Counts) -> Self {
        Self { settings, seen: seen.clone(), ..Self::default() }
    }

    /// Notes a worker that hands in nothing but what is true, and is not outvoted.
    pub(crate) fn trust(&mut self, name: String) {
        self.innocent.insert(name);
    }

    /// A new life begins: silence counts from now (P5), and whose turn it is is not remembered.
    pub(super) fn life_begins(&mut self, now: Timestamp) {
        self.up_since = now;
        // Earlier signs are dated by the clock of the life before, which may be ahead of this one.
        self.heard.values_mut().for_each(|heard| *heard = vec![now]);
        self.maybe.values_mut().for_each(|heard| *heard = now);
        self.waited.clear();
        self.taken.clear();
        self.served.clear();
        self.dead.clear();
    }

    /// The coordinator takes a request.
    pub(crate) fn taken(&mut self, command: &PoolCommand, exchange: u64, now: Timestamp) {
        self.taken.entry(exchange).or_insert(now);
        match command {
            PoolCommand::Beat { worker, owner }
            | PoolCommand::Poll { worker, owner, .. }
            | PoolCommand::Resume { worker, owner } => self.heard_of(*worker, *owner, now),
            PoolCommand::HandIn { worker, result, .. } => self.note_result(*worker, result),
            PoolCommand::Work(work) => {
                self.heard_of(work.worker, work.owner, now);
                work.results.iter().for_each(|result| self.note_result(work.worker, result));
            }
            PoolCommand::SetKey { worker, public_key, .. } => {
                self.keys.entry(*worker).or_default().insert(public_key.clone());
            }
            PoolCommand::Cancel { job, client } => self.cancels.entry(*job).or_default().push(*client),
            PoolCommand::Ban { worker, .. } => _ = self.bans.insert(*worker),
            PoolCommand::Unban { worker, .. } => _ = self.unbans.insert(*worker, now),
            PoolCommand::Drain { worker, draining: false, .. } => _ = self.resumes.insert(*worker, now),
            PoolCommand::Drain { .. } | PoolCommand::Register(_) | PoolCommand::Submit(_) => {}
        }
    }

    /// These wait for work: they are there as long as they do (P5).
    pub(crate) fn waiting(&mut self, members: impl Iterator<Item = PoolWorkerId>, now: Timestamp) {
        let waiting: BTreeSet<PoolWorkerId> = members.collect();
        for worker in &waiting {
            let heard = self.heard.entry(*worker).or_default();
            heard.push(now);
        }
        for worker in waiting.iter().chain(&self.waited) {
            self.maybe.insert(*worker, now);
        }
        self.waited = waiting;
    }

    /// A batch has become durable.
    pub(super) fn durable(&mut self, batch: &Batch, sealed_at: Timestamp) -> Verdict {
        let mut before = Before::default();
        for change in &batch.changes {
            if let Change::Pool(change) = change {
                self.note_row(change, sealed_at);
                self.rows.write(change, &mut before)?;
            }
        }
        if before.is_empty() {
            return Ok(());
        }
        self.check_assignments(&before)?;
        self.check_ends(&before)?;
        self.check_workers(&before, sealed_at)?;
        self.check_grants(&before)
    }

    /// The pool as people see it.
    pub(crate) fn view(&self) -> PoolView {
        let open = self.rows.jobs.values().filter(|job| !self.rows.ends.contains_key(&job.id));
        PoolView { workers: self.workers().cloned().collect(), is_open: open.count() > 0 }
    }

    pub(crate) fn workers(&self) -> impl Iterator<Item = &PoolWorkerRecord> {
        self.rows.workers.values()
    }

    /// Rows that are worth a date.
    fn note_row(&mut self, change: &PoolChange, now: Timestamp) {
        match change {
            PoolChange::Worker(row) => {
                since(&mut self.banned_since, row.id, row.ban_reason.is_some(), now);
                since(&mut self.draining_since, row.id, row.draining, now);
                let key = row.public_key.iter().cloned();
                self.keys.entry(row.id).or_default().extend(key);
                self.heard.entry(row.id).or_default();
                self.maybe.entry(row.id).or_insert(now);
            }
            PoolChange::Assignment(row) => {
                let is_started = row.state == muster_model::AssignmentState::Started;
                since(&mut self.started_since, row.id, is_started, now);
            }
            _ => {}
        }
    }

    fn heard_of(&mut self, worker: PoolWorkerId, owner: UserId, now: Timestamp) {
        // A worker of another owner does not exist for the caller (P5); one that is not durable yet may.
        if self.rows.workers.get(&worker).is_some_and(|row| row.owner == owner) {
            self.note_dead(worker, now);
            self.heard.entry(worker).or_default().push(now);
            self.maybe.insert(worker, now);
        }
    }

    fn note_result(&mut self, worker: PoolWorkerId, result: &PoolResult) {
        self.handed_in.insert((worker, result.assignment, result.digest));
    }

    fn taken_at(&self, exchange: u64) -> Timestamp {
        self.taken.get(&exchange).copied().unwrap_or_default()
    }
}

/// Notes since when something is so, or that it is not.
fn since<K: Ord>(dates: &mut BTreeMap<K, Timestamp>, key: K, is_so: bool, now: Timestamp) {
    if is_so {
        dates.entry(key).or_insert(now);
    } else {
        dates.remove(&key);
    }
}

/// Maximum time for a decision, its commit and the delivery of the response.
const SLACK: Millis = Millis(3_000);

/// All durable rows.
#[derive(Default)]
struct Rows {
    workers: BTreeMap<PoolWorkerId, PoolWorkerRecord>,
    jobs: BTreeMap<PoolJobId, PoolJobRecord>,
    assignments: BTreeMap<AssignmentId, AssignmentRecord>,
    ends: BTreeMap<PoolJobId, PoolEndRecord>,
    keys: BTreeMap<(UserId, SubmissionKey), PoolKeyRecord>,
    /// Those that are live.
    live: BTreeSet<AssignmentId>,
}

/// The rows a batch changed, as they were before it.
#[derive(Default)]
struct Before {
    workers: BTreeMap<PoolWorkerId, Option<PoolWorkerRecord>>,
    assignments: BTreeMap<AssignmentId, Option<AssignmentRecord>>,
    /// Jobs that were handed in, ended, or given to somebody.
    jobs: BTreeSet<PoolJobId>,
    ends: Vec<PoolJobId>,
    others: bool,
}

/// An output and an artifact. The ledger compares these themselves: no hash that somebody declared or computed can mislead
/// it. Outputs in the world are canonical.
type Submitted<'a> = (&'a str, Option<&'a str>);

/// Output that was submitted for an assignment, if there is any.
fn submitted(row: &AssignmentRecord) -> Option<Submitted<'_>> {
    let result = row.result.as_ref()?;
    Some((result.output.as_deref()?, result.artifact_uri.as_deref()))
}

impl Before {
    fn is_empty(&self) -> bool {
        self.workers.is_empty() && self.jobs.is_empty() && !self.others
    }
}

impl Rows {
    fn write(&mut self, change: &PoolChange, before: &mut Before) -> Verdict {
        before.others = true;
        match change {
            PoolChange::Worker(row) => {
                let old = self.workers.insert(row.id, (**row).clone());
                before.workers.entry(row.id).or_insert(old);
                Ok(())
            }
            PoolChange::Job(row) => {
                before.jobs.insert(row.id);
                let old = self.jobs.insert(row.id, (**row).clone());
                ensure(old.is_none(), "pool_job_changes", || format!("{old:?} became {row:?}"))
            }
            PoolChange::Assignment(row) => {
                self.write_assignment(row, before);
                Ok(())
            }
            PoolChange::End(row) => {
                before.jobs.insert(row.job);
                before.ends.push(row.job);
                let old = self.ends.insert(row.job, row.clone());
                let known = self.jobs.contains_key(&row.job);
                ensure(old.is_none() && known, "pool_job_ends_twice", || format!("{row:?} after {old:?}"))
            }
            PoolChange::Key(row) => {
                let old = self.keys.insert((row.client, row.key.clone()), row.clone());
                ensure(old.is_none(), "key_made_two_batches", || format!("{row:?} after {old:?}"))
            }
            PoolChange::Counters(_) => Ok(()),
        }
    }

    fn write_assignment(&mut self, row: &AssignmentRecord, before: &mut Before) {
        before.jobs.insert(row.id.job());
        match row.state.is_live() {
            true => self.live.insert(row.id),
            false => self.live.remove(&row.id),
        };
        let old = self.assignments.insert(row.id, row.clone());
        before.assignments.entry(row.id).or_insert(old);
    }

    /// The assignments of a job, oldest first.
    fn of(&self, job: PoolJobId) -> impl Iterator<Item = &AssignmentRecord> {
        let last = AssignmentId::new(job, AssignmentId::PER_JOB_MAX);
        self.assignments.range(AssignmentId::new(job, 0)..=last).map(|(_, row)| row)
    }

    /// The votes on a redundant job: who completed it, and what they submitted (P15).
    fn votes(&self, job: PoolJobId) -> impl Iterator<Item = (&AssignmentRecord, Submitted<'_>)> {
        let is_redundant = self.jobs.get(&job).is_some_and(|job| job.draft.redundancy > 1);
        let done = self.of(job).filter(|row| row.state == AssignmentState::Completed);
        done.filter_map(|row| Some((row, submitted(row)?))).filter(move |_| is_redundant)
    }

    /// Attempts of a job that count: those that were taken back do not.
    fn used(&self, job: PoolJobId) -> usize {
        self.of(job).filter(|row| row.state != AssignmentState::Revoked).count()
    }

    fn held_by(&self, worker: PoolWorkerId) -> impl Iterator<Item = &AssignmentRecord> {
        let live = self.live.iter().filter_map(|id| self.assignments.get(id));
        live.filter(move |row| row.worker == worker)
    }

    fn is_open(&self, job: PoolJobId) -> bool {
        self.jobs.contains_key(&job) && !self.ends.contains_key(&job)
    }
}
