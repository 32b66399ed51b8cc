//! Gives assignments the payloads of their jobs.

use crate::{routes::refuse, translate::show_assignment, wire::Assignment};
use muster_door::{Door, Problem};
use muster_model::{PoolHandout, PoolJobId};
use std::{collections::HashMap, sync::Arc};

/// Shows assignments with their payloads: most are in memory, the rest are read at once.
pub(crate) async fn with_payloads(door: &Door, handouts: &[PoolHandout]) -> Result<Vec<Assignment>, Problem> {
    let directory = door.coordinator.pool();
    let jobs = handouts.iter().map(|handout| handout.assignment.job());
    let mut payloads: HashMap<PoolJobId, Arc<str>> =
        jobs.clone().filter_map(|job| Some((job, directory.payload(job)?))).collect();
    let missing: Vec<PoolJobId> = jobs.filter(|job| !payloads.contains_key(job)).collect();
    if !missing.is_empty() {
        payloads.extend(
            door.coordinator.read(move |reader| reader.pool_payloads(&missing)).await.map_err(refuse)?,
        );
    }
    let shown = handouts.iter().map(|handout| {
        let payload = payloads.get(&handout.assignment.job());
        let payload =
            payload.ok_or_else(|| Problem::internal(&format_args!("no payload for {handout:?}")))?;
        Ok(show_assignment(handout, Arc::clone(payload)))
    });
    shown.collect()
}
