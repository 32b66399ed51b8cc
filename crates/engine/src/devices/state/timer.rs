//! Timers of the devices.

use super::{LaneIx, WorkerIx};

/// What to look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Timer {
    /// Is this worker silent (N15), a lease of it due (Q9, Q14, N15b), its pause over (N17)?
    Worker(WorkerIx),
    /// May this job hand out again to this worker (N2)?
    Redelivery(WorkerIx),
    /// Has this lane been away too long (Q6)?
    Lane(LaneIx),
    /// Has this job waited long enough for a device (Q6)?
    Job(u64),
    /// Which lanes long away must this job skip, from this one on (Q6)?
    Skip(u64, LaneIx),
}
