//! S15: what fails is tried again until it works, with growing pauses, and is complained about once.

use super::super::persist::Trouble;
use super::*;
use crate::output::OutputError;
use muster_coordinator::instant_now;
use muster_coordinator::{Lead, LeaseTimes, Refusal};
use muster_model::Millis;
use muster_store::Candidate;
use std::{cell::Cell, io};

/// S15: an effect is not lost to a full disk; pauses grow from a second to a minute.
#[tokio::test(start_paused = true)]
async fn a_full_disk_is_waited_for() {
    let world = World::new().await;
    let runner = world.runner();
    let (tries, began) = (Cell::new(0), instant_now());
    let done = runner.persist("test", world.coordinator.epoch(), || async {
        tries.set(tries.get() + 1);
        if tries.get() <= 8 { Err(full().into()) } else { Ok("done") }
    });
    assert_eq!(done.await, Some("done"));
    assert_eq!(tries.get(), 9);
    // The clock is the test's own: it goes on when everybody waits.
    assert_eq!(began.elapsed().as_secs(), 1 + 2 + 4 + 8 + 16 + 32 + 60 + 60);
}

/// S15: what the next term will ask for again is not done for the last.
#[tokio::test(start_paused = true)]
async fn a_term_that_is_over_wants_nothing() {
    let world = World::new().await;
    let runner = world.runner();
    let over = runner.persist("test", world.coordinator.epoch(), || async {
        Err::<(), _>(Trouble::from(Refusal::Unavailable))
    });
    assert_eq!(over.await, None);
    let tries = Cell::new(0);
    let of_another = runner.persist("test", world.coordinator.epoch() + 1, || async {
        tries.set(tries.get() + 1);
        Err::<(), Trouble>(full().into())
    });
    assert_eq!((of_another.await, tries.get()), (None, 0));
}

/// S15, S18: a server that leads no more leaves what it had under way to whoever leads.
#[tokio::test(start_paused = true)]
async fn who_leads_no_more_does_nothing() {
    let world = World::new().await;
    let (runner, epoch) = (world.runner(), world.coordinator.epoch());
    let tries = Cell::new(0);
    let deposed = runner.persist("test", epoch, || async {
        tries.set(tries.get() + 1);
        world.coordinator.stop().await;
        Err::<(), Trouble>(full().into())
    });
    assert_eq!((deposed.await, tries.get()), (None, 1));
    assert!(matches!(runner.on_disk(|_| Ok(())).await, Err(Trouble::TermOver)));
}

/// S15, S18: a server that stood still for longer than others wait replaces no file before it knows that it leads.
#[tokio::test]
async fn who_stood_still_writes_nothing_old() {
    let place = TempDir::new().unwrap();
    let clock = Arc::new(ManualClock::at(Timestamp(0)));
    // Longer than any test: no sign of life comes in between.
    let lease = LeaseTimes { lease: Millis::from_secs(36_000) };
    let candidate = Candidate { node: "a".into(), address: "http://a:1".into() };
    let (store, options) = (Arc::new(MemoryStore::shared()), Options { lease, ..Options::default() });
    let by = Arc::clone(&clock);
    let coordinator = Coordinator::join_with_clock(store, options, candidate, by).unwrap();
    coordinator.watch_lead().wait_for(|lead| matches!(lead, Lead::Here { .. })).await.unwrap();
    let root = OutputRoot::open(place.path()).unwrap();
    let runner = Runner::new(coordinator.clone(), root, describe(), true);
    assert!(runner.on_disk(|_| Ok(())).await.is_ok());
    clock.advance(lease.lease);
    let written = runner.on_disk(|_| -> Result<(), OutputError> { panic!("it may be old") }).await;
    assert!(matches!(written, Err(Trouble::MayBeOver)), "{written:?}");
    coordinator.stop().await;
}

/// S15: a disk that comes back finds its work waiting.
#[tokio::test(start_paused = true)]
async fn what_is_in_the_way_is_waited_for() {
    let world = World::new().await;
    std::fs::write(world.path("quarantine"), "somebody's").unwrap();
    let home = world.root.make_task_directory(TaskFiles { output: "session_s1", chunk: 1 }).unwrap();
    std::fs::write(home.join("a"), "a").unwrap();
    let record = Arc::new(muster_model::QuarantineRecord {
        id: muster_model::EntryId::Chunk(1),
        session: session(),
        output: "session_s1".into(),
        worker: name("W1"),
        moved: false,
        files: 0,
        confirmed: None,
        at: Timestamp(0),
    });
    let runner = world.runner();
    let tries = Cell::new(0);
    let files = runner.persist("test", world.coordinator.epoch(), || async {
        tries.set(tries.get() + 1);
        if tries.get() == 3 {
            std::fs::rename(world.path("quarantine"), world.path("moved_away")).unwrap();
        }
        runner.set_apart(&record).await
    });
    assert_eq!((files.await, tries.get()), (Some(1), 3));
    assert!(world.path("quarantine/dropped_chunks/1/a").exists());
}

fn full() -> OutputError {
    let error = io::Error::from(io::ErrorKind::StorageFull);
    OutputError::Disk { doing: "write", path: "/out/x".into(), error }
}
