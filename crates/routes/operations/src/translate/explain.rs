//! What may be asked about (Q16).

use muster_model::{Name, PoolJobId, PoolWorkerId, SessionId, Subject};

/// What `GET /api/explain/{kind}/{id}` asks about, the likeliest first; nothing where there can be no such thing.
pub(crate) fn read_subjects(kind: &str, id: &str) -> Vec<Subject> {
    let one = match kind {
        "run" => id.parse().ok().map(Subject::Job),
        "task_device" => id.parse().ok().map(Subject::Task),
        "device" => Name::new(id).ok().map(Subject::Lane),
        "node" => Name::new(id).ok().map(Subject::Worker),
        "session" => SessionId::new(id).ok().map(Subject::Session),
        "range" => id.parse().ok().map(Subject::Range),
        "job" => number(id).map(|id| Subject::PoolJob(PoolJobId(id))),
        "schedule" => id.parse().ok().map(Subject::Schedule),
        "worker" => return member(id).into_iter().chain(renderer(id)).collect(),
        "pool_worker" => member(id),
        "sim_worker" => renderer(id),
        // Court tasks are files, and explained where these are.
        _ => None,
    };
    one.into_iter().collect()
}

/// Workers of the pool are numbers; a simulation worker may be called by one, too. `007` is nobody's number, but may be
/// somebody's name.
fn member(id: &str) -> Option<Subject> {
    let number = number(id).filter(|number| number.to_string() == id)?;
    Some(Subject::Member(PoolWorkerId(number)))
}

fn renderer(id: &str) -> Option<Subject> {
    Name::new(id).ok().map(Subject::Renderer)
}

fn number(id: &str) -> Option<u64> {
    let is_number = id.bytes().all(|byte| byte.is_ascii_digit());
    id.parse().ok().filter(|_| is_number)
}

/// The kinds that may be asked about here. `worker` is of the pool or of simulations, whichever there is; the other two
/// say which, where both are called so.
pub(crate) const KINDS: [&str; 11] = [
    "run",
    "device",
    "task_device",
    "node",
    "worker",
    "sim_worker",
    "pool_worker",
    "job",
    "session",
    "range",
    "schedule",
];

#[cfg(test)]
#[path = "explain_tests.rs"]
mod tests;
