//! The words for the states of runs, rows and devices, synonyms included (Q2, Q8, Q15).

use muster_model::{JobStatus, LaneStatus, TaskStatus};
use muster_problem::{described, schema as value};
use utoipa::openapi::{Object, RefOr, Schema, schema::Type};

described! {
    /// Status of a run, synonyms included (Q2, Q8).
    pub struct RunStatusWord => one_of(&crate::RUN_WORDS);

    /// Status of a row, synonyms included (Q8).
    pub struct RowStatusWord => one_of(&crate::ROW_WORDS);

    /// Status of a device (Q15).
    pub struct DeviceStatusWord => one_of(&crate::DEVICE_WORDS);

    /// A name: of a PC, a queue.
    pub struct NameWord => value::schema(value::name());

    /// Kind of thing that can be explained (Q16).
    pub struct KindWord => one_of(&crate::EXPLAINED_KINDS);
}

fn one_of(words: &[&str]) -> RefOr<Schema> {
    value::schema(Object::builder().schema_type(Type::String).enum_values(Some(words.iter().copied())))
}

/// Filter on a run's status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunFilter {
    /// Runs that stand there.
    Is(JobStatus),
    /// Accepted and never written (Q2): no run stands there.
    None,
}

/// The words a filter on runs may use, synonyms included.
pub const RUN_WORDS: [&str; 9] =
    ["pending", "running", "claimed", "success", "completed", "failed", "cancelled", "canceled", "retrying"];

/// The words a filter on rows may use, synonyms included.
pub const ROW_WORDS: [&str; 8] =
    ["pending", "running", "claimed", "completed", "success", "failed", "cancelled", "canceled"];

/// The words a filter on devices may use.
pub const DEVICE_WORDS: [&str; 6] = ["ONLINE", "OFFLINE", "ERROR", "online", "offline", "error"];

/// Reads one of [`RUN_WORDS`].
#[must_use]
pub fn read_run_status(word: &str) -> RunFilter {
    match word {
        "pending" => RunFilter::Is(JobStatus::Pending),
        "running" | "claimed" => RunFilter::Is(JobStatus::Running),
        "success" | "completed" => RunFilter::Is(JobStatus::Success),
        "failed" => RunFilter::Is(JobStatus::Failed),
        "cancelled" | "canceled" => RunFilter::Is(JobStatus::Cancelled),
        _ => RunFilter::None,
    }
}

/// Reads one of [`ROW_WORDS`].
#[must_use]
pub fn read_row_status(word: &str) -> TaskStatus {
    match word {
        "pending" => TaskStatus::Pending,
        "running" | "claimed" => TaskStatus::Running,
        "completed" | "success" => TaskStatus::Completed,
        "failed" => TaskStatus::Failed,
        _ => TaskStatus::Cancelled,
    }
}

/// Reads one of [`DEVICE_WORDS`].
#[must_use]
pub fn read_device_status(word: &str) -> LaneStatus {
    match word {
        "ONLINE" | "online" => LaneStatus::Online,
        "OFFLINE" | "offline" => LaneStatus::Offline,
        _ => LaneStatus::Error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Q8: synonyms are accepted, and never written.
    #[test]
    fn synonyms_are_read_and_never_written() {
        for word in RUN_WORDS {
            if let RunFilter::Is(status) = read_run_status(word) {
                assert!(!["completed", "claimed", "canceled"].contains(&status.as_str()));
            }
        }
        for word in ROW_WORDS {
            assert!(!["success", "claimed", "canceled"].contains(&read_row_status(word).as_str()));
        }
        assert_eq!(read_run_status("completed"), RunFilter::Is(JobStatus::Success));
        assert_eq!(read_row_status("success"), TaskStatus::Completed);
        assert_eq!(read_row_status("claimed"), TaskStatus::Running);
        assert_eq!(read_row_status("canceled"), TaskStatus::Cancelled);
    }

    /// Q2: `retrying` is accepted in filters and matches nothing.
    #[test]
    fn retrying_matches_nothing() {
        assert_eq!(read_run_status("retrying"), RunFilter::None);
    }

    /// Q8, Q2: every written word reads back as what it was written for.
    #[test]
    fn words_survive() {
        use TaskStatus::{Cancelled, Completed, Failed, Pending, Running};
        for status in [Pending, Running, Completed, Failed, Cancelled] {
            assert_eq!(read_row_status(status.as_str()), status);
        }
        for status in [
            JobStatus::Pending,
            JobStatus::Running,
            JobStatus::Success,
            JobStatus::Failed,
            JobStatus::Cancelled,
        ] {
            assert_eq!(read_run_status(status.as_str()), RunFilter::Is(status));
        }
        for status in [LaneStatus::Online, LaneStatus::Offline, LaneStatus::Error] {
            assert_eq!(read_device_status(status.as_str()), status);
        }
    }
}
