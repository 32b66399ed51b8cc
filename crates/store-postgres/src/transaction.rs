//! Statements one after the other in one transaction.

use crate::{
    session::Session,
    statement::Pipeline,
    value::{Parameter, PgCells},
};
use futures_util::{StreamExt, future::join};
use muster_store::StoreError;
use muster_tables::{Fault, Sql, Take, Value};
use std::{cell::Cell, future::Future, pin::Pin, slice::Chunks};
use tokio_postgres::{Error, Row, RowStream, Statement};

/// A transaction; what begins it goes along with its first statement.
pub(crate) struct Transaction<'a> {
    session: &'a Session,
    /// The statement that begins it, until it is sent.
    begin: Cell<Option<&'static str>>,
    /// PostgreSQL answers one question after the other.
    is_asked: Cell<bool>,
}

impl<'a> Transaction<'a> {
    /// Does as told in a transaction, and ends it: all of it or nothing.
    pub(crate) fn within<T, E: From<StoreError>>(
        session: &'a Session,
        begin: &'static str,
        act: impl FnOnce(&dyn Sql) -> Result<T, E>,
    ) -> Result<T, E> {
        let transaction = Self { session, begin: Cell::new(Some(begin)), is_asked: Cell::new(false) };
        let answer = act(&transaction);
        let was_begun = transaction.begin.get().is_none();
        match answer {
            Ok(answer) if was_begun => match session.ask(session.client().batch_execute("COMMIT")) {
                Ok(()) => Ok(answer),
                Err(fault) => Err(StoreError::from(fault).into()),
            },
            Err(error) if was_begun && session.is_open() => {
                // If this fails, the session is over, and the transaction with it.
                let _ = session.ask(session.client().batch_execute("ROLLBACK"));
                Err(error)
            }
            other => other,
        }
    }

    /// The transaction that a session is in.
    pub(crate) fn begun(session: &'a Session) -> Self {
        Self { session, begin: Cell::new(None), is_asked: Cell::new(false) }
    }

    fn statement(&self, sql: &str) -> Result<Statement, Fault> {
        debug_assert!(!self.is_asked.get(), "asked while an answer is being read: {sql}");
        self.session.statement(sql)
    }

    /// Asks; the first time, together with what begins the transaction.
    fn ask<T>(&self, request: impl Future<Output = Result<T, Error>>) -> Result<T, Fault> {
        match self.begin.take() {
            None => self.session.ask(request),
            Some(begin) => self.session.ask(async {
                let (begun, answer) = join(self.session.client().batch_execute(begin), request).await;
                begun.and(answer)
            }),
        }
    }

    /// Hands over the rows of an answer.
    fn read(&self, rows: RowStream, take: &mut Take<'_>) -> Result<(), Fault> {
        self.is_asked.set(true);
        let outcome = self.read_some_at_a_time(rows, take);
        self.is_asked.set(false);
        outcome
    }

    fn read_some_at_a_time(&self, rows: RowStream, take: &mut Take<'_>) -> Result<(), Fault> {
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
    fn each(&self, sql: &str, params: &[Value<'_>], take: &mut Take<'_>) -> Result<(), Fault> {
        let statement = self.statement(sql)?;
        let params = params.iter().map(|value| Parameter(*value));
        let rows = self.ask(self.session.client().query_raw(&statement, params))?;
        self.read(rows, take)
    }

    fn each_for(&self, sql: &str, mut sets: Chunks<'_, Value<'_>>, take: &mut Take<'_>) -> Result<(), Fault> {
        let (client, statement) = (self.session.client(), self.statement(sql)?);
        while sets.len() > 0 {
            let some = sets.by_ref().take(SETS_AT_ONCE);
            let requests =
                some.map(|params| client.query_raw(&statement, params.iter().map(|value| Parameter(*value))));
            let mut pipeline = Pipeline::new(requests);
            while let Some(rows) = self.ask(pipeline.next())? {
                self.read(rows, take)?;
            }
        }
        Ok(())
    }

    fn execute(&self, sql: &str, params: &[Value<'_>]) -> Result<u64, Fault> {
        let statement = self.statement(sql)?;
        let params = params.iter().map(|value| Parameter(*value));
        self.ask(self.session.client().execute_raw(&statement, params))
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

/// Enough that a round trip costs little for each.
const SETS_AT_ONCE: usize = 256;
