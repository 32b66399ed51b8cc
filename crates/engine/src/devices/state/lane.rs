//! Devices, and their rows in the jobs that target them.

use super::{TaskRef, WorkerIx};
use crate::kernel::storage::MaybeTime;
use alloc::{boxed::Box, vec::Vec};
use muster_model::{Attachment, Labels, Name, Timestamp};

/// A lane's number; never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct LaneIx(pub(crate) u32);

/// A device.
///
/// The fields are in memory order. A command about a running task needs only the first cache line; `handle` and
/// everything after it is in the second. Both lines are one aligned pair, which processors fetch together.
#[derive(Clone, Debug)]
#[repr(C, align(128))]
pub(crate) struct Lane {
    pub(crate) name: Name,
    /// Its rows in active jobs (and, until the next one comes, in jobs before them).
    pub(crate) rows: Rows,
    /// Since when it is not usable; none exactly while it is.
    pub(crate) offline_since: MaybeTime,
    pub(crate) worker: WorkerIx,
    pub(crate) attachment: Attachment,
    /// Out of service (Q11).
    pub(crate) failed: bool,
    pub(crate) handle: Name,
    pub(crate) labels: Option<Box<Labels>>,
    pub(crate) note: Option<Box<str>>,
    pub(crate) created_at: Timestamp,
    /// The worker that lost it last to another one while still reporting it, and the time. Not durable, and rare.
    pub(crate) taken: Option<Box<(WorkerIx, Timestamp)>>,
}

/// The rows of a lane. Most lanes have one, so the first is stored in place.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rows {
    first: Option<LaneRow>,
    more: Option<Box<MoreRows>>,
}

/// The rows of a lane after the first; never empty.
#[derive(Clone, Debug, Default)]
struct MoreRows(Vec<LaneRow>);

/// State of a job on a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LaneRow {
    pub(crate) job: u64,
    pub(crate) ordinal: u32,
    pub(crate) state: RowState,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RowState {
    Pending,
    Running,
    Ended,
}

impl LaneRow {
    pub(crate) fn new(task: TaskRef, state: RowState) -> Self {
        Self { job: task.job, ordinal: task.ordinal, state }
    }

    pub(crate) fn task(self) -> TaskRef {
        TaskRef { job: self.job, ordinal: self.ordinal }
    }
}

impl Rows {
    pub(crate) fn iter(&self) -> impl Iterator<Item = &LaneRow> {
        self.first.iter().chain(self.more.iter().flat_map(|more| &more.0))
    }

    pub(crate) fn retain(&mut self, keep: impl Fn(&LaneRow) -> bool) {
        if let Some(more) = &mut self.more {
            more.0.retain(|row| keep(row));
        }
        if self.first.as_ref().is_some_and(|row| !keep(row)) {
            self.first = self.more.as_mut().and_then(|more| more.0.pop());
        }
        if self.more.as_ref().is_some_and(|more| more.0.is_empty()) {
            self.more = None;
        }
    }

    fn set(&mut self, row: LaneRow) {
        let more = self.more.iter_mut().flat_map(|more| &mut more.0);
        match self.first.iter_mut().chain(more).find(|known| known.job == row.job) {
            Some(known) => *known = row,
            None => match self.first {
                None => self.first = Some(row),
                Some(_) => self.more.get_or_insert_default().0.push(row),
            },
        }
    }
}

impl Lane {
    /// The row of a job.
    pub(crate) fn row(&self, job: u64) -> Option<LaneRow> {
        self.rows.iter().find(|row| row.job == job).copied()
    }

    pub(crate) fn set_row(&mut self, row: LaneRow) {
        self.rows.set(row);
    }

    /// True if its latest row is the one with this ordinal.
    pub(crate) fn row_is(&self, ordinal: u32) -> bool {
        self.rows.iter().any(|row| row.ordinal == ordinal && row.state == RowState::Ended)
    }

    /// The task that holds the live lease on it.
    pub(crate) fn busy(&self) -> Option<TaskRef> {
        self.rows.iter().find(|row| row.state == RowState::Running).map(|row| row.task())
    }

    pub(crate) fn is_online(&self) -> bool {
        !self.offline_since.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::mem::offset_of;

    /// A command about a running task needs one cache line; a lane is two.
    #[test]
    fn a_lane_is_two_cache_lines() {
        assert_eq!((offset_of!(Lane, handle), size_of::<Lane>()), (64, 128));
    }
}
