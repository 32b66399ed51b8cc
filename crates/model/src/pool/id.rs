//! Identities of contract P: JSON integers below 2^53.

use core::fmt;

/// Identity of a worker; counts up from 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PoolWorkerId(pub u64);

/// Identity of a job; counts up from 1, so that a smaller one is older.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PoolJobId(pub u64);

/// Identity of an assignment: its job, and the how manieth of that job it is.
///
/// All assignments of a job stand together, so a store needs no index to find them, and a result names its job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AssignmentId(pub u64);

impl PoolJobId {
    /// The largest: its assignments' ids stay below 2^53.
    pub const MAX: Self = Self((1 << 47) - 1);
}

impl AssignmentId {
    /// One job has no more assignments than this, whatever happens.
    pub const PER_JOB_MAX: u8 = 63;

    /// The nth assignment of a job; n from 1.
    #[must_use]
    pub const fn new(job: PoolJobId, n: u8) -> Self {
        Self(job.0 << 6 | (n & Self::PER_JOB_MAX) as u64)
    }

    /// Its job.
    #[must_use]
    pub const fn job(self) -> PoolJobId {
        PoolJobId(self.0 >> 6)
    }

    /// The how manieth of its job it is.
    #[must_use]
    #[allow(clippy::cast_possible_truncation, reason = "six bits")]
    pub const fn ordinal(self) -> u8 {
        (self.0 & Self::PER_JOB_MAX as u64) as u8
    }
}

impl fmt::Display for PoolWorkerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl fmt::Display for PoolJobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl fmt::Display for AssignmentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_assignment_names_its_job() {
        let last = AssignmentId::new(PoolJobId::MAX, AssignmentId::PER_JOB_MAX);
        assert_eq!((last.job(), last.ordinal()), (PoolJobId::MAX, 63));
        assert!(last.0 < 1 << 53);
        assert_eq!(AssignmentId::new(PoolJobId(3), 2), AssignmentId(194));
    }
}
