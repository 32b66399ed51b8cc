//! Tasks that have not ended, and the leases on them.

use super::{LaneIx, WorkerIx};
use crate::kernel::{
    Map,
    storage::{Chunks, MaybeTime},
};
use alloc::{boxed::Box, vec::Vec};
use core::ops::Index;
use muster_model::{Fence, LeaseKind, TaskStatus, Timestamp};

/// A task's place: its job's age and its ordinal in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct TaskRef {
    pub(crate) job: u64,
    pub(crate) ordinal: u32,
}

/// A task that has not ended. Its two cache lines are one aligned pair, which processors fetch together.
#[derive(Clone, Debug)]
#[repr(align(128))]
pub(crate) struct Task {
    pub(crate) lane: LaneIx,
    /// The worker that has or last had it.
    pub(crate) worker: WorkerIx,
    pub(crate) attempt: u16,
    pub(crate) max_attempts: u16,
    /// Of the live or last attempt.
    pub(crate) fence: Fence,
    pub(crate) kind: LeaseKind,
    /// `Some` exactly while it is leased out.
    pub(crate) lease: Option<Lease>,
    pub(crate) granted_at: Timestamp,
    pub(crate) confirmed_at: MaybeTime,
    /// Time when the last attempt ended.
    pub(crate) ended_at: MaybeTime,
    pub(crate) timed_out: bool,
    pub(crate) error: Option<Box<str>>,
    pub(crate) created_at: Timestamp,
    /// Its place in the line of retries.
    pub(crate) order: u64,
    pub(crate) logs: u32,
}

/// The live right to the attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lease {
    pub(crate) until: Timestamp,
    pub(crate) timeout_at: Timestamp,
    /// Time when it was last shown to its worker, until confirmed.
    pub(crate) shown_at: Timestamp,
}

impl Task {
    pub(crate) fn status(&self) -> TaskStatus {
        if self.lease.is_some() { TaskStatus::Running } else { TaskStatus::Pending }
    }
}

/// All tasks that have not ended.
///
/// Each job has a list of slot numbers by ordinal: four bytes per task that it ever had, until the job leaves memory.
/// A new task takes the slot of the task that ended last, because that slot is probably still in the cache.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tasks {
    slots: Chunks<Option<Task>>,
    free: Vec<Slot>,
    /// By job, then by ordinal.
    places: Map<u64, Vec<Slot>>,
}

/// Index of a task in `slots`; [`Slot::NONE`] if the task has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Slot(u32);

impl Slot {
    const NONE: Self = Self(u32::MAX);
}

impl Tasks {
    pub(crate) fn get(&self, at: &TaskRef) -> Option<&Task> {
        self.slots[self.slot(at)?.0 as usize].as_ref()
    }

    pub(crate) fn get_mut(&mut self, at: &TaskRef) -> Option<&mut Task> {
        let slot = self.slot(at)?;
        self.slots[slot.0 as usize].as_mut()
    }

    pub(crate) fn insert(&mut self, at: TaskRef, task: Task) {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            Slot(u32::try_from(self.slots.len() - 1).expect("fewer than 2^32 live tasks"))
        });
        self.slots[slot.0 as usize] = Some(task);
        let places = self.places.entry(at.job).or_default();
        let ordinal = at.ordinal as usize;
        if places.len() <= ordinal {
            places.resize(ordinal + 1, Slot::NONE);
        }
        places[ordinal] = slot;
    }

    pub(crate) fn remove(&mut self, at: &TaskRef) {
        let Some(slot) = self.slot(at) else { return };
        self.slots[slot.0 as usize] = None;
        self.free.push(slot);
        if let Some(places) = self.places.get_mut(&at.job) {
            places[at.ordinal as usize] = Slot::NONE;
        }
    }

    /// Drops the list of a job that has no live task.
    pub(crate) fn forget_job(&mut self, job: u64) {
        self.places.remove(&job);
    }

    pub(crate) fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// All live tasks, in no particular order of jobs.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (TaskRef, &Task)> {
        self.places.iter().flat_map(move |(job, places)| {
            (0..).zip(places).filter_map(move |(ordinal, slot)| {
                let live = self.slots.get(slot.0 as usize)?.as_ref()?;
                Some((TaskRef { job: *job, ordinal }, live))
            })
        })
    }

    fn slot(&self, at: &TaskRef) -> Option<Slot> {
        let slot = *self.places.get(&at.job)?.get(at.ordinal as usize)?;
        (slot != Slot::NONE).then_some(slot)
    }
}

impl Index<&TaskRef> for Tasks {
    type Output = Task;

    fn index(&self, at: &TaskRef) -> &Task {
        self.get(at).expect("the task is live")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_is_two_cache_lines() {
        assert_eq!(size_of::<Option<Task>>(), 128);
    }
}
