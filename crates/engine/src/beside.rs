//! What the coordinator asks of sessions, the pool and schedules, which stand beside the devices.

use crate::Engine;
use alloc::vec::Vec;
use muster_model::{
    Effect, FrameQuery, FrameView, PoolCause, PoolJobId, PoolStatus, PoolWorkerId, ScheduleRecord, Settings,
    Timestamp,
};

impl Engine {
    /// What must happen outside once the changes taken before are durable.
    pub fn take_effects(&mut self) -> Vec<Effect> {
        self.state.farm.take_effects()
    }

    /// What memory knows of sessions beyond the store.
    #[must_use]
    pub fn frame_view(&self, query: &FrameQuery, now: Timestamp) -> FrameView {
        self.state.farm.view(query, now)
    }

    /// The signs of life of the pool's workers since the last call.
    pub fn take_pool_sightings(&mut self) -> Vec<(PoolWorkerId, Timestamp)> {
        self.state.pool.take_sightings()
    }

    /// The pool, counted.
    #[must_use]
    pub fn pool_status(&self) -> PoolStatus {
        self.state.pool.status()
    }

    /// Why a job of the pool is not done yet; `None` when memory does not know it.
    #[must_use]
    pub fn explain_pool(&self, job: PoolJobId) -> Option<PoolCause> {
        self.state.pool.explain(job)
    }

    /// The schedule whose slot is due first, and that slot (Q17).
    #[must_use]
    pub fn first_schedule(&self) -> Option<(Timestamp, &ScheduleRecord)> {
        self.state.schedules.first_due()
    }

    /// The figures in force.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.state.settings
    }
}
