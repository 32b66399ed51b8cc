//! Pure decisions about the pool: each computes the events of one step of a command. Changes nothing.
//!
//! Owners bring workers and steer them, workers show that they live, admins ban them (P3, P5, P14); leases are granted,
//! found again after a crash, and end (P5, P6, P14, P15); a worker submits a result, whose signature was verified before it
//! came here (P7, P8); clients submit jobs and cancel them (P13, P18).

use crate::{
    Context, Mutant,
    kernel::{Decided, Decision},
    pool::{
        Pool,
        state::{Lease, Member},
        vote,
    },
};
use alloc::{boxed::Box, collections::BTreeSet, sync::Arc, vec, vec::Vec};
use muster_model::{
    AssignmentId, AssignmentState, Demand, Fact, Fence, Key, PoolCancelReply, PoolCommand, PoolEvent,
    PoolGrant, PoolHandout, PoolJobId, PoolJobStatus, PoolKeyRecord, PoolRegistration, PoolRejection,
    PoolResult, PoolSubmission, PoolSubmissionReply, PoolTaken, PoolWorkerId, Timestamp, UserId,
};

/// Facts that a command needs and that memory may have forgotten.
pub(crate) fn keys(pool: &Pool, command: &PoolCommand) -> Vec<Key> {
    let mut keys = match command {
        PoolCommand::HandIn { result, .. } => vec![Key::Assignment(result.assignment)],
        PoolCommand::Work(work) => {
            work.results.iter().map(|result| Key::Assignment(result.assignment)).collect()
        }
        PoolCommand::Submit(submission) => {
            let key = submission.key.iter().cloned();
            key.map(|key| Key::PoolSubmission(submission.client, key)).collect()
        }
        PoolCommand::Cancel { job, .. } => vec![Key::PoolEnd(*job)],
        _ => Vec::new(),
    };
    keys.retain(|key| match key {
        Key::Assignment(id) => pool.lease(*id).is_none() && !pool.recent.assignments.contains_key(id),
        Key::PoolEnd(job) => !pool.jobs.contains_key(job) && !pool.recent.ends.contains_key(job),
        Key::PoolSubmission(client, key) => !pool.recent.keys.contains_key(&(*client, key.clone())),
        _ => true,
    });
    keys
}

type Changed = Decided<PoolWorkerId, PoolRejection>;

/// Stop or resumption of a worker's new assignments.
pub(super) struct Drain {
    pub(super) worker: PoolWorkerId,
    /// Owner on whose behalf it happens; `None` for an admin.
    pub(super) owner: Option<UserId>,
    pub(super) draining: bool,
}

/// Registers a worker under a name that no other worker has, whoever owns it.
pub(super) fn register(pool: &Pool, registration: Box<PoolRegistration>, at: Timestamp) -> Changed {
    if pool.names.contains_key(&registration.name) {
        return Err(PoolRejection::NameTaken.into());
    }
    if pool.owned.get(&registration.owner).is_some_and(|owned| *owned >= WORKERS_PER_OWNER) {
        return Err(PoolRejection::TooManyWorkers { max: WORKERS_PER_OWNER }.into());
    }
    let worker = PoolWorkerId(pool.next_worker);
    Ok(Decision::new([PoolEvent::WorkerRegistered { worker, registration, at }], worker))
}

/// Stops or resumes new assignments.
pub(super) fn drain(pool: &Pool, drain: &Drain, at: Timestamp) -> Changed {
    let Drain { worker, owner, draining } = *drain;
    let member = known(pool, worker)?;
    if owner.is_some_and(|owner| owner != member.owner) {
        return Err(PoolRejection::WorkerUnknown.into());
    }
    let changes = member.draining != draining;
    Ok(Decision::new(changes.then_some(PoolEvent::WorkerDraining { worker, draining, at }), worker))
}

/// Lifts a ban.
pub(super) fn unban(pool: &Pool, worker: PoolWorkerId, reason: Box<str>, at: Timestamp) -> Changed {
    let is_banned = known(pool, worker)?.banned.is_some();
    Ok(Decision::new(is_banned.then_some(PoolEvent::WorkerUnbanned { worker, reason, at }), worker))
}

