//! The log of a task (Q12): its lines stand in the row of the task, in column `task_devices.logs`; the view
//! `execution_logs` shows each of them as a row.
//!
//! Every line comes with a change of its task, so it costs no page of its own. A line is a JSON array that is followed by
//! a comma, and a write appends it: `["SENT",2,1,1763475000000],`. The items are the kind, the number of the line, the
//! attempt, the moment, and the message if there is one. `[` before and `]` after all lines but for the last comma make
//! one JSON text of them, which both databases can take apart.

use crate::{
    record::{TableRecord as _, latest, put_each, table},
    shape::{Put, Update},
    sql::{Fault, Row, Sink, Value},
};
use muster_model::{LogRecord, TaskRecord};
use std::fmt::Write as _;

// The columns of the view. It is only read; lines are written by `write_tasks`.
table! {
    LogRecord in "execution_logs", key ["task_device_id", "seq"], put Never {
        task: Text("task_device_id"),
        seq: Number("seq"),
        attempt: Number("attempt_no"),
        kind: Text("event_type"),
        _: Text("level") = kind.level(),
        message: Text("message"),
        at: Number("at"),
    }
}

/// A task on its way into its row, and the lines to append to its log.
struct TaskRow<'a> {
    task: &'a TaskRecord,
    lines: &'a [&'a LogRecord],
}

/// Writes the last state of each task and appends the new lines of its log, in the order of their numbers.
///
/// Refuses a line without a record of its task: the engine writes none, and there may be no row to append it to.
pub(crate) fn write_tasks(
    sink: &mut dyn Sink,
    tasks: Vec<&TaskRecord>,
    lines: Vec<&LogRecord>,
) -> Result<(), Fault> {
    static PUT: Put = TaskRecord::TABLE.put_first(
        TaskRecord::TABLE.columns.len(),
        Update::Except(&[("config", None), ("logs", Some("task_devices.logs || excluded.logs"))]),
    );
    let lines = latest(lines, |line| (line.task, line.seq));
    let mut logs = lines.chunk_by(|one, other| one.task == other.task).peekable();
    let mut rows = Vec::with_capacity(tasks.len());
    for task in latest(tasks, |task| task.id) {
        let lines = logs.next_if(|lines| lines[0].task == task.id).unwrap_or_default();
        rows.push(TaskRow { task, lines });
    }
    if let Some([line, ..]) = logs.next() {
        let LogRecord { task, seq, .. } = line;
        return Err(Fault::corrupt(format!("execution_logs {task}: line {seq} came without its task")));
    }
    put_each(sink, &PUT, &rows.iter().collect::<Vec<_>>(), TaskRow::fill)
}

impl TaskRow<'_> {
    fn fill(&self, row: &mut dyn Row) -> Result<(), Fault> {
        self.task.fill(row)?;
        row.values(&[Value::Null, lines_text(self.lines).as_str().into()]);
        Ok(())
    }
}

/// The text that is appended to `task_devices.logs` for these lines.
pub(crate) fn lines_text(lines: &[&LogRecord]) -> String {
    let mut text = String::with_capacity(lines.len() * LINE_BYTES);
    for LogRecord { seq, attempt, kind, message, at, .. } in lines {
        let _ = write!(text, "[\"{}\",{seq},{attempt},{}", kind.as_str(), at.0);
        if let Some(message) = message {
            text.push(',');
            push_quoted(message, &mut text);
        }
        text.push_str("],");
    }
    text
}

/// Appends a text as a JSON string in which `\u0000` stands for NUL and for nothing else.
///
/// PostgreSQL has no text with NUL in it, so its view replaces that escape by what stands for NUL in its texts. A backslash is
/// written as `\u005c`: after two backslashes, `u0000` would look like the escape.
fn push_quoted(message: &str, text: &mut String) {
    text.push('"');
    for character in message.chars() {
        match character {
            '"' => text.push_str("\\\""),
            '\\' | '\0'..='\x1f' => _ = write!(text, "\\u{:04x}", u32::from(character)),
            other => text.push(other),
        }
    }
    text.push('"');
}

/// Length of a line without a message, or a little more.
const LINE_BYTES: usize = 40;

#[cfg(test)]
mod tests {
    use super::*;
    use muster_model::{LogKind, TaskId, Timestamp};

    fn line(seq: u32, message: Option<&str>) -> LogRecord {
        let (kind, at) = (LogKind::Failed, Timestamp(1_763_475_000_000));
        LogRecord { task: TaskId::NIL, seq, attempt: 2, kind, message: message.map(Into::into), at }
    }

    /// Q12: the form that the views of both stores take apart.
    #[test]
    fn a_line_is_a_json_array_and_a_comma() {
        let lines = [line(1, None), line(2, Some("연결 \"끊김\"\n"))];
        let text = lines_text(&lines.each_ref());
        let expected = r#"["FAILED",1,2,1763475000000],["FAILED",2,2,1763475000000,"연결 \"끊김\"\u000a"],"#;
        assert_eq!(text, expected);
        assert_eq!(lines_text(&[]), "");
    }

    /// Q12
    #[test]
    fn every_message_survives_and_only_nul_looks_like_nul() {
        for message in
            ["", "\0", "\\", "\\u0000", "\\\\u0000", "\\\0", "\0\\", "],[", "\u{F8FF}0", "\u{10FFFF}\t"]
        {
            let text = lines_text(&[&line(1, Some(message))]);
            let read: Vec<serde_json::Value> = serde_json::from_str(text.trim_end_matches(',')).unwrap();
            assert_eq!(read[4], message);
            assert_eq!(text.matches("\\u0000").count(), message.matches('\0').count(), "{text}");
            assert!(!text.contains("\\\\"), "{text}");
        }
    }
}
