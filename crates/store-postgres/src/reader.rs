//! Reading connections, kept for the next reader.

use crate::{
    session::{Purpose, Session},
    target::Target,
    transaction::Transaction,
};
use muster_tables::{Connections, Fault, Sql};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

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

const BEGIN: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";

/// More readers at once than this are rare; theirs are closed after use.
const IDLE_MAX: usize = 4;

/// Several servers share the connections that a database has.
const IN_USE_MAX: usize = 16;
