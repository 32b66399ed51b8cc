//! Tables of schema version 6 that have changed since, for the restore of its backups.

use crate::{
    column::FromColumn,
    record::{Record as _, Source, TableRecord as _},
    rows::log::lines_text,
    shape::TableShape,
    sql::{Fault, Sql, Value},
};
use muster_model::{LogRecord, TaskRecord};

/// The tables of version 6 that are not in [`TABLES`](crate::TABLES) as they were: `task_devices` without the logs, and
/// `execution_logs`, which is a view with the same columns now.
pub const VERSION_6_TABLES: &[TableShape] = &[
    TableShape {
        columns: TaskRecord::TABLE.columns.split_at(TaskRecord::TABLE.columns.len() - 1).0,
        ..TaskRecord::TABLE
    },
    LogRecord::TABLE,
];

/// True for the table whose rows are put by [`append_logs`].
#[must_use]
pub fn is_log(shape: &TableShape) -> bool {
    shape.name == LogRecord::TABLE.name
}

/// Appends rows of the former table `execution_logs`, which come in the order of its key, to the rows of their tasks. A
/// row without its task is left out.
///
/// # Errors
/// When a row holds what it cannot hold, or the database fails.
pub fn append_logs(sql: &dyn Sql, rows: &[Vec<Value<'_>>]) -> Result<(), Fault> {
    let lines = rows.iter().map(|row| read_line(row)).collect::<Result<Vec<_>, _>>()?;
    for lines in lines.chunk_by(|one, other| one.task == other.task) {
        let (id, text) = (lines[0].task.to_string(), lines_text(&lines.iter().collect::<Vec<_>>()));
        sql.execute(
            "UPDATE task_devices SET logs = logs || ?2 WHERE id = ?1",
            &[id.as_str().into(), text.as_str().into()],
        )?;
    }
    Ok(())
}

/// The level follows from the kind.
fn read_line(row: &[Value<'_>]) -> Result<LogRecord, Fault> {
    let named = row.iter().zip(LogRecord::TABLE.columns);
    let read = named.filter(|(_, column)| column.name != "level").map(|(value, _)| *value);
    LogRecord::build(&mut FormerRow(read))
}

/// The values of a row that are read.
struct FormerRow<I>(I);

impl<'a, I: Iterator<Item = Value<'a>>> Source for FormerRow<I> {
    fn next<S, T: FromColumn<S>>(&mut self) -> Result<T, Fault> {
        let value = self.0.next().unwrap_or(Value::Null);
        T::from_value(value).ok_or_else(|| Fault::corrupt(format!("execution_logs: a line with {value:?}")))
    }
}
