//! Reading the columns of a row, with an error that names the place.

use crate::fault::Fault;
use muster_model::{Digest, FrameTaskId, IdRange, Name, SessionId, Timestamp};
use rusqlite::{Row, types::ValueRef};
use std::str::FromStr;

/// A row under its table's name. Column 0 identifies the row in error messages.
pub(crate) struct Fields<'row, 'statement> {
    table: &'static str,
    row: &'row Row<'statement>,
}

impl<'row, 'statement> Fields<'row, 'statement> {
    pub(crate) fn new(table: &'static str, row: &'row Row<'statement>) -> Self {
        Self { table, row }
    }

    /// A text that must be there.
    pub(crate) fn text(&self, column: usize) -> Result<&'row str, Fault> {
        match self.row.get_ref(column)? {
            ValueRef::Text(bytes) => std::str::from_utf8(bytes).map_err(|_| self.senseless(column)),
            _ => Err(self.senseless(column)),
        }
    }

    /// A text that may be missing.
    pub(crate) fn maybe_text(&self, column: usize) -> Result<Option<Box<str>>, Fault> {
        if self.is_null(column)? { Ok(None) } else { Ok(Some(self.text(column)?.into())) }
    }

    /// A whole number that fits its type.
    pub(crate) fn number<T: TryFrom<i64>>(&self, column: usize) -> Result<T, Fault> {
        let ValueRef::Integer(value) = self.row.get_ref(column)? else {
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
        match self.row.get_ref(column)? {
            ValueRef::Blob(bytes) => bytes.try_into().map_err(|_| self.senseless(column)),
            _ => Err(self.senseless(column)),
        }
    }

    /// A digest, as its bytes.
    pub(crate) fn digest(&self, column: usize) -> Result<Digest, Fault> {
        self.bytes(column).map(|bytes| Digest(u128::from_be_bytes(bytes)))
    }

    /// Whether a column holds nothing.
    pub(crate) fn is_null(&self, column: usize) -> Result<bool, Fault> {
        Ok(matches!(self.row.get_ref(column)?, ValueRef::Null))
    }

    /// The error for a value that its column cannot hold.
    pub(crate) fn senseless(&self, column: usize) -> Fault {
        let shown = |column| self.row.get_ref(column).map_or_else(|_| "?".to_owned(), show);
        let name = self.row.as_ref().column_name(column).unwrap_or("?");
        Fault::corrupt(format!("{} {}: {name} = {}", self.table, shown(0), shown(column)))
    }
}

/// A value short enough for a message.
fn show(value: ValueRef<'_>) -> String {
    match value {
        ValueRef::Null => "NULL".to_owned(),
        ValueRef::Integer(number) => number.to_string(),
        ValueRef::Real(number) => number.to_string(),
        ValueRef::Text(bytes) => String::from_utf8_lossy(bytes).chars().take(SHOWN_CHARS_MAX).collect(),
        ValueRef::Blob(bytes) => format!("{} bytes", bytes.len()),
    }
}

const SHOWN_CHARS_MAX: usize = 80;
