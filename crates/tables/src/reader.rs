//! Lists and history for people: each method of the readers over shared statements.

mod fleet;
mod frames;
mod jobs;
mod pool;

use crate::{
    column::{integer, sought_number},
    record::{numbered_records, record, records, row},
    rows::feed::FeedRow,
    sql::{Connections, Fault, Fields, Sql},
};
use muster_model::{
    AlertRecord, ApiKeyRecord, AuditRecord, JobId, JobRecord, LaneRecord, LogRecord, Name, ScheduleId,
    ScheduleRecord, Scope, TaskId, TaskRecord, Timestamp, UserId, UserRecord, WorkerLogRecord, WorkerRecord,
};
use muster_store::{
    AccountReader, CountedJob, Cursor, FeedPage, JobCounts, JobFilter, LaneFilter, Page, Reader,
    ScheduleReader, StoreError, TaskFilter, WorkerSummary,
    position::{List, Start, parse_number, sought},
};

/// Reads on the connections of a store.
pub struct TableReader<P> {
    connections: P,
}

impl<P: Connections> TableReader<P> {
    /// A reader on these connections.
    pub fn new(connections: P) -> Self {
        Self { connections }
    }

    fn read<T>(&self, read: impl FnOnce(&dyn Sql) -> Result<T, Fault>) -> Result<T, StoreError> {
        self.connections.read(read).map_err(StoreError::from)
    }
}

impl<P: Connections> Reader for TableReader<P> {
    fn jobs(&self, filter: &JobFilter, page: &Cursor) -> Result<Page<JobRecord>, StoreError> {
        self.read(|connection| jobs::jobs(connection, filter, page))
    }

    fn counted_jobs(
        &self,
        filter: &JobFilter,
        page: &Cursor,
        known: &dyn Fn(JobId) -> bool,
    ) -> Result<Page<CountedJob>, StoreError> {
        self.read(|connection| jobs::counted_jobs(connection, filter, page, known))
    }

    fn targets(&self, scope: &Scope) -> Result<Option<u64>, StoreError> {
        self.read(|connection| jobs::targets(connection, scope))
    }

    fn job(&self, id: JobId) -> Result<Option<JobRecord>, StoreError> {
        self.read(|connection| jobs::job(connection, id))
    }

    fn job_counts(&self, id: JobId, rate_since: Timestamp) -> Result<JobCounts, StoreError> {
        self.read(|connection| jobs::job_counts(connection, id, rate_since))
    }

    fn tasks(&self, job: JobId, filter: &TaskFilter, page: &Cursor) -> Result<Page<TaskRecord>, StoreError> {
        self.read(|connection| jobs::tasks(connection, job, filter, page))
    }

    fn task(&self, id: TaskId) -> Result<Option<TaskRecord>, StoreError> {
        self.read(|connection| jobs::task(connection, id))
    }

    fn task_log(&self, id: TaskId) -> Result<Vec<LogRecord>, StoreError> {
        self.read(|connection| jobs::task_logs(connection, id, id))
    }

    fn task_logs(&self, from: TaskId, to: TaskId) -> Result<Vec<LogRecord>, StoreError> {
        self.read(|connection| jobs::task_logs(connection, from, to))
    }

    fn lanes(&self, filter: &LaneFilter, page: &Cursor) -> Result<Page<LaneRecord>, StoreError> {
        self.read(|connection| fleet::lanes(connection, filter, page))
    }

    fn lane(&self, id: &Name) -> Result<Option<LaneRecord>, StoreError> {
        self.read(|connection| fleet::lane(connection, id))
    }

    fn worker_records(&self) -> Result<Vec<WorkerRecord>, StoreError> {
        self.read(jobs::worker_records)
    }

    fn workers(&self, page: &Cursor) -> Result<Page<WorkerSummary>, StoreError> {
        self.read(|connection| jobs::workers(connection, page))
    }

    fn worker(&self, id: &Name) -> Result<Option<WorkerSummary>, StoreError> {
        self.read(|connection| jobs::worker(connection, id))
    }

    fn worker_log(&self, id: &Name, limit: u32) -> Result<Vec<WorkerLogRecord>, StoreError> {
        self.read(|connection| fleet::worker_log(connection, id, limit))
    }

    fn alerts(&self, page: &Cursor) -> Result<Page<AlertRecord>, StoreError> {
        self.read(|connection| fleet::alerts(connection, page))
    }

    fn feed(&self, after: u64, limit: u32) -> Result<FeedPage, StoreError> {
        self.read(|connection| feed_after(connection, after, limit))
    }
}

/// A page without items.
fn nothing<T>() -> Page<T> {
    Page { items: Vec::new(), next: None }
}

/// The records of a page, without the numbers of their rows.
fn without_numbers<T>(page: Page<(u64, T)>) -> Page<T> {
    Page { items: page.items.into_iter().map(|(_, item)| item).collect(), next: page.next }
}

