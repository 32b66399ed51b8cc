//! One connection, driven by whoever uses it.

use crate::{
    connect::{Stream, open},
    fault,
    statement::dollars,
    target::Target,
};
use muster_store::StoreError;
use muster_tables::Fault;
use std::{
    cell::RefCell,
    collections::HashMap,
    future::{Future, poll_fn},
    pin::pin,
    task::{Context, Poll},
    time::Duration,
};
use tokio::runtime::{Builder, Runtime};
use tokio_postgres::{AsyncMessage, Client, Connection, Error, Socket, Statement, error::SqlState};

/// One connection to the database.
///
/// It has no thread of its own: the thread that asks also reads and writes the socket while it waits for the answer, so
/// nothing is handed from thread to thread on the way of a commit. It must not be used on a thread that runs async code.
pub(crate) struct Session {
    client: Client,
    /// `None`: it is over.
    connection: RefCell<Option<Connection<Socket, Stream>>>,
    /// Reason why it is over, if that is known.
    end: RefCell<Option<String>>,
    /// Prepared statements by their texts, as these came from our own code.
    statements: RefCell<HashMap<Box<str>, Statement>>,
    /// Name of the server in messages.
    place: String,
    /// Identity of the server until it restarts.
    server: String,
    /// Longest time for an answer.
    limit: Duration,
    reactor: Reactor,
}

/// Wait for the socket.
struct Reactor(Option<Runtime>);

/// A server, as it is until it is started anew: what it said it kept, it has. Another one may lack it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Home {
    place: String,
    server: String,
}

/// Purpose of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Commits.
    Write,
    /// Filling a whole store in one transaction.
    Fill,
    /// Leadership: a late answer is worthless.
    Lead,
    /// Point reads.
    Lookup,
    /// Lists, and reading everything.
    Read,
    /// Making tables, which may take long where there is much in them.
    Migrate,
}

impl Session {
    /// Connects to the first server that takes writes.
    pub(crate) fn open(target: &Target, purpose: Purpose) -> Result<Self, StoreError> {
        let reactor = Reactor::new()?;
        let (client, connection, place) = reactor.wait(open(target, purpose))?;
        let mut session = Self {
            client,
            connection: RefCell::new(Some(connection)),
            end: RefCell::default(),
            statements: RefCell::default(),
            place,
            server: String::new(),
            limit: limit(target, purpose),
            reactor,
        };
        session.server = crate::connect::prepare(&session, target, purpose)?;
        Ok(session)
    }

    /// Connects anew to the server that ended this session while nothing was asked.
    ///
    /// Another server, and this one once it was started anew, may lack what was kept: whoever remembers that must begin
    /// anew too.
    pub(crate) fn open_again(&self, target: &Target, purpose: Purpose) -> Result<Self, Fault> {
        let session = Self::open(target, purpose)?;
        if session.home() != self.home() {
            return Err(Fault::Database(format!(
                "{}: the database was started anew or replaced",
                self.place
            )));
        }
        let why = self.end.borrow();
        tracing::warn!(
            server = self.place,
            why = why.as_deref(),
            "the database ended a session; there is another"
        );
        Ok(session)
    }

    /// The server, as it is until it is started anew.
    pub(crate) fn home(&self) -> Home {
        Home { place: self.place.clone(), server: self.server.clone() }
    }

    /// Asks, and waits for the answer, but not for ever. What was not answered in time leaves the session over.
    pub(crate) fn ask<T>(&self, request: impl Future<Output = Result<T, Error>>) -> Result<T, Fault> {
        self.wait(request)?.map_err(|error| self.fault(&error))
    }

    /// Asks for what somebody else may hold; `None`: they held it for longer than `lock_timeout`.
    pub(crate) fn ask_for<T>(
        &self,
        request: impl Future<Output = Result<T, Error>>,
    ) -> Result<Option<T>, Fault> {
        self.ask_unless(&SqlState::LOCK_NOT_AVAILABLE, request)
    }

