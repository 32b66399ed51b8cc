//! The objects that can be explained (Q16).

use muster_model::{Name, PoolJobId, PoolWorkerId, SessionId, Subject};

/// Subjects that `GET /api/explain/{kind}/{id}` may mean, the likeliest first; empty if no such subject can exist.
#[must_use]
pub fn read_subjects(kind: &str, id: &str) -> Vec<Subject> {
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
pub const KINDS: [&str; 11] = [
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
mod tests {
    use super::*;
    use muster_model::{JobId, ScheduleId, TaskId};

    const JOB: JobId = JobId(0x0199_0000_0000_7000_8000_0000_0000_0001);

    fn name(text: &str) -> Name {
        Name::new(text).unwrap()
    }

    /// Q16: every kind is read; what cannot exist is not asked for.
    #[test]
    fn a_subject_is_read() {
        let task = TaskId { job: JOB, ordinal: 3 };
        let range = "s.00000050".parse().unwrap();
        for (kind, id, subject) in [
            ("run", JOB.to_string(), Subject::Job(JOB)),
            ("task_device", task.to_string(), Subject::Task(task)),
            ("device", "d1".to_owned(), Subject::Lane(name("d1"))),
            ("node", "PC-01".to_owned(), Subject::Worker(name("PC-01"))),
            ("session", "s".to_owned(), Subject::Session(SessionId::new("s").unwrap())),
            ("range", "s.00000050".to_owned(), Subject::Range(range)),
            ("worker", "W1".to_owned(), Subject::Renderer(name("W1"))),
            ("sim_worker", "7".to_owned(), Subject::Renderer(name("7"))),
            ("pool_worker", "7".to_owned(), Subject::Member(PoolWorkerId(7))),
            ("worker", "007".to_owned(), Subject::Renderer(name("007"))),
            ("job", "7".to_owned(), Subject::PoolJob(PoolJobId(7))),
            ("schedule", JOB.to_string(), Subject::Schedule(ScheduleId(JOB.0))),
        ] {
            assert!(KINDS.contains(&kind));
            assert_eq!(read_subjects(kind, &id), [subject], "{kind}");
        }
        let both = [Subject::Member(PoolWorkerId(7)), Subject::Renderer(name("7"))];
        assert_eq!(read_subjects("worker", "7"), both);
        for (kind, id) in [
            ("run", "7"),
            ("task_device", "7"),
            ("device", "a/b"),
            ("node", ""),
            ("worker", "a/b"),
            ("sim_worker", "a/b"),
            ("pool_worker", "W1"),
            ("pool_worker", "007"),
            ("job", "j"),
            ("job", "+7"),
            ("job", ""),
            ("session", "S!"),
            ("range", "s"),
            ("schedule", "7"),
            ("court_task", "task-1"),
            ("x", "y"),
        ] {
            assert_eq!(read_subjects(kind, id), [], "{kind} {id}");
        }
    }
}
