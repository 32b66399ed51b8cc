//! Devices, and what each knows of the jobs it is a target of.

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
    pub(crate) rows: Rows,
    pub(crate) labels: Option<Box<Labels>>,
    pub(crate) note: Option<Box<str>>,
    pub(crate) created_at: Timestamp,
    /// The worker that lost it last to another one while still reporting it, and the time. Not durable, and rare.
    pub(crate) taken: Option<Box<(WorkerIx, Timestamp)>>,
}

/// The rows of a lane, the first of them without a place on the heap: one is the rule.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rows {
    first: Option<LaneRow>,
    more: Vec<LaneRow>,
}

impl Rows {
    pub(crate) fn iter(&self) -> impl Iterator<Item = &LaneRow> {
        self.first.iter().chain(&self.more)
    }

    pub(crate) fn retain(&mut self, keep: impl Fn(&LaneRow) -> bool) {
        self.more.retain(|row| keep(row));
        if self.first.as_ref().is_some_and(|row| !keep(row)) {
            self.first = self.more.pop();
        }
    }

    fn set(&mut self, row: LaneRow) {
        match self.first.iter_mut().chain(&mut self.more).find(|known| known.task.job == row.task.job) {
            Some(known) => *known = row,
            None => match self.first {
                None => self.first = Some(row),
                Some(_) => self.more.push(row),
            },
        }
    }
}

/// State of a job on a lane.
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
        self.rows.set(row);
    }

    /// True if its latest row is the one with this ordinal.
    pub(crate) fn row_is(&self, ordinal: u32) -> bool {
        self.rows.iter().any(|row| row.task.ordinal == ordinal && row.state == RowState::Ended)
    }

    pub(crate) fn is_online(&self) -> bool {
        self.offline_since.is_none()
    }
}