    /// Asks; `None`: it failed for this reason.
    pub(crate) fn ask_unless<T>(
        &self,
        reason: &SqlState,
        request: impl Future<Output = Result<T, Error>>,
    ) -> Result<Option<T>, Fault> {
        match self.wait(request)? {
            Err(error) if error.code() == Some(reason) => Ok(None),
            answer => answer.map(Some).map_err(|error| self.fault(&error)),
        }
    }

    /// True if the server, as far as is known, still listens.
    pub(crate) fn is_open(&self) -> bool {
        // The second time, the runtime has looked at the socket in between.
        self.drive(async {
            tokio::task::yield_now().await;
            tokio::task::yield_now().await;
        });
        self.connection.borrow().is_some()
    }

    /// The connection, for requests to be asked.
    pub(crate) fn client(&self) -> &Client {
        &self.client
    }

    /// A statement, prepared on its first use. It is written with `?1`, `?2`, ….
    pub(crate) fn statement(&self, sql: &str) -> Result<Statement, Fault> {
        if let Some(statement) = self.statements.borrow().get(sql) {
            return Ok(statement.clone());
        }
        let text = dollars(sql);
        let statement = self.ask(self.client.prepare(&text))?;
        self.statements.borrow_mut().insert(sql.into(), statement.clone());
        Ok(statement)
    }

    /// Puts an error in the words that all stores share.
    pub(crate) fn fault(&self, error: &Error) -> Fault {
        match (fault::fault(error), self.end.borrow().as_ref()) {
            (Fault::Database(_), Some(end)) if error.is_closed() => {
                Fault::Database(format!("{}: {end}", self.place))
            }
            (Fault::Database(what), _) => Fault::Database(format!("{}: {what}", self.place)),
            (other, _) => other,
        }
    }

    fn wait<T>(&self, request: impl Future<Output = Result<T, Error>>) -> Result<Result<T, Error>, Fault> {
        self.drive(async { tokio::time::timeout(self.limit, request).await }).map_err(|_| {
            *self.connection.borrow_mut() = None;
            let limit = self.limit.as_millis();
            Fault::Database(format!(
                "{}: no answer within {limit} ms; muster tries again by itself",
                self.place
            ))
        })
    }

    /// Waits for a future, and moves what goes over the wire meanwhile.
    fn drive<T>(&self, future: impl Future<Output = T>) -> T {
        let mut future = pin!(future);
        self.reactor.wait(poll_fn(|context| {
            // First the requests are made, all that can be, so that they leave together; then they are sent.
            if let Poll::Ready(answer) = future.as_mut().poll(context) {
                self.move_messages(context);
                return Poll::Ready(answer);
            }
            self.move_messages(context);
            future.as_mut().poll(context)
        }))
    }

    fn move_messages(&self, context: &mut Context<'_>) {
        let mut connection = self.connection.borrow_mut();
        while let Some(open) = connection.as_mut() {
            match open.poll_message(context) {
                Poll::Pending => return,
                Poll::Ready(Some(Ok(AsyncMessage::Notice(notice)))) if fault::is_broken_promise(&notice) => {
                    *self.end.borrow_mut() = Some(fault::database_said(&notice));
                    *connection = None;
                }
                Poll::Ready(Some(Ok(AsyncMessage::Notice(notice)))) => {
                    tracing::debug!(
                        server = self.place,
                        notice = notice.message(),
                        "the database gave a notice"
                    );
                }
                Poll::Ready(Some(Ok(_))) => {}
                Poll::Ready(Some(Err(error))) => {
                    *self.end.borrow_mut() = Some(fault::cause(&error));
                    *connection = None;
                }
                Poll::Ready(None) => *connection = None,
            }
        }
    }
}