/// Notes a sign of life; a worker that was offline is back.
pub(super) fn see(pool: &Pool, worker: PoolWorkerId, at: Timestamp) -> Vec<PoolEvent> {
    let mut events = Vec::from([PoolEvent::WorkerSeen { worker, at }]);
    let is_back = pool.members.get(&worker).is_some_and(|member| !member.online && member.banned.is_none());
    events.extend(is_back.then_some(PoolEvent::WorkerOnline { worker, at }));
    events
}

/// Takes a worker offline that was silent for too long (P5).
pub(super) fn silence(pool: &Pool, worker: PoolWorkerId, at: Timestamp) -> Option<PoolEvent> {
    let member = pool.members.get(&worker)?;
    let silent = member.online && member.heard + pool.settings.offline_after <= at;
    let offline = silent && !pool.has_bug(Mutant::PoolSilenceIgnored);
    offline.then_some(PoolEvent::WorkerOffline { worker, at })
}

/// Refuses callers that do not own a worker: for them it does not exist (P5).
pub(super) fn check_owner(pool: &Pool, worker: PoolWorkerId, owner: UserId) -> Result<(), PoolRejection> {
    let member = known(pool, worker)?;
    (member.owner == owner).then_some(()).ok_or(PoolRejection::WorkerUnknown)
}

pub(super) fn known(pool: &Pool, worker: PoolWorkerId) -> Result<&Member, PoolRejection> {
    pool.members.get(&worker).ok_or(PoolRejection::WorkerUnknown)
}

/// Every worker is kept in memory.
const WORKERS_PER_OWNER: usize = 10_000;

/// A worker's request for one job.
pub(super) struct Request {
    pub(super) worker: PoolWorkerId,
    /// The worker begins at once.
    pub(super) started: bool,
    /// Number that the fence is made of.
    pub(super) fence: u128,
    pub(super) at: Timestamp,
}

/// Leases the job whose turn it is to a worker, with a nonce of its own (P5, P14).
pub(super) fn grant(pool: &Pool, request: Request) -> Option<PoolGrant> {
    let Request { worker, started, fence, at } = request;
    let member = pool.members.get(&worker)?;
    let full = !member.has_free_slot() && !pool.has_bug(Mutant::PoolSlotsIgnored);
    let drained = member.draining && pool.has_bug(Mutant::PoolDrainIgnored);
    if full || !(member.may_work() || drained && member.online) {
        return None;
    }
    let job = pool.ready.next_for(member)?;
    let open = pool.jobs.get(&job)?;
    let assignment = AssignmentId::new(job, open.given + 1);
    let timeout_at = open.timeout.map(|limit| at + limit);
    Some(PoolGrant { assignment, worker, fence: Fence(fence), started, at, timeout_at })
}

/// Assignments that a worker holds and has not started, oldest first.
pub(super) fn assigned(pool: &Pool, worker: PoolWorkerId) -> Vec<AssignmentId> {
    let waiting = leases_of(pool, worker).filter(|lease| !lease.started);
    let mut waiting: Vec<_> = waiting.map(|lease| (lease.granted_at, lease.id)).collect();
    // Assignments granted at the same moment have an order as well: the same one before and after a restart.
    waiting.sort_unstable();
    waiting.into_iter().map(|(_, id)| id).collect()
}

/// Assignments that a worker had started: it asks for them after a crash (P6).
pub(super) fn started(pool: &Pool, worker: PoolWorkerId) -> Vec<PoolHandout> {
    let started = leases_of(pool, worker).filter(|lease| lease.started);
    started.filter_map(|lease| handout_of(pool, lease.id)).collect()
}

/// An assignment as its worker is given it.
pub(super) fn handout_of(pool: &Pool, id: AssignmentId) -> Option<PoolHandout> {
    let priority = pool.jobs.get(&id.job())?.priority;
    Some(PoolHandout { assignment: id, fence: pool.lease(id)?.fence, priority })
}

/// Leases of a worker that are over, by its silence or by their jobs' own limits (P5).
pub(super) fn overdue(pool: &Pool, worker: PoolWorkerId, now: Timestamp) -> Vec<AssignmentId> {
    if pool.has_bug(Mutant::PoolLeaseForEver) {
        return Vec::new();
    }
    leases_of(pool, worker).filter(|lease| pool.is_over(lease, now)).map(|lease| lease.id).collect()
}

