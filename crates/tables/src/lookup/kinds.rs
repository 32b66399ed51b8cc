//! The kinds of keys.

use super::LookupKind;
use crate::{
    column::{Bytes, Number, Text, sought_number},
    fields::Fields,
    id_text::{JobText, TaskText},
    record::Record as _,
    rows::report,
    shape::Column,
};
use muster_model::{
    AssignmentRecord, ChunkRecord, Fact, FrameTaskRecord, Key, KeyRecord, PoolEndRecord, PoolKeyRecord,
    SessionRecord, TaskRecord,
};

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
    (
        $name:ident: $pattern:pat => [$($value:expr),*], in $table:expr, [$($storage:ident($column:literal)),*],
        $columns:expr, $condition:expr, $read:expr
    ) => {
        static $name: LookupKind = LookupKind {
            table: $table,
            columns: $columns,
            key: &[$(Column::of::<$storage>($column)),*],
            condition: $condition,
            values: |key, take| match key {
                $pattern => take(&[$($value.into()),*]),
                _ => Ok(()),
            },
            read: $read,
        };
    };
    ($name:ident: $pattern:pat => $values:tt, of $record:ty, $key:tt, $columns:ident, $condition:expr, $read:expr) => {
        kind!($name: $pattern => $values, in <$record>::FROM, $key, <$record>::$columns, $condition, |row| {
            let read: fn($record) -> Option<(Key, Fact)> = $read;
            Ok(read(<$record>::read(row)?))
        });
    };
}

kind!(REPORT: Key::Report(id) => [report::ReportKey::new(id).as_bytes()],
    of report::ReportedId, [Bytes("key")], COLUMNS, None,
    |found| Some((Key::Report(found.id), Fact::Report(found.subject.0))));

kind!(TASK: Key::Task(id) => [TaskText::new(*id).task()],
    of TaskRecord, [Text("id")], COLUMNS, None,
    |task| task.status.is_ended().then(|| (Key::Task(task.id), Fact::Task(Box::new(task)))));

kind!(JOB: Key::Job(id) => [JobText::new(*id).as_str()],
in "tasks", [Text("id")], "id, status", Some("open = 0"),
|row| {
    let fields = Fields::new("tasks", row);
    Ok(Some((Key::Job(fields.text(0)?), Fact::Job(fields.text(1)?))))
});

kind!(SUBMISSION: Key::Submission(key) => [key.as_str()],
    of KeyRecord, [Text("key")], COLUMNS, None,
    |found| Some((Key::Submission(found.key.clone()), Fact::Submission(found))));

kind!(SESSION: Key::Session(id) => [id.as_str()],
    of SessionRecord, [Text("id")], SHORT_COLUMNS, Some("open = 0"),
    |found| Some((Key::Session(found.id.clone()), Fact::Session(Box::new(found)))));

kind!(FRAME_TASK: Key::FrameTask(id) => [id.session.as_str(), sought_number(id.start)],
    of FrameTaskRecord, [Text("session_id"), Number("start_frame")], SHORT_COLUMNS, None,
    |task| task.status.is_ended().then(|| (Key::FrameTask(task.id.clone()), Fact::FrameTask(Box::new(task)))));

kind!(CHUNK: Key::Chunk(chunk) => [sought_number(*chunk)],
    of ChunkRecord, [Number("chunk_id")], COLUMNS, None,
    |found| Some((Key::Chunk(found.ids.chunk), Fact::Chunk(Box::new(found)))));

kind!(POOL_END: Key::PoolEnd(job) => [sought_number(job.0)],
    of PoolEndRecord, [Number("id")], COLUMNS, None,
    |end| Some((Key::PoolEnd(end.job), Fact::PoolEnd(end))));

kind!(ASSIGNMENT: Key::Assignment(id) => [sought_number(id.0)],
    of AssignmentRecord, [Number("id")], SHORT_COLUMNS, None,
    |found| Some((Key::Assignment(found.id), Fact::Assignment(Box::new(found)))));

kind!(POOL_SUBMISSION: Key::PoolSubmission(client, key) => [sought_number(client.0), key.as_str()],
    of PoolKeyRecord, [Number("client_user_id"), Text("key")], COLUMNS, None,
    |found| Some((Key::PoolSubmission(found.client, found.key.clone()), Fact::PoolSubmission(found))));
