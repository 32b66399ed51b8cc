//! What a new life would load is what this life held when it sealed the batch.

use super::{Broken, Checker, Verdict, broken, ensure};
use crate::scene::Scene;
use muster_engine::Engine;
use muster_model::{Change, Settings, Timestamp};

impl Checker {
    pub(crate) fn rows_are(
        &self,
        held: &[Change],
        load: &mut dyn FnMut(Settings, Timestamp) -> Result<Engine, Broken>,
        scene: &mut Scene,
    ) -> Verdict {
        scene.count("rows compared");
        let engine = load(self.settings, scene.now)?;
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
        row => row,
    }
}

/// The store hands rows over by name, memory by age.
fn place(row: &Change) -> (u8, String) {
    match row {
        Change::Worker(worker) => (0, worker.id.to_string()),
        Change::Lane(lane) => (1, lane.id.to_string()),
        Change::Job(job) => (2, job.id.to_string()),
        Change::Task(task) => (3, task.id.to_string()),
        _ => (4, String::new()),
    }
}
