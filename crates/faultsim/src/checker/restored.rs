//! What a new life would load is what this life held when it sealed the batch.

use super::{Broken, Checker, Verdict, broken, ensure};
use crate::scene::Scene;
use muster_engine::Engine;
use muster_model::{
    AssignmentId, Change, EntryId, FrameChange, FrameTaskId, JobId, Name, PoolChange, PoolWorkerId,
    SessionId, Settings, TaskId, Timestamp,
};

impl Checker {
    pub(crate) fn rows_are(
        &self,
        held: &[Change],
        load: &mut dyn FnMut(Settings) -> Result<Engine, Broken>,
        scene: &mut Scene,
    ) -> Verdict {
        scene.count("rows compared");
        let engine = load(self.settings)?;
        engine.check_invariants().or_else(|broke| broken("restored_invariant", || broke))?;
        let mut kept: Vec<Change> = engine.live_rows().into_iter().map(durable_part).collect();
        let mut held: Vec<Change> = held.iter().cloned().map(durable_part).collect();
        for rows in [&mut kept, &mut held] {
            rows.sort_by_key(place);
        }
        let differing = held.iter().zip(&kept).find(|(held, kept)| held != kept);
        ensure(differing.is_none(), "store_unlike_memory", || format!("held and kept: {differing:?}"))?;
        ensure(held.len() == kept.len(), "store_unlike_memory", || {
            format!("{} rows held, {} kept", held.len(), kept.len())
        })
    }
}

/// Signs of life are written now and then only.
fn durable_part(row: Change) -> Change {
    match row {
        Change::Worker(mut worker) => {
            worker.last_seen = Timestamp(0);
            Change::Worker(worker)
        }
        Change::Frames(FrameChange::Renderer(mut renderer)) => {
            renderer.last_heartbeat = None;
            Change::Frames(FrameChange::Renderer(renderer))
        }
        Change::Pool(PoolChange::Worker(mut worker)) => {
            (worker.last_seen, worker.specs_json) = (None, None);
            Change::Pool(PoolChange::Worker(worker))
        }
        row => row,
    }
}

/// What a row is found by; the store hands rows over by name, memory by age.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    Worker(Name),
    Lane(Name),
    Job(JobId),
    Task(TaskId),
    Renderer(Name),
    Session(SessionId),
    Range(FrameTaskId),
    Quarantine(EntryId),
    Member(PoolWorkerId),
    Assignment(AssignmentId),
    Elsewhere,
}

fn place(row: &Change) -> Place {
    match row {
        Change::Worker(worker) => Place::Worker(worker.id.clone()),
        Change::Lane(lane) => Place::Lane(lane.id.clone()),
        Change::Job(job) => Place::Job(job.id),
        Change::Task(task) => Place::Task(task.id),
        Change::Frames(FrameChange::Renderer(renderer)) => Place::Renderer(renderer.id.clone()),
        Change::Frames(FrameChange::Session(session)) => Place::Session(session.id.clone()),
        Change::Frames(FrameChange::Task(task)) => Place::Range(task.id.clone()),
        Change::Frames(FrameChange::Quarantine(entry)) => Place::Quarantine(entry.id.clone()),
        Change::Pool(PoolChange::Worker(worker)) => Place::Member(worker.id),
        Change::Pool(PoolChange::Assignment(assignment)) => Place::Assignment(assignment.id),
        _ => Place::Elsewhere,
    }
}
