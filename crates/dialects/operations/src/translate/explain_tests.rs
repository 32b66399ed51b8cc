use super::*;
use muster_model::{JobId, JobStatus, TaskId, TaskStatus};

const JOB: JobId = JobId(0x0199_0000_0000_7000_8000_0000_0000_0001);
const NOW: Timestamp = Timestamp(1_000_000);

fn name(text: &str) -> Name {
    Name::new(text).unwrap()
}

fn task() -> TaskId {
    TaskId { job: JOB, ordinal: 3 }
}

fn why(subject: Subject, cause: Cause) -> Why {
    show_why(&Explanation { subject, cause }, NOW)
}

fn causes() -> Vec<Cause> {
    let (lane, worker, task) = (name("d1"), name("PC-01"), task());
    vec![
        Cause::Running { leases: 3 },
        Cause::JobEnded { status: JobStatus::Success },
        Cause::TaskEnded { status: TaskStatus::Completed },
        Cause::QueuedBehind { active: JOB, ahead: 2 },
        Cause::NoSlot { worker: worker.clone(), running: 20, cap: 20 },
        Cause::LaneBusy { lane: lane.clone(), task },
        Cause::DeviceError { lane: lane.clone() },
        Cause::DeviceOffline { lane: lane.clone(), since: Timestamp(0) },
        Cause::NodeOffline { worker: worker.clone(), since: Timestamp(0) },
        Cause::NodeDraining { worker: worker.clone() },
        Cause::SupplyPaused { worker: worker.clone(), until: Timestamp(1_090_000) },
        Cause::AwaitingRedelivery { task, at: Timestamp(1_015_000) },
        Cause::WaitingForDevices { until: Timestamp(1_120_000) },
        Cause::AwaitingRetry { task, attempt: 1 },
        Cause::AwaitingPull { worker },
        Cause::Stopping { task },
        Cause::AlreadyServed { lane: lane.clone(), job: JOB },
        Cause::OutOfScope { lane },
        Cause::NoWork,
    ]
}

/// Q16: every cause has one sentence that names the subject and every object it refers to.
#[test]
fn every_cause_has_a_sentence() {
    for cause in causes() {
        let why = why(Subject::Lane(name("d9")), cause.clone());
        assert!(
            why.sentence.starts_with("The device d9 ") && why.sentence.ends_with('.'),
            "{}",
            why.sentence
        );
        for (key, value) in &why.data {
            if key.ends_with("_id") {
                assert!(why.sentence.contains(value.as_str().unwrap()), "{key} is missing: {}", why.sentence);
            }
        }
        assert_eq!((why.rule, why.code), cause.rule_and_code());
    }
}

/// Q16: the sentence says when a thing will change.
#[test]
fn a_sentence_reads_well() {
    let node = || Subject::Worker(name("PC-01"));
    let paused = why(node(), Cause::SupplyPaused { worker: name("PC-01"), until: Timestamp(1_090_000) });
    let expected =
        "The node PC-01 waits because supply to node PC-01 rests for another 90 s after a mass dropout.";
    assert_eq!(paused.sentence, expected);
    let silent = why(node(), Cause::NodeOffline { worker: name("PC-01"), since: Timestamp(0) });
    assert!(silent.sentence.ends_with("silent for 16 min."), "{}", silent.sentence);
    let late = why(node(), Cause::SupplyPaused { worker: name("PC-01"), until: Timestamp(0) });
    assert!(late.sentence.contains("another 0 s"));
    let one = why(Subject::Task(task()), Cause::Running { leases: 1 });
    let expected =
        "The task device 01990000-0000-7000-8000-000000000001.0000003 is running: 1 attempt is live.";
    assert_eq!(
        (one.sentence.as_str(), one.kind, one.rule, one.code),
        (expected, "task_device", "Q1", "running")
    );
}

/// Q16: what cannot exist is not asked for; `worker` and `job` are not known in this version.
#[test]
fn a_subject_is_read() {
    assert_eq!(read_subject("run", &JOB.to_string()), Some(Subject::Job(JOB)));
    assert_eq!(read_subject("task_device", &task().to_string()), Some(Subject::Task(task())));
    assert_eq!(read_subject("device", "d1"), Some(Subject::Lane(name("d1"))));
    assert_eq!(read_subject("node", "PC-01"), Some(Subject::Worker(name("PC-01"))));
    for (kind, id) in [
        ("run", "7"),
        ("task_device", "7"),
        ("device", "a/b"),
        ("node", ""),
        ("worker", "w"),
        ("job", "j"),
        ("x", "y"),
    ] {
        assert_eq!(read_subject(kind, id), None, "{kind} {id}");
    }
}
