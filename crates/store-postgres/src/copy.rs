//! The store as its tables, for copies of all of it.

use crate::{
    pipeline::run,
    session::{Purpose, Session},
    sink::{Gathering, Puts},
    store::PostgresStore,
    transaction::Transaction,
    writer::LOAD,
};
use muster_store::{Election, StoreError};
use muster_tables::{Fault, Put, Row, Sink, Sql, TABLES, Whole};

impl PostgresStore {
    /// Reads one state of all tables, also while servers use them.
    ///
    /// # Errors
    /// When the database or `read` fails.
    pub fn read_tables<T, E: From<StoreError>>(
        &self,
        read: impl FnOnce(&dyn Sql) -> Result<T, E>,
    ) -> Result<T, E> {
        let session = Session::open(self.target(), Purpose::Read)?;
        within(&session, LOAD, |transaction| read(transaction))
    }

    /// Fills the store in one transaction; what `fill` put is there if it answers well, and nothing of it if not. No
    /// server leads meanwhile.
    ///
    /// # Errors
    /// When a server leads, or the database or `fill` fails.
    pub fn fill<T, E: From<StoreError>>(
        &self,
        fill: impl FnOnce(&mut dyn Whole) -> Result<T, E>,
    ) -> Result<T, E> {
        let session = Session::open(self.target(), Purpose::Write)?;
        let election = self.shared_election();
        within(&session, BEGIN, |transaction| {
            // Whoever would lead waits for this row; whoever leads shows it in the other one.
            transaction
                .execute("UPDATE fence SET commits = commits + 1 WHERE id = 1", &[])
                .map_err(StoreError::from)?;
            if election.look()?.is_led() {
                return Err(StoreError::InUse(self.place()).into());
            }
            let mut filling = Filling { session: &session, transaction, puts: Puts::default() };
            let answer = fill(&mut filling)?;
            number_on(transaction).map_err(StoreError::from)?;
            Ok(answer)
        })
    }

    /// Whether no server has ever led on this database.
    ///
    /// # Errors
    /// When the database fails.
    pub fn is_unused(&self) -> Result<bool, StoreError> {
        Ok(self.shared_election().look()?.epoch == 0)
    }

    /// The secrets that servers made, by name.
    ///
    /// # Errors
    /// When the database fails.
    pub fn secrets(&self) -> Result<Vec<(String, String)>, StoreError> {
        let session = Session::open(self.target(), Purpose::Lookup)?;
        let sql = "SELECT name, value FROM server_secrets ORDER BY name";
        let rows = session.ask(session.client().query(sql, &[]))?;
        let read = |row: &tokio_postgres::Row| Ok((row.try_get(0)?, row.try_get(1)?));
        let secrets: Result<_, tokio_postgres::Error> = rows.iter().map(read).collect();
        Ok(secrets.map_err(|error| session.fault(&error))?)
    }
}

struct Filling<'a> {
    session: &'a Session,
    transaction: &'a Transaction<'a>,
    puts: Puts,
}

impl Whole for Filling<'_> {
    fn sql(&self) -> &dyn Sql {
        self.transaction
    }

    fn sink(&mut self) -> &mut dyn Sink {
        self
    }
}

impl Sink for Filling<'_> {
    fn put(
        &mut self,
        put: &'static Put,
        rows: usize,
        fill: &mut dyn FnMut(usize, &mut dyn Row) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        let mut gathering = Gathering { session: self.session, puts: &mut self.puts, steps: Vec::new() };
        gathering.put(put, rows, fill)?;
        let steps = gathering.steps;
        self.session.ask(run(self.session.client(), &steps))
    }
}

/// Does as told in a transaction, and ends it: all of it or nothing.
fn within<T, E: From<StoreError>>(
    session: &Session,
    begin: &str,
    act: impl FnOnce(&Transaction<'_>) -> Result<T, E>,
) -> Result<T, E> {
    let run = |sql: &str| session.ask(session.client().batch_execute(sql)).map_err(StoreError::from);
    run(begin)?;
    match act(&Transaction::begun(session)) {
        Ok(answer) => {
            run("COMMIT")?;
            Ok(answer)
        }
        Err(error) => {
            // If this fails, the session is over, and the transaction with it.
            let _ = run("ROLLBACK");
            Err(error)
        }
    }
}

/// Rows that brought their own number count: the next one follows the largest.
fn number_on(sql: &dyn Sql) -> Result<(), Fault> {
    for shape in TABLES.iter().filter(|shape| shape.numbered) {
        let (table, key) = (shape.name, shape.key[0]);
        let sequence = format!("pg_get_serial_sequence('{table}', '{key}')");
        let last = format!("SELECT max({key}) FROM {table}");
        sql.each(
            &format!("SELECT setval({sequence}, coalesce(({last}), 1), ({last}) IS NOT NULL)"),
            &[],
            &mut |_| Ok(()),
        )?;
    }
    Ok(())
}

const BEGIN: &str =
    "BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = '5s'";
