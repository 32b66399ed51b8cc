//! Reading the columns of a row, with an error that names the place.

use crate::{fault::Fault, sql::Cells, value::Value};
use muster_model::{Digest, FrameTaskId, IdRange, Name, SessionId, Timestamp};
use std::str::FromStr;

/// A row under its table's name. Column 0 identifies the row in error messages.
pub(crate) struct Fields<'row> {
    table: &'static str,
    row: &'row dyn Cells,
    /// Where the table's columns begin in the row.
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

    /// A text that must be there.
    pub(crate) fn text(&self, column: usize) -> Result<&'row str, Fault> {
        match self.cell(column)? {
            Value::Text(text) => Ok(text),
            _ => Err(self.senseless(column)),
        }
    }

    /// A text that may be missing.
    pub(crate) fn maybe_text(&self, column: usize) -> Result<Option<Box<str>>, Fault> {
        if self.is_null(column)? { Ok(None) } else { Ok(Some(self.text(column)?.into())) }
    }

    /// A whole number that fits its type.
    pub(crate) fn number<T: TryFrom<i64>>(&self, column: usize) -> Result<T, Fault> {
        let Value::Integer(value) = self.cell(column)? else {
            return Err(self.senseless(column));
        };
        T::try_from(value).map_err(|_| self.senseless(column))
    }

    /// A whole number that may be missing.
    pub(crate) fn maybe_number<T: TryFrom<i64>>(&self, column: usize) -> Result<Option<T>, Fault> {
        if self.is_null(column)? { Ok(None) } else { self.number(column).map(Some) }
    }

    /// Yes or no.
    pub(crate) fn flag(&self, column: usize) -> Result<bool, Fault> {
        match self.number::<i64>(column)? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(self.senseless(column)),
        }
    }

    /// A moment.
    pub(crate) fn time(&self, column: usize) -> Result<Timestamp, Fault> {
        self.number(column).map(Timestamp)
    }

    /// A moment that may be missing.
    pub(crate) fn maybe_time(&self, column: usize) -> Result<Option<Timestamp>, Fault> {
        Ok(self.maybe_number(column)?.map(Timestamp))
    }

    /// A name from outside.
    pub(crate) fn name(&self, column: usize) -> Result<Name, Fault> {
        Name::new(self.text(column)?).map_err(|_| self.senseless(column))
    }

    /// A session's id.
    pub(crate) fn session(&self, column: usize) -> Result<SessionId, Fault> {
        SessionId::new(self.text(column)?).map_err(|_| self.senseless(column))
    }

    /// A range's id: its session, and in the next column its first frame.
    pub(crate) fn frame_task(&self, column: usize) -> Result<FrameTaskId, Fault> {
        Ok(FrameTaskId { session: self.session(column)?, start: self.number(column + 1)? })
    }

    /// Granted ids: their number, the first and the one after the last.
    pub(crate) fn id_range(&self, column: usize) -> Result<IdRange, Fault> {
        Ok(IdRange {
            chunk: self.number(column)?,
            start: self.number(column + 1)?,
            end: self.number(column + 2)?,
        })
    }

    /// An id in its text form.
    pub(crate) fn id<T: FromStr>(&self, column: usize) -> Result<T, Fault> {
        self.text(column)?.parse().map_err(|_| self.senseless(column))
    }

    /// One of the words a column may hold.
    pub(crate) fn word<T>(&self, column: usize, parse: fn(&str) -> Option<T>) -> Result<T, Fault> {
        parse(self.text(column)?).ok_or_else(|| self.senseless(column))
    }

    /// A word or id that may be missing.
    pub(crate) fn maybe_word<T>(
        &self,
        column: usize,
        parse: fn(&str) -> Option<T>,
    ) -> Result<Option<T>, Fault> {
        if self.is_null(column)? { Ok(None) } else { self.word(column, parse).map(Some) }
    }

    /// Exactly so many bytes.
    pub(crate) fn bytes<const N: usize>(&self, column: usize) -> Result<[u8; N], Fault> {
        self.blob(column)?.try_into().map_err(|_| self.senseless(column))
    }

    /// Bytes.
    pub(crate) fn blob(&self, column: usize) -> Result<&'row [u8], Fault> {
        match self.cell(column)? {
            Value::Blob(bytes) => Ok(bytes),
            _ => Err(self.senseless(column)),
        }
    }

    /// A digest, as its bytes.
    pub(crate) fn digest(&self, column: usize) -> Result<Digest, Fault> {
        self.bytes(column).map(|bytes| Digest(u128::from_be_bytes(bytes)))
    }

    /// Whether a column holds nothing.
    pub(crate) fn is_null(&self, column: usize) -> Result<bool, Fault> {
        Ok(self.cell(column)? == Value::Null)
    }

    /// The error for a value that its column cannot hold.
    pub(crate) fn senseless(&self, column: usize) -> Fault {
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

const SHOWN_CHARS_MAX: usize = 80;
