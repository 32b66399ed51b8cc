//! A row as one line of JSON: `[1, "text", null, {"b": "base64"}]`.

use crate::cell::{Cell, Record};
use base64::{Engine, engine::general_purpose::STANDARD};
use muster_tables::{Kind, TableShape};
use serde_json::Value;

/// Appends a row to a text. The same row is always the same text.
pub(crate) fn push(row: &[Cell], text: &mut String) {
    text.push('[');
    for (place, cell) in row.iter().enumerate() {
        if place > 0 {
            text.push(',');
        }
        push_cell(cell, text);
    }
    text.push(']');
}

/// Reads a row of a table; says what is wrong with it.
pub(crate) fn read(line: &str, shape: &TableShape) -> Result<Record, String> {
    let values: Vec<Value> = serde_json::from_str(line).map_err(|error| error.to_string())?;
    if values.len() != shape.columns.len() {
        return Err(format!("{} values for {} columns", values.len(), shape.columns.len()));
    }
    let cells = values.into_iter().zip(shape.columns);
    cells.map(|(value, column)| read_cell(value, column.kind).ok_or_else(|| misfit(column.name))).collect()
}

fn push_cell(cell: &Cell, text: &mut String) {
    use std::fmt::Write;
    match cell {
        Cell::Null => text.push_str("null"),
        Cell::Integer(number) => _ = write!(text, "{number}"),
        Cell::Text(content) => text.push_str(&Value::from(&**content).to_string()),
        Cell::Blob(bytes) => _ = write!(text, "{{\"b\":\"{}\"}}", STANDARD.encode(bytes)),
    }
}

fn read_cell(value: Value, kind: Kind) -> Option<Cell> {
    match (value, kind) {
        (Value::Null, _) => Some(Cell::Null),
        (Value::Number(number), Kind::Integer) => number.as_i64().map(Cell::Integer),
        (Value::String(text), Kind::Text) => Some(Cell::Text(text.into())),
        (Value::Object(members), Kind::Blob) if members.len() == 1 => {
            let bytes = STANDARD.decode(members.get("b")?.as_str()?).ok()?;
            Some(Cell::Blob(bytes.into()))
        }
        _ => None,
    }
}

fn misfit(column: &str) -> String {
    format!("column {column} holds what it cannot hold")
}