/// The number after which a page begins, `beginning` being before all; `None`: nowhere.
fn number_start(list: List, page: &Cursor, beginning: i64) -> Option<i64> {
    match list.start(page, parse_number) {
        Start::Beginning => Some(beginning),
        Start::After(number) => i64::try_from(number).ok(),
        Start::Nowhere => None,
    }
}

impl<P: Connections> AccountReader for TableReader<P> {
    fn users(&self, page: &Cursor) -> Result<Page<UserRecord>, StoreError> {
        self.read(|connection| {
            let Some(after) = number_start(List::Users, page, -1) else {
                return Ok(nothing());
            };
            let params = [after.into(), sought(page).into()];
            let items = records(connection, "WHERE id > ?1 ORDER BY id LIMIT ?2", &params)?;
            Ok(List::Users.page(page, items, |user: &UserRecord| user.id.to_string()))
        })
    }

    fn api_keys(&self, user: Option<UserId>, page: &Cursor) -> Result<Page<ApiKeyRecord>, StoreError> {
        self.read(|connection| {
            let Some(after) = number_start(List::ApiKeys, page, -1) else {
                return Ok(nothing());
            };
            let of_user = if user.is_some() { "user_id = ?2" } else { "CAST(?2 AS BIGINT) IS NULL" };
            let user = user.map(|user| sought_number(user.0));
            let items = records(
                connection,
                &format!("WHERE id > ?1 AND {of_user} ORDER BY id LIMIT ?3"),
                &[after.into(), user.into(), sought(page).into()],
            )?;
            Ok(List::ApiKeys.page(page, items, |key: &ApiKeyRecord| key.id.to_string()))
        })
    }

    fn audit(&self, page: &Cursor) -> Result<Page<AuditRecord>, StoreError> {
        self.read(|connection| {
            let Some(before) = number_start(List::Audit, page, i64::MAX) else {
                return Ok(nothing());
            };
            let params = [before.into(), sought(page).into()];
            let items = numbered_records(connection, "WHERE id < ?1 ORDER BY id DESC LIMIT ?2", &params)?;
            Ok(without_numbers(List::Audit.page(page, items, |(number, _)| number.to_string())))
        })
    }
}

impl<P: Connections> ScheduleReader for TableReader<P> {
    fn schedules(&self, page: &Cursor) -> Result<Page<ScheduleRecord>, StoreError> {
        let after = match List::Schedules.start(page, |text| text.parse::<ScheduleId>().ok()) {
            Start::Beginning => String::new(),
            Start::After(id) => id.to_string(),
            Start::Nowhere => return Ok(nothing()),
        };
        self.read(|connection| {
            let params = [after.as_str().into(), sought(page).into()];
            let items = records(connection, "WHERE id > ?1 ORDER BY id LIMIT ?2", &params)?;
            Ok(List::Schedules.page(page, items, |schedule: &ScheduleRecord| schedule.id.to_string()))
        })
    }

    fn schedule(&self, id: ScheduleId) -> Result<Option<ScheduleRecord>, StoreError> {
        self.read(|connection| record(connection, "WHERE id = ?1", &[id.to_string().as_str().into()]))
    }
}

/// Entries after a number, oldest first.
pub(crate) fn feed_after(connection: &dyn Sql, after: u64, limit: u32) -> Result<FeedPage, Fault> {
    let (from, oldest) = beginning(connection, after)?;
    // Numbers have no gaps: no row that begins later holds one of the first so many.
    let to = after.max(oldest.saturating_sub(1)).saturating_add(u64::from(limit));
    let to = i64::try_from(to).unwrap_or(i64::MAX);
    let rest = "WHERE first_seq >= ?1 AND first_seq <= ?2 ORDER BY first_seq";
    let batches: Vec<FeedRow> = records(connection, rest, &[integer(from)?.into(), to.into()])?;
    let mut entries = Vec::new();
    for batch in &batches {
        entries.extend(batch.entries_after(after)?);
    }
    entries.truncate(limit as usize);
    Ok(FeedPage { entries, oldest })
}

/// The first number of the row that holds the entry after a number, the last row that begins no later; and the oldest
/// number there is.
fn beginning(connection: &dyn Sql, after: u64) -> Result<(u64, u64), Fault> {
    let next = i64::try_from(after.saturating_add(1)).unwrap_or(i64::MAX);
    let sql =
        "SELECT (SELECT max(first_seq) FROM feed WHERE first_seq <= ?1), (SELECT min(first_seq) FROM feed)";
    let found = row(connection, sql, &[next.into()], |row| {
        let fields = Fields::new("feed", row);
        Ok((fields.number::<Option<_>>(0)?.unwrap_or(0), fields.number::<Option<_>>(1)?.unwrap_or(1)))
    })?;
    Ok(found.unwrap_or((0, 1)))
}