/// The end of a job, if it is over now that one of its assignments ended, with this result or with none. Otherwise the
/// job has another attempt, or waits for those that are under way.
pub(super) fn follow_up(
    pool: &Pool,
    id: PoolJobId,
    result: Option<&PoolResult>,
    at: Timestamp,
) -> Vec<PoolEvent> {
    let ended = pool.jobs.get(&id).and_then(|job| Some((job, vote::judge(pool, job, result)?)));
    let Some((job, verdict)) = ended else {
        return Vec::new();
    };
    let judged = vote::judged(pool, job, &verdict);
    let state = AssignmentState::Revoked;
    let revoked = job.leases.iter().map(|lease| PoolEvent::Ended { assignment: lease.id, state, at });
    let mut events: Vec<PoolEvent> = revoked.collect();
    let vote::Verdict { status, assignment, error, .. } = verdict;
    events.push(PoolEvent::JobEnded { job: id, status, assignment, error, at });
    events.extend(judged.into_iter().map(|(worker, agreed)| PoolEvent::WorkerJudged { worker, agreed, at }));
    events
}

fn leases_of(pool: &Pool, worker: PoolWorkerId) -> impl Iterator<Item = &Lease> {
    let live = pool.members.get(&worker).into_iter().flat_map(|member| &member.live);
    live.filter_map(|id| pool.lease(*id))
}

/// Takes a result, after the checks of P8 from the assignment on, in their order.
pub(super) fn take_result(
    pool: &Pool,
    worker: PoolWorkerId,
    result: &Arc<PoolResult>,
    context: &Context<'_>,
) -> Decided<PoolTaken, PoolRejection> {
    let member = known(pool, worker)?;
    let is_signed = member.public_key.as_deref() == Some(&*result.public_key);
    if !is_signed && !pool.has_bug(Mutant::ForeignKeyTaken) {
        return Err(PoolRejection::KeyReplaced.into());
    }
    let id = result.assignment;
    let Some(lease) = pool.lease(id) else {
        return Err(judge_ended(pool, worker, result, context).into());
    };
    if lease.worker != worker && !pool.has_bug(Mutant::AnothersResultTaken) {
        return Err(PoolRejection::AssignmentUnknown.into());
    }
    check_nonce(pool, lease.fence, result)?;
    check_output(pool, result)?;
    let at = context.now;
    let failed = vote::has_failed(result);
    let status = if failed { PoolJobStatus::Failed } else { PoolJobStatus::Completed };
    let taken = PoolTaken { assignment: id, status, at };
    Ok(Decision::new([PoolEvent::ResultTaken { result: Arc::clone(result), at }], taken))
}

fn check_nonce(pool: &Pool, fence: Fence, result: &PoolResult) -> Result<(), PoolRejection> {
    let good = result.nonce == Some(fence) || pool.has_bug(Mutant::NonceIgnored);
    good.then_some(()).ok_or(PoolRejection::NonceInvalid)
}

/// Compares a result's hash with its output (P11). A vote needs an output: only what the coordinator computes from it
/// counts (P15). A failure is no vote and needs none.
fn check_output(pool: &Pool, result: &PoolResult) -> Result<(), PoolRejection> {
    let Some(job) = pool.jobs.get(&result.assignment.job()) else {
        return Ok(());
    };
    let is_redundant = job.redundancy > 1;
    if is_redundant && pool.has_bug(Mutant::DeclaredHashTrusted) {
        return Ok(());
    }
    if is_redundant && result.vote.is_none() && !vote::has_failed(result) {
        return Err(PoolRejection::OutputRequired);
    }
    let is_wrong = job.verify && result.hash_matches == Some(false);
    if is_wrong && !pool.has_bug(Mutant::HashNotVerified) {
        return Err(PoolRejection::HashMismatch);
    }
    Ok(())
}

/// The reason to refuse a result for an assignment that is not live.
fn judge_ended(
    pool: &Pool,
    worker: PoolWorkerId,
    result: &PoolResult,
    context: &Context<'_>,
) -> PoolRejection {
    let id = result.assignment;
    let known = pool.recent.assignments.get(&id).or(match context.facts.get(&Key::Assignment(id)) {
        Some(Fact::Assignment(record)) => Some(record),
        _ => None,
    });
    let Some(record) = known.filter(|record| record.worker == worker) else {
        return PoolRejection::AssignmentUnknown;
    };
    if let Err(invalid) = check_nonce(pool, record.fence, result) {
        return invalid;
    }
    match record.digest {
        Some(digest) => PoolRejection::AlreadySubmitted { identical: digest == result.digest },
        None => PoolRejection::NotSubmittable,
    }
}

