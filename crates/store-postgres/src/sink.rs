//! Gathers the rows of a batch into one statement per table.

use crate::{
    session::Session,
    statement::{self, PipelineStep},
    value::{Argument, Column},
};
use muster_tables::{Fault, Put, Row, Sink, Value};
use std::{collections::HashMap, mem};
use tokio_postgres::Statement;

/// The statements that put rows into tables, prepared when first needed.
#[derive(Default)]
pub(crate) struct Puts {
    /// By the address of what they are for: there is one of each, and it stays.
    statements: HashMap<usize, Statement>,
}

impl Puts {
    fn of(&mut self, put: &'static Put, session: &Session) -> Result<Statement, Fault> {
        let address = std::ptr::from_ref(put).addr();
        if let Some(statement) = self.statements.get(&address) {
            return Ok(statement.clone());
        }
        let statement = session.statement(&statement::put(put))?;
        self.statements.insert(address, statement.clone());
        Ok(statement)
    }
}

/// Gathers what a batch writes. Nothing is sent, but for statements to be prepared.
pub(crate) struct Gathering<'a> {
    pub(crate) session: &'a Session,
    pub(crate) puts: &'a mut Puts,
    /// The gathered rows, in order.
    pub(crate) steps: Vec<PipelineStep>,
}

impl Sink for Gathering<'_> {
    fn put(
        &mut self,
        put: &'static Put,
        rows: usize,
        fill: &mut dyn FnMut(usize, &mut dyn Row) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        if rows == 0 {
            return Ok(());
        }
        let statement = self.puts.of(put, self.session)?;
        let mut table = Table::new(put);
        for n in 0..rows {
            fill(n, &mut table)?;
            debug_assert_eq!(table.next, put.columns.len(), "values for {}", put.table);
            table.next = 0;
            table.rows += 1;
            if table.is_full() || n + 1 == rows {
                let columns = mem::replace(&mut table, Table::new(put)).columns;
                let parameters = columns.into_iter().map(Argument::Column).collect();
                self.steps.push(PipelineStep { statement: statement.clone(), parameters });
            }
        }
        Ok(())
    }
}

/// Rows on their way into a table, by column.
struct Table {
    columns: Vec<Column>,
    rows: usize,
    /// The column whose turn it is.
    next: usize,
}

impl Table {
    fn new(put: &Put) -> Self {
        Self { columns: put.columns.iter().map(|_| Column::default()).collect(), rows: 0, next: 0 }
    }

    fn is_full(&self) -> bool {
        self.rows >= ROWS_MAX || self.columns.iter().map(Column::size).sum::<usize>() >= BYTES_MAX
    }
}

impl Row for Table {
    fn value(&mut self, value: Value<'_>) {
        if let Some(column) = self.columns.get_mut(self.next) {
            column.push(value);
        }
        self.next += 1;
    }
}

/// Size of one statement: PostgreSQL takes no message of a gigabyte, and holds all of one in memory.
const ROWS_MAX: usize = 16_384;
const BYTES_MAX: usize = 8 << 20;