fn limit(target: &Target, purpose: Purpose) -> Duration {
    match purpose {
        Purpose::Lead => (target.lease * 2 / 3).max(LEAD_LIMIT_MIN),
        Purpose::Write | Purpose::Fill | Purpose::Lookup | Purpose::Read => {
            ANSWER_LIMIT.max(target.lease * 2)
        }
        Purpose::Migrate => MIGRATION_LIMIT,
    }
}

impl Reactor {
    fn new() -> Result<Self, StoreError> {
        let runtime = Builder::new_current_thread().enable_all().build();
        let failed = |error| StoreError::Backend(format!("cannot wait for the network: {error}"));
        runtime.map(|runtime| Self(Some(runtime))).map_err(failed)
    }

    fn wait<T>(&self, future: impl Future<Output = T>) -> T {
        self.0.as_ref().expect("it is there until this is dropped").block_on(future)
    }
}

impl Drop for Reactor {
    fn drop(&mut self) {
        // A name may still be looked up, and waiting is not allowed everywhere.
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

/// Beyond what the slowest disk needs. Nothing waits longer: a server that hangs, or a standby that is waited for, must
/// be told of in the log.
const ANSWER_LIMIT: Duration = Duration::from_secs(60);

const MIGRATION_LIMIT: Duration = Duration::from_hours(6);

const LEAD_LIMIT_MIN: Duration = Duration::from_millis(500);

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

    use super::*;
    use crate::{store::PostgresStore, target::Environment};
    use muster_pg_harness::Cluster;

    /// A database with tables, and how it is reached.
    fn target() -> Target {
        let url = Cluster::shared().fresh_database();
        drop(PostgresStore::open(&url, &crate::PostgresOptions::default()).unwrap());
        Target::parse(&url, &Environment::default(), Duration::from_secs(3)).unwrap()
    }

    fn run(session: &Session, sql: &str) -> Result<(), String> {
        session.ask(session.client().batch_execute(sql)).map_err(|fault| StoreError::from(fault).to_string())
    }

    /// S18: should the beginning of a commit fail alone, nothing of the rest that was sent along with it is kept.
    #[test]
    fn nothing_is_written_outside_of_a_transaction() {
        let target = target();
        for purpose in [Purpose::Write, Purpose::Fill] {
            let session = Session::open(&target, purpose).unwrap();
            let refused = run(&session, "UPDATE fence SET commits = commits + 1").unwrap_err();
            assert!(refused.contains("25006"), "{refused}");
            run(&session, "BEGIN READ WRITE; UPDATE fence SET commits = commits + 1; COMMIT").unwrap();
        }
    }

    /// S18: a warning that a wait was cancelled comes before the acknowledgement, which is not believed then; others do no harm.
    #[test]
    fn a_wait_that_was_cancelled_ends_the_session() {
        let target = target();
        for code in ["57014", "57P01"] {
            let session = Session::open(&target, Purpose::Write).unwrap();
            let warn =
                |code| format!("DO $$ BEGIN RAISE WARNING 'it is over' USING ERRCODE = '{code}'; END $$");
            run(&session, &warn("01000")).unwrap();
            let told = run(&session, &warn(code)).unwrap_err();
            assert!(told.contains("it is over") && told.contains(code), "{told}");
            assert!(!session.is_open());
        }
    }

    /// A leader notices a lost connection soon; a transfer that pauses for a moment does not count as lost.
    #[test]
    fn a_transfer_may_stand_still() {
        let target = target();
        for (purpose, patience) in [
            (Purpose::Lead, "3000"),
            (Purpose::Lookup, "3000"),
            (Purpose::Write, "6000"),
            (Purpose::Fill, "60000"),
            (Purpose::Read, "60000"),
            (Purpose::Migrate, "60000"),
        ] {
            let session = Session::open(&target, purpose).unwrap();
            let row = session.ask(session.client().query_one("SHOW tcp_user_timeout", &[])).unwrap();
            assert_eq!(row.get::<_, String>(0), patience, "{purpose:?}");
        }
    }
}
