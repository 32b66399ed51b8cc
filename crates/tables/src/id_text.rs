//! Ranges of ids in the tables.

use muster_model::{Fence, JobId};

/// The range of the primary key that holds all tasks of a job: from the first, up to before the second.
pub(crate) struct TaskRange {
    /// The smallest text that could be a task of the job.
    pub(crate) from: String,
    /// The smallest text that is greater than any.
    pub(crate) to: String,
}

impl TaskRange {
    pub(crate) fn of(job: JobId) -> Self {
        // '/' follows '.' in ASCII.
        Self { from: format!("{job}."), to: format!("{job}/") }
    }
}

/// Reads 32 hexadecimal digits.
pub(crate) fn parse_hex(text: &str) -> Option<u128> {
    text.parse::<Fence>().ok().map(|fence| fence.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use muster_model::{TaskId, Timestamp};

    #[test]
    fn a_range_holds_all_tasks_of_a_job() {
        let job = JobId::new(Timestamp(1_760_000_000_000), 0x0123_4567_89ab_cdef_0123_4567_89ab_cdef);
        let range = TaskRange::of(job);
        for ordinal in [1, 42, TaskId::ORDINAL_MAX] {
            let text = TaskId { job, ordinal }.to_string();
            assert!(range.from < text && text < range.to);
        }
    }
}
