//! Reading connections, kept for the next reader, and look-ups by key.

use crate::{
    session::{Home, Purpose, Session},
    statement::{self, Pipeline},
    target::Target,
    transaction::Transaction,
    value::{Column, PgCells},
};
use futures_util::TryStreamExt;
use muster_model::{Facts, Key};
use muster_store::{Lookup, StoreError};
use muster_tables::{Connections, Fault, LookupKind, LookupPlan, Sql};
use std::{
    collections::HashMap,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
};
use tokio_postgres::{Row, Statement};

/// Hands out connections, up to a number; opens one when all are in use.
pub(crate) struct Pool {
    target: Arc<Target>,
    state: Mutex<State>,
    returned: Condvar,
}

#[derive(Default)]
struct State {
    idle: Vec<Session>,
    in_use: usize,
}

impl Pool {
    pub(crate) fn new(target: Arc<Target>) -> Self {
        Self { target, state: Mutex::default(), returned: Condvar::new() }
    }

    /// Waits until there is a connection to be had.
    fn lend(&self) -> Lent<'_> {
        let mut state = self.state();
        while state.in_use >= IN_USE_MAX {
            state = self.returned.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.in_use += 1;
        // Those that lost their server are of no use to anybody.
        let session = std::iter::from_fn(|| state.idle.pop()).find(Session::is_open);
        Lent { pool: self, session }
    }

    fn give_back(&self, session: Option<Session>) {
        let mut state = self.state();
        state.in_use -= 1;
        if let Some(session) = session.filter(|_| state.idle.len() < IDLE_MAX) {
            state.idle.push(session);
        }
        drop(state);
        self.returned.notify_one();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Connections for Pool {
    fn read<T>(&self, read: impl FnOnce(&dyn Sql) -> Result<T, Fault>) -> Result<T, Fault> {
        let mut lent = self.lend();
        let session = match &mut lent.session {
            Some(session) => session,
            none => none.insert(Session::open(&self.target, Purpose::Read)?),
        };
        Transaction::within(session, BEGIN, read)
    }
}

/// A connection that goes back when this is dropped, whatever happens.
struct Lent<'a> {
    pool: &'a Pool,
    session: Option<Session>,
}

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        let session = self.session.take().filter(Session::is_open);
        self.pool.give_back(session);
    }
}

/// A connection for the driver alone.
pub(crate) struct PostgresLookup {
    target: Arc<Target>,
    session: Session,
    /// By the address of the kind they are for: there is one of each, and it stays.
    statements: HashMap<usize, Statement>,
}

impl PostgresLookup {
    pub(crate) fn open(target: &Arc<Target>) -> Result<Self, StoreError> {
        let session = Session::open(target, Purpose::Lookup)?;
        Ok(Self { target: Arc::clone(target), session, statements: HashMap::new() })
    }

    /// The server that it asks.
    pub(crate) fn home(&self) -> Home {
        self.session.home()
    }

    /// Asks for all kinds in one round trip.
    fn try_facts(&mut self, keys: &[Key]) -> Result<Facts, Fault> {
        if !self.session.is_open() {
            self.session = self.session.open_again(&self.target, Purpose::Lookup)?;
            self.statements.clear();
        }
        let mut asked = Vec::new();
        for plan in muster_tables::plan(keys) {
            asked.push((plan.kind, self.statement(plan.kind)?, columns(&plan)?));
        }
        let client = self.session.client();
        let requests = asked.iter().map(|(_, statement, columns)| async move {
            client.query_raw(statement, columns).await?.try_collect::<Vec<Row>>().await
        });
        let (mut pipeline, mut facts) = (Pipeline::new(requests), Facts::default());
        for (kind, ..) in &asked {
            let rows = self.session.ask(pipeline.next())?.unwrap_or_default();
            rows.iter().try_for_each(|row| kind.read(&PgCells::new(row), &mut facts))?;
        }
        Ok(facts)
    }

    fn statement(&mut self, kind: &'static LookupKind) -> Result<Statement, Fault> {
        let address = std::ptr::from_ref(kind).addr();
        if let Some(statement) = self.statements.get(&address) {
            return Ok(statement.clone());
        }
        let statement = self.session.statement(&statement::lookup(kind))?;
        self.statements.insert(address, statement.clone());
        Ok(statement)
    }
}

impl Lookup for PostgresLookup {
    fn facts(&mut self, keys: &[Key]) -> Result<Facts, StoreError> {
        if keys.is_empty() {
            return Ok(Facts::default());
        }
        self.try_facts(keys).map_err(StoreError::from)
    }
}

/// Values of the key columns of a kind.
fn columns(plan: &LookupPlan<'_>) -> Result<Vec<Column>, Fault> {
    let mut columns: Vec<Column> = plan.kind.key.iter().map(|_| Column::default()).collect();
    for key in &plan.keys {
        plan.kind.values(key, &mut |values| {
            columns.iter_mut().zip(values).for_each(|(column, value)| column.push(*value));
            Ok(())
        })?;
    }
    Ok(columns)
}

const BEGIN: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";

/// More readers at once than this are rare; theirs are closed after use.
const IDLE_MAX: usize = 4;

/// Several servers share the connections that a database has.
const IN_USE_MAX: usize = 16;
