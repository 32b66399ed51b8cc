//! Reading the columns of a row, with an error that names the place.

use crate::{
    column::{FromColumn, Number, Text},
    fault::Fault,
    sql::Cells,
    value::Value,
};

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

    /// Whether a column holds nothing.
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

const SHOWN_CHARS_MAX: usize = 80;
