//! Entries of the feed about the pool. The effect of one command on many jobs is one entry.

use super::{Body, Entry};
use muster_model::{Event, PoolEvent, PoolGrant, PoolJobStatus, PoolWorkerId, Timestamp};
use std::fmt::{Display, Write};

/// The kinds and bodies of what one command did to the pool.
pub(super) fn phrase_all(events: &[Event]) -> impl Iterator<Item = Entry> {
    let pool = || {
        events.iter().filter_map(|event| match event {
            Event::Pool(event) => Some(event),
            _ => None,
        })
    };
    let single = pool().filter_map(phrase).collect::<Vec<_>>();
    single.into_iter().chain(assigned(pool())).chain(results(pool())).chain(ended(pool()))
}

/// The entry for a single event, if it is published as one.
fn phrase(event: &PoolEvent) -> Option<Entry> {
    let about = |at: &Timestamp, worker: &PoolWorkerId| Body::at(*at).raw("worker", worker);
    Some(match event {
        PoolEvent::WorkerRegistered { worker, registration, at } => {
            let body = about(at, worker).text("name", &registration.name);
            ("pool_worker_registered", body.raw("owner", registration.owner))
        }
        PoolEvent::WorkerKeyed { worker, at, .. } => ("pool_worker_keyed", about(at, worker)),
        PoolEvent::WorkerOnline { worker, at } => ("pool_worker_online", about(at, worker)),
        PoolEvent::WorkerOffline { worker, at } => ("pool_worker_offline", about(at, worker)),
        PoolEvent::WorkerDraining { worker, draining, at } => {
            (if *draining { "pool_worker_draining" } else { "pool_worker_resumed" }, about(at, worker))
        }
        PoolEvent::WorkerBanned { worker, reason, at } => {
            ("pool_worker_banned", about(at, worker).text("reason", reason))
        }
        PoolEvent::WorkerUnbanned { worker, reason, at } => {
            ("pool_worker_unbanned", about(at, worker).text("reason", reason))
        }
        PoolEvent::WorkerJudged { worker, agreed: false, at } => ("pool_worker_dissented", about(at, worker)),
        PoolEvent::JobsSubmitted { first, submission, at } => {
            let body = Body::at(*at).raw("client", submission.client).raw("first", first);
            ("pool_jobs_submitted", body.raw("count", submission.jobs.len()))
        }
        // Published together with all others of the same command: see `assigned`, `results` and `ended`.
        PoolEvent::Granted(_) | PoolEvent::Ended { .. } | PoolEvent::JobEnded { .. } => return None,
        // Signs of life, agreement and the steps of an assignment: its end is published.
        PoolEvent::WorkerSeen { .. }
        | PoolEvent::WorkerJudged { agreed: true, .. }
        | PoolEvent::Started { .. }
        | PoolEvent::ResultTaken { .. } => return None,
    })
}

/// One command gives work to one worker.
fn assigned<'e>(events: impl Iterator<Item = &'e PoolEvent>) -> Option<Entry> {
    let grants: Vec<&PoolGrant> = events
        .filter_map(|event| match event {
            PoolEvent::Granted(grant) => Some(grant),
            _ => None,
        })
        .collect();
    let body = Body::at(grants.first()?.at).raw("worker", grants.first()?.worker);
    Some(("pool_assigned", body.raw("assignments", list(grants.iter().map(|grant| grant.assignment)))))
}

/// Assignments that ended without a result.
fn results<'e>(events: impl Iterator<Item = &'e PoolEvent>) -> Option<Entry> {
    let ended: Vec<_> = events
        .filter_map(|event| match event {
            PoolEvent::Ended { assignment, at, .. } => Some((assignment, at)),
            _ => None,
        })
        .collect();
    let body = Body::at(*ended.first()?.1);
    Some(("pool_assignments_over", body.raw("assignments", list(ended.iter().map(|(id, _)| *id)))))
}

fn ended<'e>(events: impl Iterator<Item = &'e PoolEvent>) -> Option<Entry> {
    let ended: Vec<_> = events
        .filter_map(|event| match event {
            PoolEvent::JobEnded { job, status, at, .. } => Some((job, *status, at)),
            _ => None,
        })
        .collect();
    let body = Body::at(*ended.first()?.2);
    let of = |wanted: PoolJobStatus| ended.iter().filter(move |(_, status, _)| *status == wanted);
    let kinds = [PoolJobStatus::Completed, PoolJobStatus::Failed, PoolJobStatus::Cancelled];
    let kinds = kinds.into_iter().filter(|status| of(*status).next().is_some());
    let body =
        kinds.fold(body, |body, status| body.raw(status.as_str(), list(of(status).map(|(job, ..)| *job))));
    Some(("pool_jobs_ended", body))
}

fn list<T: Display>(items: impl Iterator<Item = T>) -> String {
    let mut text = String::from("[");
    for item in items {
        let comma = if text.len() > 1 { "," } else { "" };
        // Writing to a string cannot fail.
        let _ = write!(text, "{comma}{item}");
    }
    text.push(']');
    text
}
