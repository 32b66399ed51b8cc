//! Reads about schedules, for people.

use crate::{Cursor, Page, StoreError};
use muster_model::{ScheduleId, ScheduleRecord};

/// Reads about schedules. Every list is paged; every call sees one consistent state.
#[allow(clippy::missing_errors_doc, reason = "each fails when the database does, and only then")]
pub trait ScheduleReader: Send + Sync {
    /// Schedules by id, so the oldest first.
    fn schedules(&self, page: &Cursor) -> Result<Page<ScheduleRecord>, StoreError>;

    /// One schedule.
    fn schedule(&self, id: ScheduleId) -> Result<Option<ScheduleRecord>, StoreError>;
}
