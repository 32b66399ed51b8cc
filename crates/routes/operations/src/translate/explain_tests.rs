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
