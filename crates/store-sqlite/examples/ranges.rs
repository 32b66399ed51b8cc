//! Measures how many ranges of frames per second a store grants and takes back done, and loads.
//!
//! `cargo run --release -p muster-store-sqlite --example ranges [ranges] [batch]`
#![allow(clippy::disallowed_methods, reason = "a measurement needs the real clock")]

use muster_model::{
    Change, ChunkRecord, ChunkState, Digest, FarmRecord, FrameChange, FrameTaskId, FrameTaskRecord,
    FrameTaskStatus, IdRange, Name, SessionId, SessionRecord, SessionStatus, Timestamp,
};
use muster_store::{Batch, Store, Writer};
use muster_store_sqlite::SqliteStore;
use std::time::Instant;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let number = |place: usize, default: u64| {
        std::env::args().nth(place).and_then(|text| text.parse().ok()).unwrap_or(default)
    };
    let (ranges, batch) = (number(1, 100_000), number(2, 256));
    let directory = tempfile::tempdir_in(".")?;
    let store = SqliteStore::open(directory.path())?;
    let mut term = store.begin_term()?;
    let (session, worker) = (SessionId::new("night_run-7")?, Name::new("gpu-01.rack-7")?);
    let started = Instant::now();
    // Each batch grants new ranges and takes the ones of the batch before.
    for first in (0..ranges).step_by(usize::try_from(batch)?) {
        let granted = (first..first + batch).flat_map(|place| granted(&session, &worker, place));
        let farm = FarmRecord { paused: false, next_chunk: first + batch, next_id: (first + batch) * 1_000 };
        commit(term.writer.as_mut(), granted.chain([FrameChange::Farm(farm)]))?;
        let done = (first.saturating_sub(batch)..first).flat_map(|place| done(&session, &worker, place));
        let progress = open_session(&session, first * 100);
        commit(term.writer.as_mut(), done.chain([FrameChange::Session(Box::new(progress))]))?;
    }
    report("ranges granted and done", ranges, started);
    let started = Instant::now();
    let mut loaded = 0;
    term.writer.load(&mut |_| loaded += 1)?;
    report("rows loaded", loaded, started);
    Ok(())
}

fn commit(
    writer: &mut dyn Writer,
    changes: impl Iterator<Item = FrameChange>,
) -> Result<(), muster_store::StoreError> {
    writer.commit(&Batch { changes: changes.map(Change::Frames).collect(), ..Batch::default() })
}

fn granted(session: &SessionId, worker: &Name, place: u64) -> [FrameChange; 2] {
    let (task, chunk) = (range(session, worker, place), chunk(session, worker, place));
    [FrameChange::Task(Box::new(task)), FrameChange::Chunk(chunk)]
}

fn done(session: &SessionId, worker: &Name, place: u64) -> [FrameChange; 2] {
    let task = FrameTaskRecord {
        status: FrameTaskStatus::Completed,
        confirmed_at: Some(AT),
        ended_at: Some(AT),
        digest: Some(Digest(u128::from(place))),
        result: Some("{\"poseFiles\":[],\"metricsSnapshot\":{\"fps\":24}}".into()),
        ..range(session, worker, place)
    };
    let chunk = ChunkRecord { state: ChunkState::Used, ..chunk(session, worker, place) };
    [FrameChange::Task(Box::new(task)), FrameChange::Chunk(chunk)]
}

fn range(session: &SessionId, worker: &Name, place: u64) -> FrameTaskRecord {
    FrameTaskRecord {
        id: FrameTaskId { session: session.clone(), start: place * 100 },
        end: (place + 1) * 100,
        status: FrameTaskStatus::Assigned,
        attempt: 1,
        failures: 0,
        losses: 0,
        losers: Vec::new(),
        worker: worker.clone(),
        ids: ids(place),
        created_at: AT,
        granted_at: AT,
        confirmed_at: None,
        ended_at: None,
        dropped: 0,
        digest: None,
        error: None,
        result: None,
    }
}

fn chunk(session: &SessionId, worker: &Name, place: u64) -> ChunkRecord {
    ChunkRecord {
        ids: ids(place),
        task: FrameTaskId { session: session.clone(), start: place * 100 },
        worker: worker.clone(),
        attempt: 1,
        state: ChunkState::Live,
        reason: None,
        at: AT,
    }
}

fn ids(place: u64) -> IdRange {
    IdRange { chunk: place + 1, start: place * 1_000_000, end: (place + 1) * 1_000_000 }
}

fn open_session(id: &SessionId, completed_frames: u64) -> SessionRecord {
    SessionRecord {
        id: id.clone(),
        seq: 1,
        status: SessionStatus::Running,
        total_frames: 10_000_000,
        frames_per_task: 100,
        strict: false,
        output: "session_night_run-7".into(),
        digest: Digest(7),
        completed_frames,
        failed_frames: 0,
        open: true,
        created_at: AT,
        ended_at: None,
        error: None,
        body: None,
    }
}

fn report(what: &str, count: u64, started: Instant) {
    let milliseconds = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX).max(1);
    println!("{count:>8} {what} in {milliseconds} ms: {}/s", count * 1_000 / milliseconds);
}

const AT: Timestamp = Timestamp(1_760_000_000_000);
