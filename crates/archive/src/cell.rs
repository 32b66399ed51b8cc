//! Values that outlive the row they were read from, and their form as a line of text.

use base64::{Engine, engine::general_purpose::STANDARD};
use muster_tables::{Cells, Fault, Kind, TableShape, Value};
use serde_json::Value as Json;
use std::cmp::Ordering;

/// Value of a column, kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Cell {
    Null,
    Integer(i64),
    Text(Box<str>),
    Blob(Box<[u8]>),
}

/// A row, kept.
pub(crate) type Record = Box<[Cell]>;

impl Cell {
    pub(crate) fn value(&self) -> Value<'_> {
        match self {
            Self::Null => Value::Null,
            Self::Integer(number) => Value::Integer(*number),
            Self::Text(text) => Value::Text(text),
            Self::Blob(bytes) => Value::Blob(bytes),
        }
    }

    /// As databases order keys: numbers by value, texts and bytes by their bytes. Keys of one column are of one kind.
    pub(crate) fn order(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Integer(one), Self::Integer(other)) => one.cmp(other),
            (Self::Text(one), Self::Text(other)) => one.as_bytes().cmp(other.as_bytes()),
            (Self::Blob(one), Self::Blob(other)) => one.cmp(other),
            _ => self.rank().cmp(&other.rank()),
        }
    }

    fn rank(&self) -> u8 {
        match self {
            Self::Null => 0,
            Self::Integer(_) => 1,
            Self::Text(_) => 2,
            Self::Blob(_) => 3,
        }
    }
}

impl From<Value<'_>> for Cell {
    fn from(value: Value<'_>) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Integer(number) => Self::Integer(number),
            Value::Text(text) => Self::Text(text.into()),
            Value::Blob(bytes) => Self::Blob(bytes.into()),
        }
    }
}

/// Keeps a row of so many columns.
pub(crate) fn keep(row: &dyn Cells, columns: usize) -> Result<Record, Fault> {
    (0..columns).map(|column| Ok(Cell::from(row.cell(column)?))).collect()
}

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
    let values: Vec<Json> = serde_json::from_str(line).map_err(|error| error.to_string())?;
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
        Cell::Text(content) => text.push_str(&Json::from(&**content).to_string()),
        Cell::Blob(bytes) => _ = write!(text, "{{\"b\":\"{}\"}}", STANDARD.encode(bytes)),
    }
}

fn read_cell(value: Json, kind: Kind) -> Option<Cell> {
    match (value, kind) {
        (Json::Null, _) => Some(Cell::Null),
        (Json::Number(number), Kind::Integer) => number.as_i64().map(Cell::Integer),
        (Json::String(text), Kind::Text) => Some(Cell::Text(text.into())),
        (Json::Object(members), Kind::Blob) if members.len() == 1 => {
            let bytes = STANDARD.decode(members.get("b")?.as_str()?).ok()?;
            Some(Cell::Blob(bytes.into()))
        }
        _ => None,
    }
}

fn misfit(column: &str) -> String {
    format!("column {column} holds what it cannot hold")
}
