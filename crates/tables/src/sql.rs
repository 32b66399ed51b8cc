//! What a SQL store brings.

use muster_store::StoreError;

/// What a column holds. All numbers are 64 bits wide; yes and no are 1 and 0.
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

/// Why something did not work.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// The database said no.
    #[error("{0}")]
    Database(String),
    /// Said in the words that all stores share.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A row that was read.
pub trait Cells {
    /// What stands in a column, counted from 0.
    ///
    /// # Errors
    /// When there is no such column, or it holds what no column of ours can.
    fn cell(&self, column: usize) -> Result<Value<'_>, Fault>;

    /// What a column is called.
    fn column_name(&self, column: usize) -> &str;
}

/// A connection within a transaction: all it reads is one state.
pub trait Sql {
    /// Hands each row of a query to `take`, without collecting them.
    ///
    /// # Errors
    /// When the database fails, or `take` does.
    fn each(
        &self,
        sql: &str,
        params: &[Value<'_>],
        take: &mut dyn FnMut(&dyn Cells) -> Result<(), Fault>,
    ) -> Result<(), Fault>;

    /// Runs a statement; answers how many rows it concerned.
    ///
    /// # Errors
    /// When the database fails.
    fn execute(&self, sql: &str, params: &[Value<'_>]) -> Result<u64, Fault>;
}

/// How rows are put into a table.
#[derive(Debug, PartialEq, Eq)]
pub struct Put {
    /// The table.
    pub table: &'static str,
    /// The columns of a row, in the order of its values.
    pub columns: &'static [&'static str],
    /// The columns of the primary key; empty where rows are only ever added.
    pub key: &'static [&'static str],
    /// What becomes of a row that is there.
    pub update: Update,
}

/// What becomes of a row whose key is there already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Update {
    /// It cannot be there.
    Never,
    /// All columns of the row are overwritten; those not named in [`Put::columns`] may be lost.
    Whole,
    /// The columns of [`Put::columns`] are overwritten, others stay.
    Named,
}

/// One row on its way into a table: its values, in the order of [`Put::columns`].
pub trait Row {
    /// The next column.
    fn value(&mut self, value: Value<'_>);
}

/// Takes what a batch writes, in order.
pub trait Sink {
    /// Puts so many rows into a table; `fill` is called for each, by its number, and gives all its values. No two rows
    /// of one call have the same key.
    ///
    /// # Errors
    /// When the database fails, or `fill` does.
    fn put(
        &mut self,
        put: &'static Put,
        rows: usize,
        fill: &mut dyn FnMut(usize, &mut dyn Row) -> Result<(), Fault>,
    ) -> Result<(), Fault>;

    /// Runs a statement that answers nothing.
    ///
    /// # Errors
    /// When the database fails.
    fn execute(&mut self, sql: &'static str, params: &[Value<'_>]) -> Result<(), Fault>;
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
