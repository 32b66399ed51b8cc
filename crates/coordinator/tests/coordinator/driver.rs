//! The threads around the write path: a store that is slow, a store that fails.

use crate::failover::stage::submission;
use muster_coordinator::{Coordinator, Options, Refusal};
use muster_model::{Attachment, DeviceReport, JobId, Name, Pull, Rejection, TaskId, TaskStatus};
use muster_store::{Batch, Cutoffs, Failure, Loaded, MemoryStore, Reader, Store, StoreError, Term, Writer};
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};
use tokio::task::JoinSet;

/// A store whose commits wait while it is shut.
struct Gated {
    store: MemoryStore,
    shut: Arc<AtomicBool>,
}

struct GatedWriter {
    writer: Box<dyn Writer>,
    shut: Arc<AtomicBool>,
}

impl Store for Gated {
    fn begin_term(&self) -> Result<Term, StoreError> {
        let term = self.store.begin_term()?;
        let writer = GatedWriter { writer: term.writer, shut: Arc::clone(&self.shut) };
        Ok(Term { writer: Box::new(writer), ..term })
    }

    fn reader(&self) -> Arc<dyn Reader> {
        self.store.reader()
    }
}

impl Writer for GatedWriter {
    fn load(&mut self, sink: &mut dyn FnMut(Loaded)) -> Result<(), StoreError> {
        self.writer.load(sink)
    }

    fn commit(&mut self, batch: &Batch) -> Result<(), StoreError> {
        while self.shut.load(Ordering::SeqCst) {
            std::thread::sleep(Duration::from_millis(1));
        }
        self.writer.commit(batch)
    }

    fn prune(&mut self, cutoffs: &Cutoffs) -> Result<bool, StoreError> {
        self.writer.prune(cutoffs)
    }
}

/// I9: more requests than the queue holds are refused, not gathered without end; nothing is answered before its commit.
#[tokio::test(flavor = "multi_thread")]
async fn a_full_queue_refuses_and_a_slow_store_answers_nobody_early() {
    let shut = Arc::new(AtomicBool::new(false));
    let gated = Gated { store: MemoryStore::default(), shut: Arc::clone(&shut) };
    let options = Options { queue_length: 2, ..Options::default() };
    let coordinator = Coordinator::start(Arc::new(gated), options).expect("it starts");
    wait_until_ready(&coordinator).await;
    shut.store(true, Ordering::SeqCst);
    let mut asked = JoinSet::new();
    for key in ["a", "b", "c"] {
        asked.spawn(ask(coordinator.clone(), key));
    }
    let first = asked.join_next().await.expect("three were asked").expect("it runs");
    assert!(matches!(first, Err(Refusal::Busy)), "only the refused one is answered while nothing is durable");
    shut.store(false, Ordering::SeqCst);
    while let Some(answer) = asked.join_next().await {
        answer.expect("it runs").expect("it is durable now");
    }
    coordinator.stop().await;
}

/// A commit that fails, with or without effect, ends the term; the next one serves what the store really holds (Q15).
#[tokio::test(flavor = "multi_thread")]
async fn a_failed_commit_ends_the_term_and_a_repeat_finds_the_truth() {
    for failure in [Failure::Before, Failure::After] {
        let store = MemoryStore::default();
        let coordinator = Coordinator::start(Arc::new(store.clone()), Options::default()).expect("it starts");
        wait_until_ready(&coordinator).await;
        let epoch = coordinator.epoch();
        store.fail_next(failure);
        assert!(
            matches!(ask(coordinator.clone(), "k").await, Err(Refusal::Unavailable)),
            "its fate is unknown"
        );
        let first = loop {
            match ask(coordinator.clone(), "k").await {
                Ok(job) => break job,
                Err(Refusal::Unavailable) => tokio::time::sleep(Duration::from_millis(20)).await,
                Err(other) => panic!("{other}"),
            }
        };
        assert_eq!(ask(coordinator.clone(), "k").await.expect("a repeat"), first);
        assert!(coordinator.epoch() > epoch);
        let jobs = coordinator.read(|reader| reader.jobs(&Default::default(), &all())).await.expect("a list");
        assert_eq!(jobs.items.len(), 1, "{failure:?}");
        coordinator.stop().await;
    }
}

/// N21: a task is read as it stands, with its live lease; one that was never there is unknown.
#[tokio::test(flavor = "multi_thread")]
async fn a_task_is_read_with_its_lease() {
    let coordinator =
        Coordinator::start(Arc::new(MemoryStore::default()), Options::default()).expect("it starts");
    wait_until_ready(&coordinator).await;
    let device = DeviceReport { device: name("d1"), handle: name("h1"), attachment: Attachment::Online };
    let pull = |devices| Pull { worker: name("PC-01"), max: 1, devices };
    coordinator.pull(pull(Some(vec![device])), Duration::ZERO).await.expect("a report");
    let job = ask(coordinator.clone(), "k").await.expect("a job");
    let handout = coordinator.pull(pull(None), Duration::ZERO).await.expect("work").handouts.remove(0);
    let task = coordinator.task(handout.task).await.expect("it runs");
    assert_eq!((task.worker, task.lane, task.attempt), (name("PC-01"), name("d1"), 1));
    assert_eq!((task.fence, task.status), (handout.fence, TaskStatus::Running));
    assert!(task.started_at.is_some());
    let unknown = coordinator.task(TaskId { job, ordinal: 99 }).await;
    assert!(matches!(unknown, Err(Refusal::Rejected(Rejection::TaskUnknown))));
    coordinator.stop().await;
}

fn name(text: &str) -> Name {
    Name::new(text).expect("a name")
}

fn all() -> muster_store::Cursor {
    muster_store::Cursor { after: None, limit: 100 }
}

async fn wait_until_ready(coordinator: &Coordinator) {
    while !coordinator.is_ready() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

async fn ask(coordinator: Coordinator, key: &'static str) -> Result<JobId, Refusal> {
    coordinator.ask(submission(key)).await.map(|reply| reply.job)
}
