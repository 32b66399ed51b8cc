//! Carries out commands about the pool: each step is decided on what the steps before made so.

mod hand_in;
mod operate;
mod submit;
mod supply;

use super::Pool;
use crate::Context;
use alloc::{vec, vec::Vec};
use muster_model::{Event, Key, PoolCommand, PoolEvent, PoolRejection, PoolReply, PoolWorkerId, UserId};

type Decided = Result<PoolReply, PoolRejection>;

/// What a command is carried out with.
pub(super) struct Step<'a> {
    pub(super) context: &'a Context<'a>,
    pub(super) events: &'a mut Vec<Event>,
    /// Unguessable numbers drawn so far.
    pub(super) drawn: u64,
}

/// Decides a command and makes it so.
pub(crate) fn carry_out(
    pool: &mut Pool,
    command: PoolCommand,
    (context, events): (&Context<'_>, &mut Vec<Event>),
) -> Decided {
    let mut step = Step { context, events, drawn: 0 };
    match command {
        PoolCommand::Register(registration) => operate::register(pool, registration, &mut step),
        PoolCommand::SetKey { worker, owner, public_key } => {
            operate::set_key(pool, (worker, owner), public_key, &mut step)
        }
        PoolCommand::Beat { worker, owner } => supply::beat(pool, (worker, owner), &mut step),
        PoolCommand::Poll { worker, owner, start, supply } => {
            supply::poll(pool, (worker, owner), (start, supply), &mut step)
        }
        PoolCommand::Resume { worker, owner } => supply::resume(pool, (worker, owner), &mut step),
        PoolCommand::HandIn { worker, owner, result } => {
            owned(pool, worker, owner)?;
            pool.expire(worker, context.now, step.events);
            hand_in::hand_in(pool, worker, &result, &mut step).map(PoolReply::Taken)
        }
        PoolCommand::Work(work) => supply::work(pool, &work, &mut step),
        PoolCommand::Submit(submission) => submit::submit(pool, *submission, &mut step),
        PoolCommand::Cancel { job, client } => submit::cancel(pool, (job, client), &mut step),
        PoolCommand::Drain { worker, owner, draining } => {
            operate::drain(pool, (worker, owner), draining, &mut step)
        }
        PoolCommand::Ban { worker, reason } => operate::ban(pool, worker, reason, &mut step),
        PoolCommand::Unban { worker, reason } => operate::unban(pool, worker, reason, &mut step),
    }
}

/// What a command needs to know that memory may have forgotten.
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

/// A worker that is that owner's; any other does not exist for them (P5).
fn owned(pool: &Pool, worker: PoolWorkerId, owner: UserId) -> Result<(), PoolRejection> {
    let theirs = pool.members.get(&worker).is_some_and(|member| member.owner == owner);
    theirs.then_some(()).ok_or(PoolRejection::WorkerUnknown)
}

impl Step<'_> {
    fn make_so(&mut self, pool: &mut Pool, event: PoolEvent) {
        pool.make_so(event, self.events);
    }
}
