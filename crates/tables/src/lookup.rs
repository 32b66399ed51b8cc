//! Point reads of what memory has forgotten.
//!
//! A store that answers key by key calls [`facts`]. Where a round trip costs, it goes through [`plan`] instead and asks
//! for all keys of a kind at once.

use crate::{
    column::{Bytes, Number, Text, sought_number},
    record::Record as _,
    rows::report,
    shape::Column,
    sql::{Cells, Fault, Fields, Sql, Value},
};
use muster_model::{
    AssignmentRecord, ChunkRecord, Fact, Facts, FrameTaskRecord, JobText, Key, KeyRecord, PoolEndRecord,
    PoolKeyRecord, SessionRecord, TaskRecord, TaskText,
};

/// Hands over what the key columns must hold.
type Values = fn(&Key, &mut dyn FnMut(&[Value<'_>]) -> Result<(), Fault>) -> Result<(), Fault>;

/// Makes a key and its fact of a row, if it is one.
type Read = fn(&dyn Cells) -> Result<Option<(Key, Fact)>, Fault>;

/// Way to find the facts of one kind of key: the row whose key columns hold what the key says.
pub struct LookupKind {
    /// The table, with the alias that [`Self::columns`] may use.
    pub table: &'static str,
    /// The columns to select, for [`Self::read`].
    pub columns: &'static str,
    /// The columns that tell the row.
    pub key: &'static [Column],
    /// Further condition, in SQL.
    pub condition: Option<&'static str>,
    values: Values,
    read: Read,
}

/// Keys of one kind.
pub struct LookupPlan<'a> {
    /// Way to find them.
    pub kind: &'static LookupKind,
    /// The keys.
    pub keys: Vec<&'a Key>,
}

/// Sorts keys by kind.
#[must_use]
pub fn plan(keys: &[Key]) -> Vec<LookupPlan<'_>> {
    let mut plans: Vec<LookupPlan<'_>> = Vec::new();
    for key in keys {
        let kind = kind_of(key);
        match plans.iter_mut().find(|plan| std::ptr::eq(plan.kind, kind)) {
            Some(plan) => plan.keys.push(key),
            None => plans.push(LookupPlan { kind, keys: vec![key] }),
        }
    }
    plans
}

/// Finds the facts that exist for these keys, one query for each.
pub fn facts(connection: &dyn Sql, keys: &[Key]) -> Result<Facts, Fault> {
    let mut facts = Facts::default();
    for plan in plan(keys) {
        let sql = plan.kind.by_key();
        for key in plan.keys {
            plan.kind.values(key, &mut |values| {
                connection.each(&sql, values, &mut |row| plan.kind.read(row, &mut facts))
            })?;
        }
    }
    Ok(facts)
}

impl LookupKind {
    /// Hands over what [`Self::key`]'s columns must hold, in their order; not at all where no column can hold it.
    pub fn values(
        &self,
        key: &Key,
        take: &mut dyn FnMut(&[Value<'_>]) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        (self.values)(key, take)
    }

    /// Adds the fact of a row, if it is one.
    pub fn read(&self, row: &dyn Cells, facts: &mut Facts) -> Result<(), Fault> {
        if let Some((key, fact)) = (self.read)(row)? {
            facts.insert(key, fact);
        }
        Ok(())
    }

    /// The query for one key, whose values are its parameters.
    fn by_key(&self) -> String {
        let columns = self.key.iter().zip(1..).map(|(column, n)| format!("{} = ?{n}", column.name));
        let conditions: Vec<String> = columns.chain(self.condition.map(str::to_owned)).collect();
        format!("SELECT {} FROM {} WHERE {}", self.columns, self.table, conditions.join(" AND "))
    }
}

/// The kind of a key.
fn kind_of(key: &Key) -> &'static LookupKind {
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

kind!(TASK: Key::Task(id) => [TaskText::new(*id).as_str()],
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
