//! The store as its tables, for copies of all of it.

use crate::{
    migrate::check_whole,
    session::{Purpose, Session},
    sink::{Gathering, Puts},
    statement::run,
    store::PostgresStore,
    transaction::Transaction,
    writer::LOAD,
};
use muster_store::{Election, StoreError};
use muster_tables::{Fault, Put, Row, Sink, Sql, TABLES, Value, Whole};

/// Progress of filling a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// All of it at once.
    Whole,
    /// By the first of several: until the last has been, nobody serves from it nor copies it.
    First,
    /// By the last of several.
    Last,
}

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
        Transaction::within(&session, LOAD, read)
    }

    /// Fills the store in one transaction; what `fill` put is there if it answers well, and nothing of it if not. No
    /// server leads meanwhile. The secrets of servers become those given, by name.
    ///
    /// # Errors
    /// When a server leads, or the database or `fill` fails; for what takes several transactions also when a server ever
    /// led here.
    pub fn fill<T, E: From<StoreError>>(
        &self,
        stage: Stage,
        secrets: &[(String, String)],
        fill: impl FnOnce(&mut dyn Whole) -> Result<T, E>,
    ) -> Result<T, E> {
        let session = Session::open(self.target(), Purpose::Fill)?;
        let election = self.shared_election();
        Transaction::within(&session, BEGIN, |sql| {
            // A candidate needs these rows, in this order; the first one shows a server that leads.
            for row in ["UPDATE leader SET id = id", "UPDATE fence SET commits = commits + 1"] {
                sql.execute(row, &[]).map_err(StoreError::from)?;
            }
            let standing = election.look()?;
            if let Some(leader) = standing.leader.as_ref().filter(|_| standing.is_led()) {
                return Err(StoreError::Led(leader.address.clone()).into());
            }
            stage.enter(&session, standing.epoch)?;
            // A former leader that lost its connection must not continue here with its memory.
            for row in [DEPOSE, "UPDATE fence SET epoch = l.epoch FROM leader l"] {
                sql.execute(row, &[]).map_err(StoreError::from)?;
            }
            keep_secrets(sql, secrets).map_err(StoreError::from)?;
            let answer = fill(&mut Filling { session: &session, sql, puts: Puts::default() })?;
            number_on(sql).map_err(StoreError::from)?;
            Ok(answer)
        })
    }

    /// True if no server has ever led on this database.
    pub fn is_unused(&self) -> Result<bool, StoreError> {
        Ok(self.shared_election().look()?.epoch == 0)
    }

    /// The secrets that servers made, by name.
    pub fn secrets(&self) -> Result<Vec<(String, String)>, StoreError> {
        let session = Session::open(self.target(), Purpose::Lookup)?;
        let sql = "SELECT name, value FROM server_secrets ORDER BY name";
        let rows = session.ask(session.client().query(sql, &[]))?;
        let read = |row: &tokio_postgres::Row| Ok((row.try_get(0)?, row.try_get(1)?));
        let secrets: Result<_, tokio_postgres::Error> = rows.iter().map(read).collect();
        Ok(secrets.map_err(|error| session.fault(&error))?)
    }
}

impl Stage {
    /// Marks the database, or takes the mark away; with the transaction, or not at all.
    fn enter(self, session: &Session, epoch: u64) -> Result<(), StoreError> {
        if self != Self::Whole && epoch > 0 {
            return Err(StoreError::Unfit("a server has served from this database meanwhile".to_owned()));
        }
        let run = |sql| session.ask(session.client().batch_execute(sql));
        let entered = match self {
            Self::Whole => check_whole(session),
            Self::First => run("CREATE TABLE IF NOT EXISTS being_filled ()"),
            Self::Last => run("DROP TABLE IF EXISTS being_filled"),
        };
        entered.map_err(StoreError::from)
    }
}

fn keep_secrets(sql: &dyn Sql, secrets: &[(String, String)]) -> Result<(), Fault> {
    let put = "INSERT INTO server_secrets (name, value) VALUES (?1, ?2) \
               ON CONFLICT (name) DO UPDATE SET value = excluded.value";
    for (name, value) in secrets {
        sql.execute(put, &[Value::Text(name), Value::Text(value)])?;
    }
    Ok(())
}

struct Filling<'a> {
    session: &'a Session,
    sql: &'a dyn Sql,
    puts: Puts,
}

impl Whole for Filling<'_> {
    fn sql(&self) -> &dyn Sql {
        self.sql
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

/// Begins a fill. The fill may take its time; a session that blocks it may not.
const BEGIN: &str = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; SET LOCAL lock_timeout = '5s'; \
     SET LOCAL idle_in_transaction_session_timeout = 0; SET LOCAL enable_seqscan = on";

/// Also where the last leader resigned: what it sent before may still wait for its turn. An epoch that was never given
/// has nobody to depose, and says that no server ever led here.
const DEPOSE: &str = "UPDATE leader SET epoch = epoch + 1, node = NULL, address = NULL, pid = NULL, backend_start = NULL \
     WHERE epoch > 0";
