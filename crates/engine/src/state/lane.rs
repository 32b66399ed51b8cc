//! A device: the key that admits one live lease.

use super::{TaskRef, WorkerIx};
use alloc::{boxed::Box, vec::Vec};
use muster_model::{Attachment, Labels, Name, Timestamp};

/// A lane's number; never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct LaneIx(pub(crate) u32);

/// A device.
#[derive(Clone, Debug)]
pub(crate) struct Lane {
    pub(crate) name: Name,
    pub(crate) handle: Name,
    pub(crate) worker: WorkerIx,
    pub(crate) attachment: Attachment,
    /// Out of service (Q11).
    pub(crate) failed: bool,
    /// The live lease on it.
    pub(crate) busy: Option<TaskRef>,
    /// Since when it is not usable; `None` exactly while it is.
    pub(crate) offline_since: Option<Timestamp>,
    /// Its rows in active jobs (and, until the next one comes, in jobs before them).
    pub(crate) rows: Vec<LaneRow>,
    pub(crate) labels: Option<Box<Labels>>,
    pub(crate) note: Option<Box<str>>,
    pub(crate) created_at: Timestamp,
}

/// What a job has done on a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LaneRow {
    pub(crate) task: TaskRef,
    pub(crate) state: RowState,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RowState {
    Pending,
    Running,
    Ended,
}

impl Lane {
    pub(crate) fn row(&self, job: u64) -> Option<LaneRow> {
        self.rows.iter().find(|row| row.task.job == job).copied()
    }

    pub(crate) fn set_row(&mut self, row: LaneRow) {
        match self.rows.iter_mut().find(|known| known.task.job == row.task.job) {
            Some(known) => *known = row,
            None => {
                // One row is the rule: room for four would double what a lane costs.
                self.rows.reserve_exact(1);
                self.rows.push(row);
            }
        }
    }

    /// Whether its latest row is the one with this ordinal.
    pub(crate) fn row_is(&self, ordinal: u32) -> bool {
        self.rows.last().is_some_and(|row| row.task.ordinal == ordinal && row.state == RowState::Ended)
    }

    pub(crate) fn is_online(&self) -> bool {
        self.offline_since.is_none()
    }
}
