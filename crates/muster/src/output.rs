//! Output of commands: one JSON document, or tables for people (I4).

use comfy_table::{Cell, ContentArrangement, Table, presets};
use jiff::Timestamp;
use serde_json::Value;
use std::io::{self, IsTerminal, Write};

/// Prints to standard output; a reader who went away is no error.
pub(crate) fn line(text: &str) {
    let _ = writeln!(io::stdout().lock(), "{text}");
}

/// Prints the document that `--json` promises.
pub(crate) fn document(value: &Value) {
    line(&serde_json::to_string_pretty(value).expect("a value has only text keys"));
}

/// Prints `rows` with the columns named; bordered on a terminal, bare in a pipe.
pub(crate) fn table(rows: &[Value], columns: &[&str]) {
    line(&render(rows, columns, io::stdout().is_terminal()));
}

/// Prints the members of one object, one per line.
pub(crate) fn members(object: &Value) {
    for (key, value) in object.as_object().into_iter().flatten() {
        line(&format!("{key}: {}", named(key, value)));
    }
}

/// Prints one object: the document that `--json` promises, or its members for people.
pub(crate) fn object(object: &Value, json: bool) {
    if json { document(object) } else { members(object) }
}

/// Prints a document or, without `--json`, the table of the list it holds under `name`.
pub(crate) fn listing(whole: &Value, name: &str, columns: &[&str], json: bool) {
    match whole.get(name).and_then(Value::as_array) {
        Some(rows) if !json => table(rows, columns),
        _ => document(whole),
    }
}

/// A moment in epoch milliseconds, as people read it.
pub(crate) fn moment(millis: i64) -> String {
    Timestamp::from_millisecond(millis).map_or_else(|_| millis.to_string(), |moment| moment.to_string())
}

/// True if output to a terminal, or to something else, should be coloured.
pub(crate) fn is_colourful(is_terminal: bool) -> bool {
    is_terminal && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

fn render(rows: &[Value], columns: &[&str], is_terminal: bool) -> String {
    let mut table = Table::new();
    table.load_style(if is_terminal { presets::UTF8_HORIZONTAL_ONLY } else { presets::NOTHING });
    table.set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(columns.iter().map(|column| Cell::new(column.to_uppercase())));
    for row in rows {
        let told = |column: &&str| named(column, row.get(column).unwrap_or(&Value::Null));
        table.add_row(columns.iter().map(|column| Cell::new(told(column))));
    }
    table.trim_fmt()
}

/// The value of a member, on one line. Some routes give moments as text, others in milliseconds: people read one form.
fn named(key: &str, value: &Value) -> String {
    let millis = value.as_i64().filter(|millis| is_moment(key) && *millis >= MILLIS_MIN);
    millis.map_or_else(|| cell(value), moment)
}

fn is_moment(key: &str) -> bool {
    MOMENTS.contains(&key) || key.ends_with("_at") || key.ends_with("At")
}

/// A value on one line. Control characters in names and titles must not reach the terminal.
fn cell(value: &Value) -> String {
    let text = match value {
        Value::Null => "-".to_owned(),
        Value::String(text) => text.clone(),
        Value::Object(members) if members.is_empty() => "-".to_owned(),
        Value::Object(members) => {
            let members = members.iter().map(|(key, value)| format!("{key}={}", named(key, value)));
            members.collect::<Vec<_>>().join(" ")
        }
        other => other.to_string(),
    };
    text.chars().map(|char| if char.is_control() { '\u{fffd}' } else { char }).collect()
}

/// Names of moments besides `…_at` and `…At`.
const MOMENTS: [&str; 7] =
    ["at", "since", "until", "status_since", "paused_until", "old_valid_until", "lastHeartbeat"];
/// In 1973: whatever is less counts something else.
const MILLIS_MIN: i64 = 100_000_000_000;

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// I4: in a pipe a table is bare text; nothing in it can steer a terminal.
    #[test]
    fn a_table_in_a_pipe_is_bare() {
        let rows =
            [json!({"run_id": "r1", "title": "a\u{1b}[2Jb", "counts": {"ok": 1}}), json!({"run_id": "r2"})];
        let text = render(&rows, &["run_id", "title", "counts"], false);
        assert_eq!(text.lines().count(), 3);
        assert!(text.lines().nth(1).unwrap().contains("ok=1"));
        assert!(text.lines().all(|line| !line.contains('\u{1b}') && !line.contains('─')), "{text}");
        assert!(render(&rows, &["run_id"], true).contains('─'));
    }

    /// I4: people read moments as dates, however the server tells them; numbers of another kind stay numbers.
    #[test]
    fn people_read_dates() {
        let at = 1_760_331_600_123_i64;
        let row = json!({"at": at, "created_at": "2025-10-13T05:00:00Z", "createdAt": at, "size": at, "since": 12,
            "last": {"ended_at": at}, "revoked_at": null});
        let told = ["at", "created_at", "createdAt", "size", "since", "last", "revoked_at"]
            .map(|key| named(key, &row[key]));
        let moment = "2025-10-13T05:00:00.123Z";
        let last = format!("ended_at={moment}");
        assert_eq!(told, [moment, "2025-10-13T05:00:00Z", moment, "1760331600123", "12", &last, "-"]);
        let columns = ["at", "size"];
        assert!(render(std::slice::from_ref(&row), &columns, false).contains(moment));
    }
}
