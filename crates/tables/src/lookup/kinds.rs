//! The kinds of keys.

use super::LookupKind;
use crate::{
    fields::Fields,
    id_text::{JobText, TaskText},
    rows::{assignment, chunk, frame_task, key, pool_end, pool_key, report, session, sought_number, task},
    shape::{bytes, number, text},
};
use muster_model::{Fact, Key};

/// The kind of a key.
pub(super) fn of(key: &Key) -> &'static LookupKind {
    match key {
        Key::Report(_) => &REPORT,
        Key::Task(_) => &TASK,
        Key::Job(_) => &JOB,
        Key::Submission(_) => &SUBMISSION,
        Key::Session(_) => &SESSION,
        Key::FrameTask(_) => &FRAME_TASK,
        Key::Chunk(_) => &CHUNK,
        Key::PoolEnd(_) => &POOL_END,
        Key::Assignment(_) => &ASSIGNMENT,
        Key::PoolSubmission(..) => &POOL_SUBMISSION,
    }
}

/// A kind of key; the values are given where the key is of this kind.
macro_rules! kind {
    ($name:ident: $pattern:pat => [$($value:expr),*], $table:literal [$($column:expr),*], $columns:expr, $condition:expr, $read:expr) => {
        static $name: LookupKind = LookupKind {
            table: $table,
            columns: $columns,
            key: &[$($column),*],
            condition: $condition,
            values: |key, take| match key {
                $pattern => take(&[$($value.into()),*]),
                _ => Ok(()),
            },
            read: $read,
        };
    };
}

kind!(REPORT: Key::Report(id) => [report::ReportKey::new(id).as_bytes()],
    "event_ids" [bytes("key")], report::SUBJECT_COLUMNS, None,
    |row| report::read_subject(row).map(|(id, subject)| Some((Key::Report(id), Fact::Report(subject)))));

kind!(TASK: Key::Task(id) => [TaskText::new(*id).task()],
"task_devices" [text("id")], task::COLUMNS, None,
|row| {
    let task = task::read(row)?;
    Ok(task.status.is_ended().then(|| (Key::Task(task.id), Fact::Task(Box::new(task)))))
});

kind!(JOB: Key::Job(id) => [JobText::new(*id).as_str()],
"tasks" [text("id")], "id, status", Some("open = 0"),
|row| {
    let fields = Fields::new("tasks", row);
    Ok(Some((Key::Job(fields.id(0)?), Fact::Job(fields.word(1, muster_model::JobStatus::from_word)?))))
});

kind!(SUBMISSION: Key::Submission(key) => [key.as_str()],
    "idempotency_keys" [text("key")], key::COLUMNS, None,
    |row| key::read(row).map(|found| Some((Key::Submission(found.key.clone()), Fact::Submission(found)))));

kind!(SESSION: Key::Session(id) => [id.as_str()],
    "sim_sessions" [text("id")], session::COLUMNS_WITHOUT_BODY, Some("open = 0"),
    |row| session::read(row).map(|found| Some((Key::Session(found.id.clone()), Fact::Session(Box::new(found))))));

kind!(FRAME_TASK: Key::FrameTask(id) => [id.session.as_str(), sought_number(id.start)],
"sim_tasks" [text("session_id"), number("start_frame")], frame_task::COLUMNS_WITHOUT_RESULT, None,
|row| {
    let task = frame_task::read(row)?;
    Ok(task.status.is_ended().then(|| (Key::FrameTask(task.id.clone()), Fact::FrameTask(Box::new(task)))))
});

kind!(CHUNK: Key::Chunk(chunk) => [sought_number(*chunk)],
    "sim_chunks" [number("chunk_id")], chunk::COLUMNS, None,
    |row| chunk::read(row).map(|found| Some((Key::Chunk(found.ids.chunk), Fact::Chunk(Box::new(found))))));

kind!(POOL_END: Key::PoolEnd(job) => [sought_number(job.0)],
    "pool_ends e" [number("id")], pool_end::COLUMNS, None,
    |row| pool_end::read_at(row, 0).map(|end| Some((Key::PoolEnd(end.job), Fact::PoolEnd(end)))));

kind!(ASSIGNMENT: Key::Assignment(id) => [sought_number(id.0)],
    "pool_assignments a" [number("id")], assignment::COLUMNS_WITHOUT_RESULT, None,
    |row| assignment::read(row).map(|found| Some((Key::Assignment(found.id), Fact::Assignment(Box::new(found))))));

kind!(POOL_SUBMISSION: Key::PoolSubmission(client, key) => [sought_number(client.0), key.as_str()],
"pool_keys" [number("client_user_id"), text("key")], pool_key::COLUMNS, None,
|row| pool_key::read(row).map(|found| {
    Some((Key::PoolSubmission(found.client, found.key.clone()), Fact::PoolSubmission(found)))
}));
