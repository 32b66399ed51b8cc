//! A value that outlives the row it was read from.

use muster_tables::{Cells, Fault, Value};
use std::cmp::Ordering;

/// What a column holds, kept.
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
