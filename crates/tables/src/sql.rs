//! What a SQL store brings.

use crate::{Fault, Put, Value};
use std::slice::Chunks;

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

/// Takes a row that was read.
pub type Take<'a> = dyn FnMut(&dyn Cells) -> Result<(), Fault> + 'a;

/// A connection within a transaction: all it reads is one state.
pub trait Sql {
    /// Hands each row of a query to `take`, without collecting them. Until it returns, nothing else is asked.
    ///
    /// # Errors
    /// When the database fails, or `take` does.
    fn each(&self, sql: &str, params: &[Value<'_>], take: &mut Take<'_>) -> Result<(), Fault>;

    /// Hands over the rows of a query for each of many sets of parameters, in their order.
    ///
    /// Where a round trip costs, all are asked for at once.
    ///
    /// # Errors
    /// When the database fails, or `take` does.
    fn each_for(&self, sql: &str, sets: Chunks<'_, Value<'_>>, take: &mut Take<'_>) -> Result<(), Fault> {
        for params in sets {
            self.each(sql, params, take)?;
        }
        Ok(())
    }

    /// Runs a statement; answers how many rows it concerned.
    ///
    /// # Errors
    /// When the database fails.
    fn execute(&self, sql: &str, params: &[Value<'_>]) -> Result<u64, Fault>;
}

/// Connections that read; a store brings its own.
pub trait Connections: Send + Sync + 'static {
    /// Reads in a transaction of its own: all of it sees one state.
    ///
    /// # Errors
    /// When the database fails, or `read` does.
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
    ///
    /// # Errors
    /// When the database fails, or `fill` does.
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
