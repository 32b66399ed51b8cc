//! Statements one after the other in one transaction.

use crate::{
    session::Session,
    value::{Parameter, PgCells},
};
use futures_util::{StreamExt, future::join};
use muster_tables::{Cells, Fault, Sql, Value};
use std::{cell::Cell, pin::Pin};
use tokio_postgres::{Error, Row, RowStream, Statement};

/// A transaction. All it reads is one state, if it was begun so.
pub(crate) struct Transaction<'a> {
    session: &'a Session,
    /// What begins it, until the first statement has taken it along.
    begin: Cell<Option<&'static str>>,
    /// Whether rows are being read: PostgreSQL answers one question after the other.
    is_reading: Cell<bool>,
}

impl<'a> Transaction<'a> {
    /// Does as told in a transaction, and ends it: all of it or nothing.
    pub(crate) fn within<T>(
        session: &'a Session,
        begin: &'static str,
        act: impl FnOnce(&dyn Sql) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let transaction = Self { session, begin: Cell::new(Some(begin)), is_reading: Cell::new(false) };
        let answer = act(&transaction);
        let was_begun = transaction.begin.get().is_none();
        match answer {
            Ok(answer) if was_begun => session.ask(session.client().batch_execute("COMMIT")).map(|()| answer),
            Err(fault) if was_begun && session.is_open() => {
                // If this fails too, the session ends, and the transaction with it.
                let _ = session.ask(session.client().batch_execute("ROLLBACK"));
                Err(fault)
            }
            other => other,
        }
    }

    /// Asks; the first time, together with what begins the transaction.
    fn ask<T>(&self, request: impl Future<Output = Result<T, Error>>) -> Result<T, Fault> {
        if self.is_reading.get() {
            return Err(Fault::Database("a question amidst the rows of another".to_owned()));
        }
        match self.begin.take() {
            None => self.session.ask(request),
            Some(begin) => self.session.ask(async {
                let (begun, answer) = join(self.session.client().batch_execute(begin), request).await;
                begun.and(answer)
            }),
        }
    }

    fn read(
        &self,
        rows: RowStream,
        take: &mut dyn FnMut(&dyn Cells) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        let mut rows = Box::pin(rows);
        let mut some = Vec::with_capacity(ROWS_AT_ONCE);
        loop {
            let more = self.session.ask(next_rows(rows.as_mut(), &mut some))?;
            some.drain(..).try_for_each(|row| take(&PgCells::new(&row)))?;
            if !more {
                return Ok(());
            }
        }
    }
}

impl Sql for Transaction<'_> {
    fn each(
        &self,
        sql: &str,
        params: &[Value<'_>],
        take: &mut dyn FnMut(&dyn Cells) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        let statement = self.statement(sql)?;
        let params = params.iter().map(|value| Parameter(*value));
        let rows = self.ask(self.session.client().query_raw(&statement, params))?;
        self.is_reading.set(true);
        let outcome = self.read(rows, take);
        self.is_reading.set(false);
        outcome
    }

    fn execute(&self, sql: &str, params: &[Value<'_>]) -> Result<u64, Fault> {
        let statement = self.statement(sql)?;
        let params = params.iter().map(|value| Parameter(*value));
        self.ask(self.session.client().execute_raw(&statement, params))
    }
}

impl Transaction<'_> {
    fn statement(&self, sql: &str) -> Result<Statement, Fault> {
        if self.is_reading.get() {
            return Err(Fault::Database("a question amidst the rows of another".to_owned()));
        }
        self.session.statement(sql)
    }
}

/// Waits for rows; answers whether more may follow.
async fn next_rows(mut rows: Pin<&mut RowStream>, into: &mut Vec<Row>) -> Result<bool, Error> {
    while into.len() < ROWS_AT_ONCE {
        match rows.next().await {
            Some(row) => into.push(row?),
            None => return Ok(false),
        }
    }
    Ok(true)
}

/// As many as come with one look at the socket, about.
const ROWS_AT_ONCE: usize = 256;
