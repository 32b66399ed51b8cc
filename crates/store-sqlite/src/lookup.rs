//! Point reads of what memory has forgotten.

use crate::{
    fault::Fault,
    fields::Fields,
    id_text::TaskText,
    rows::{assignment, chunk, frame_task, key, one, pool_end, pool_key, report, session, task},
    store::Shared,
    words,
};
use muster_model::{
    Fact, Facts, FrameTaskId, FrameTaskRecord, JobId, JobStatus, Key, SessionId, SessionRecord, TaskId,
    TaskRecord,
};
use muster_store::{Lookup, StoreError};
use rusqlite::Connection;
use std::sync::Arc;

/// A connection for the driver alone.
pub(crate) struct SqliteLookup {
    connection: Connection,
    // After the connection: the directory is let go of when the file is closed.
    _shared: Arc<Shared>,
}

impl SqliteLookup {
    pub(crate) fn new(shared: Arc<Shared>) -> Result<Self, Fault> {
        Ok(Self { connection: shared.open_reader()?, _shared: shared })
    }

    fn try_facts(&mut self, keys: &[Key]) -> Result<Facts, Fault> {
        // One transaction: one state for all, and one lock of the file instead of one for each.
        let transaction = self.connection.transaction()?;
        let mut facts = Facts::default();
        for key in keys {
            if let Some(fact) = find(&transaction, key)? {
                facts.insert(key.clone(), fact);
            }
        }
        transaction.commit()?;
        Ok(facts)
    }
}

impl Lookup for SqliteLookup {
    fn facts(&mut self, keys: &[Key]) -> Result<Facts, StoreError> {
        self.try_facts(keys).map_err(StoreError::from)
    }
}

fn find(connection: &Connection, key: &Key) -> Result<Option<Fact>, Fault> {
    Ok(match key {
        Key::Report(id) => report::digest(connection, id)?.map(Fact::Report),
        Key::Task(id) => ended_task(connection, *id)?.map(|task| Fact::Task(Box::new(task))),
        Key::Job(id) => closed_job(connection, *id)?.map(Fact::Job),
        Key::Submission(key) => key::find(connection, key)?.map(Fact::Submission),
        Key::Session(id) => closed_session(connection, id)?.map(|found| Fact::Session(Box::new(found))),
        Key::FrameTask(id) => ended_range(connection, id)?.map(|found| Fact::FrameTask(Box::new(found))),
        Key::Chunk(chunk) => chunk::find(connection, *chunk)?.map(|found| Fact::Chunk(Box::new(found))),
        Key::PoolEnd(job) => pool_end::find(connection, *job)?.map(Fact::PoolEnd),
        Key::Assignment(id) => {
            let found = assignment::find(connection, *id, assignment::COLUMNS_WITHOUT_RESULT)?;
            found.map(|found| Fact::Assignment(Box::new(found)))
        }
        Key::PoolSubmission(client, key) => {
            pool_key::find(connection, *client, key)?.map(Fact::PoolSubmission)
        }
    })
}

fn ended_task(connection: &Connection, id: TaskId) -> Result<Option<TaskRecord>, Fault> {
    let sql = format!("SELECT {} FROM task_devices WHERE id = ?1", task::COLUMNS);
    let found = one(connection, &sql, [TaskText::new(id).task()], task::read)?;
    Ok(found.filter(|task| task.status.is_ended()))
}

fn closed_job(connection: &Connection, id: JobId) -> Result<Option<JobStatus>, Fault> {
    let sql = "SELECT id, status FROM tasks WHERE id = ?1 AND open = 0";
    one(connection, sql, [id.to_string()], |row| Fields::new("tasks", row).word(1, words::parse_job_status))
}

fn closed_session(connection: &Connection, id: &SessionId) -> Result<Option<SessionRecord>, Fault> {
    let columns = session::COLUMNS_WITHOUT_BODY;
    let sql = format!("SELECT {columns} FROM sim_sessions WHERE id = ?1 AND open = 0");
    one(connection, &sql, [id.as_str()], session::read)
}

fn ended_range(connection: &Connection, id: &FrameTaskId) -> Result<Option<FrameTaskRecord>, Fault> {
    let found = frame_task::find(connection, id, frame_task::COLUMNS_WITHOUT_RESULT)?;
    Ok(found.filter(|task| task.status.is_ended()))
}