/// Takes jobs, all or none. A repeat under the same key is answered like the first request.
pub(super) fn submit(
    pool: &Pool,
    submission: PoolSubmission,
    context: &Context<'_>,
) -> Decided<PoolSubmissionReply, PoolRejection> {
    if let Some(known) = known_key(pool, &submission, context) {
        let PoolKeyRecord { digest, first, count, at, .. } = known;
        let repeated = Decision::unchanged(PoolSubmissionReply { first, count, at, repeated: true });
        return (digest == submission.digest).then_some(repeated).ok_or(PoolRejection::KeyConflict.into());
    }
    let (first, at) = (PoolJobId(pool.next_job), context.now);
    let count = submission.jobs.len() as u64;
    if first.0 + count > PoolJobId::MAX.0 {
        return Err(PoolRejection::IdsExhausted.into());
    }
    let max = pool.settings.waiting_max;
    if pool.open.get(&submission.client).copied().unwrap_or(0) + count > max {
        return Err(PoolRejection::TooManyWaiting { max }.into());
    }
    if has_too_many_demands(pool, &submission) {
        return Err(PoolRejection::TooManyDemands { max: DEMANDS_MAX }.into());
    }
    let count = u32::try_from(count).unwrap_or(u32::MAX);
    let reply = PoolSubmissionReply { first, count, at, repeated: false };
    Ok(Decision::new([PoolEvent::JobsSubmitted { first, submission: Arc::new(submission), at }], reply))
}

/// Ends a job. Workers that still run it learn of the end when they submit their results.
pub(super) fn cancel(
    pool: &Pool,
    job: PoolJobId,
    client: Option<UserId>,
    context: &Context<'_>,
) -> Decided<PoolCancelReply, PoolRejection> {
    let of_another = |owner: UserId| client.is_some_and(|client| client != owner);
    let at = context.now;
    let Some(open) = pool.jobs.get(&job) else {
        let end = pool.recent.ends.get(&job).or(match context.facts.get(&Key::PoolEnd(job)) {
            Some(Fact::PoolEnd(end)) => Some(end),
            _ => None,
        });
        let known = end.filter(|end| !of_another(end.client));
        return Err(known.map_or(PoolRejection::JobUnknown, |_| PoolRejection::JobFinished).into());
    };
    if of_another(open.client) {
        return Err(PoolRejection::JobUnknown.into());
    }
    let state = AssignmentState::Revoked;
    let revoked = open.leases.iter().map(|lease| PoolEvent::Ended { assignment: lease.id, state, at });
    let mut events: Vec<PoolEvent> = revoked.collect();
    let status = PoolJobStatus::Cancelled;
    events.push(PoolEvent::JobEnded { job, status, assignment: None, error: None, at });
    Ok(Decision::new(events, PoolCancelReply { job, at }))
}

fn known_key(pool: &Pool, submission: &PoolSubmission, context: &Context<'_>) -> Option<PoolKeyRecord> {
    let (client, key) = (submission.client, submission.key.clone()?);
    let recent = pool.recent.keys.get(&(client, key.clone()));
    recent.cloned().or_else(|| match context.facts.get(&Key::PoolSubmission(client, key)) {
        Some(Fact::PoolSubmission(record)) => Some(record.clone()),
        _ => None,
    })
}

/// True if a client's open jobs would have too many different demands. Jobs that demand nothing do not count.
fn has_too_many_demands(pool: &Pool, submission: &PoolSubmission) -> bool {
    let known = pool.demands.get(&submission.client);
    let asked: BTreeSet<&Demand> = submission.jobs.iter().map(|job| &job.demand).collect();
    let is_new = |demand: &&&Demand| {
        ***demand != Demand::default() && known.is_none_or(|known| !known.contains_key(**demand))
    };
    asked.iter().filter(is_new).count() + known.map_or(0, |known| known.len()) > DEMANDS_MAX
}

/// A worker that asks looks at every class with something to give out, so one client cannot have any number of them.
const DEMANDS_MAX: usize = 1000;
