//! What a batch writes, gathered into as few statements as there are tables.

use crate::{column::Column, pipeline::Step, session::Session, statement, value::Argument};
use muster_tables::{Fault, Put, Row, Sink, Value};
use std::collections::HashMap;
use tokio_postgres::Statement;

/// The statements that put rows into tables, and what they are made of.
pub(crate) struct Puts {
    /// The type of each column by table and name.
    types: HashMap<(String, String), String>,
    /// By the address of what they do.
    statements: HashMap<usize, Statement>,
}

impl Puts {
    /// Looks up which columns there are.
    pub(crate) fn new(session: &Session) -> Result<Self, Fault> {
        let rows = session.ask(session.client().query(COLUMNS, &[]))?;
        let text = |row: &tokio_postgres::Row, column: usize| {
            row.try_get::<_, String>(column).map_err(|error| session.fault(&error))
        };
        let types = rows
            .iter()
            .map(|row| Ok(((text(row, 0)?, text(row, 1)?), text(row, 2)?)))
            .collect::<Result<_, Fault>>()?;
        Ok(Self { types, statements: HashMap::new() })
    }

    fn statement(&mut self, session: &Session, put: &'static Put) -> Result<Statement, Fault> {
        let address = std::ptr::from_ref(put).addr();
        if let Some(statement) = self.statements.get(&address) {
            return Ok(statement.clone());
        }
        let types = put
            .columns
            .iter()
            .map(|column| self.type_of(put.table, column))
            .collect::<Result<Vec<_>, _>>()?;
        let statement = session.statement(&statement::put(put, &types))?;
        self.statements.insert(address, statement.clone());
        Ok(statement)
    }

    fn type_of(&self, table: &str, column: &str) -> Result<&str, Fault> {
        self.types.get(&(table.to_owned(), column.to_owned())).map(String::as_str).ok_or_else(|| {
            Fault::Database(format!(
                "table {table} has no column {column}: somebody altered the schema muster"
            ))
        })
    }
}

/// Gathers what a batch writes. Nothing is sent, but for a statement that is used for the first time.
pub(crate) struct Gathering<'a> {
    session: &'a Session,
    puts: &'a mut Puts,
    steps: Vec<Step>,
}

impl<'a> Gathering<'a> {
    /// Begins with the steps that come first.
    pub(crate) fn new(session: &'a Session, puts: &'a mut Puts, steps: Vec<Step>) -> Self {
        Self { session, puts, steps }
    }

    /// All steps in their order.
    pub(crate) fn into_steps(self) -> Vec<Step> {
        self.steps
    }
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
        let statement = self.puts.statement(self.session, put)?;
        let mut table = Table::new(put);
        for row in 0..rows {
            fill(row, &mut table)?;
            table.end_row(put)?;
            if table.is_large() || row + 1 == rows {
                let parameters = std::mem::replace(&mut table, Table::new(put)).into_arguments();
                self.steps.push(Step { statement: statement.clone(), parameters });
            }
        }
        Ok(())
    }

    fn execute(&mut self, sql: &'static str, params: &[Value<'_>]) -> Result<(), Fault> {
        let statement = self.session.statement(sql)?;
        let parameters = params.iter().map(|value| Argument::from(*value)).collect();
        self.steps.push(Step { statement, parameters });
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

    fn end_row(&mut self, put: &Put) -> Result<(), Fault> {
        if std::mem::take(&mut self.next) != self.columns.len() {
            return Err(Fault::corrupt(format!("{}: a row without all its columns", put.table)));
        }
        self.rows += 1;
        Ok(())
    }

    fn is_large(&self) -> bool {
        self.rows >= ROWS_MAX || self.columns.iter().map(Column::size).sum::<usize>() >= BYTES_MAX
    }

    fn into_arguments(self) -> Vec<Argument> {
        self.columns.into_iter().map(Argument::Column).collect()
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

/// What one statement carries: PostgreSQL takes no message of a gigabyte, and holds all of one in memory.
const ROWS_MAX: usize = 16_384;
const BYTES_MAX: usize = 8 << 20;

const COLUMNS: &str = "SELECT c.relname::text, a.attname::text, format_type(a.atttypid, NULL) FROM pg_attribute a \
     JOIN pg_class c ON c.oid = a.attrelid \
     WHERE c.relnamespace = 'muster'::regnamespace AND c.relkind = 'r' AND a.attnum > 0 AND NOT a.attisdropped";
