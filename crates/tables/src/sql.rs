//! The interface of a SQL store: connections, rows, values and faults.

use crate::{
    Put,
    column::{FromColumn, Number, Text},
};
use muster_model::Timestamp;
use muster_store::StoreError;
use std::slice::Chunks;

/// A row that was read.
pub trait Cells {
    /// Value of a column, counted from 0.
    ///
    /// # Errors
    /// When there is no such column, or it holds what no column of ours can.
    fn cell(&self, column: usize) -> Result<Value<'_>, Fault>;

    /// Name of a column.
    fn column_name(&self, column: usize) -> &str;
}

/// Takes a row that was read.
pub type Take<'a> = dyn FnMut(&dyn Cells) -> Result<(), Fault> + 'a;

/// A connection within a transaction: all it reads is one state.
pub trait Sql {
    /// Hands each row of a query to `take`, without collecting them. Until it returns, nothing else is asked.
    fn each(&self, sql: &str, params: &[Value<'_>], take: &mut Take<'_>) -> Result<(), Fault>;

    /// Hands over the rows of a query for each of many sets of parameters, in their order.
    ///
    /// A store with costly round trips sends all of these queries at once.
    fn each_for(&self, sql: &str, sets: Chunks<'_, Value<'_>>, take: &mut Take<'_>) -> Result<(), Fault> {
        for params in sets {
            self.each(sql, params, take)?;
        }
        Ok(())
    }

    /// Runs a statement; answers how many rows it concerned.
    fn execute(&self, sql: &str, params: &[Value<'_>]) -> Result<u64, Fault>;
}

/// Connections that read; a store brings its own.
pub trait Connections: Send + Sync + 'static {
    /// Reads in a transaction of its own: all of it sees one state.
    fn read<T>(&self, read: impl FnOnce(&dyn Sql) -> Result<T, Fault>) -> Result<T, Fault>;
}

/// One row on its way into a table.
pub trait Row {
    /// The next column.
    fn value(&mut self, value: Value<'_>);

    /// The columns that follow, all at once.
    fn values(&mut self, values: &[Value<'_>]) {
        for value in values {
            self.value(*value);
        }
    }
}

/// Takes what a batch writes, in order.
pub trait Sink {
    /// Puts so many rows into a table; `fill` is called for each, by its number, and gives all its values in the order
    /// of [`Put::columns`]. No two rows of one call have the same key.
    fn put(
        &mut self,
        put: &'static Put,
        rows: usize,
        fill: &mut dyn FnMut(usize, &mut dyn Row) -> Result<(), Fault>,
    ) -> Result<(), Fault>;
}

/// A store that is filled as a whole, in one transaction: all that is put is there in the end, or nothing.
pub trait Whole {
    /// Reads what is there, with what was put so far.
    fn sql(&self) -> &dyn Sql;

    /// Takes rows.
    fn sink(&mut self) -> &mut dyn Sink;
}

/// Errors of a SQL store.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// The database said no.
    #[error("{0}")]
    Database(String),
    /// Said in the words that all stores share.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Fault {
    /// A row holds what it cannot hold.
    pub fn corrupt(what: impl Into<String>) -> Self {
        Self::Store(StoreError::Corrupt(what.into()))
    }
}

impl From<Fault> for StoreError {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Store(error) => error,
            Fault::Database(text) => Self::Backend(text),
        }
    }
}

/// A row under its table's name. Column 0 identifies the row in error messages.
pub(crate) struct Fields<'row> {
    table: &'static str,
    row: &'row dyn Cells,
    /// First column of the table in the row.
    first: usize,
}

impl<'row> Fields<'row> {
    pub(crate) fn new(table: &'static str, row: &'row dyn Cells) -> Self {
        Self::from(table, row, 0)
    }

    /// A row whose columns before a certain one are another table's.
    pub(crate) fn from(table: &'static str, row: &'row dyn Cells, first: usize) -> Self {
        Self { table, row, first }
    }

    /// Value of a text column.
    pub(crate) fn text<T: FromColumn<Text>>(&self, column: usize) -> Result<T, Fault> {
        self.value(column)
    }

    /// Value of a number column.
    pub(crate) fn number<T: FromColumn<Number>>(&self, column: usize) -> Result<T, Fault> {
        self.value(column)
    }

    /// Value of a column of any storage class.
    pub(crate) fn value<S, T: FromColumn<S>>(&self, column: usize) -> Result<T, Fault> {
        T::from_value(self.cell(column)?).ok_or_else(|| self.senseless(column))
    }

    /// True if a column holds nothing.
    pub(crate) fn is_null(&self, column: usize) -> Result<bool, Fault> {
        Ok(self.cell(column)? == Value::Null)
    }

    /// The error for a value that its column cannot hold.
    fn senseless(&self, column: usize) -> Fault {
        let shown = |column| self.cell(column).map_or_else(|_| "?".to_owned(), show);
        let name = self.row.column_name(self.first + column);
        Fault::corrupt(format!("{} {}: {name} = {}", self.table, shown(0), shown(column)))
    }

    fn cell(&self, column: usize) -> Result<Value<'row>, Fault> {
        self.row.cell(self.first + column)
    }
}

/// A value short enough for a message.
fn show(value: Value<'_>) -> String {
    match value {
        Value::Null => "NULL".to_owned(),
        Value::Integer(number) => number.to_string(),
        Value::Text(text) => text.chars().take(SHOWN_CHARS_MAX).collect(),
        Value::Blob(bytes) => format!("{} bytes", bytes.len()),
    }
}

/// Value of a column. All numbers are 64 bits wide; yes and no are 1 and 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value<'a> {
    /// Nothing.
    Null,
    /// A whole number, a moment in milliseconds, or 1 and 0.
    Integer(i64),
    /// A text.
    Text(&'a str),
    /// Bytes.
    Blob(&'a [u8]),
}

impl From<i64> for Value<'_> {
    fn from(number: i64) -> Self {
        Self::Integer(number)
    }
}

macro_rules! from_small {
    ($($type:ty),*) => {
        $(impl From<$type> for Value<'_> {
            fn from(number: $type) -> Self {
                Self::Integer(number.into())
            }
        })*
    };
}

from_small!(bool, u8, u16, u32);

impl From<Timestamp> for Value<'_> {
    fn from(at: Timestamp) -> Self {
        Self::Integer(at.0)
    }
}

impl<'a> From<&'a str> for Value<'a> {
    fn from(text: &'a str) -> Self {
        Self::Text(text)
    }
}

impl<'a> From<&'a [u8]> for Value<'a> {
    fn from(bytes: &'a [u8]) -> Self {
        Self::Blob(bytes)
    }
}

impl<'a, const N: usize> From<&'a [u8; N]> for Value<'a> {
    fn from(bytes: &'a [u8; N]) -> Self {
        Self::Blob(bytes)
    }
}

impl<'a, T: Into<Value<'a>>> From<Option<T>> for Value<'a> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

const SHOWN_CHARS_MAX: usize = 80;
