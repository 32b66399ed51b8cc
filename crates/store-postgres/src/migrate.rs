//! Bringing the tables to the version this binary knows.

use crate::session::Session;
use muster_store::StoreError;
use muster_tables::Fault;
use tokio_postgres::Row;

/// Applies what is missing, all of it or nothing. Any number of servers may do so at once.
pub(crate) fn migrate(session: &Session) -> Result<(), Fault> {
    // A server that finds nothing to do needs no lock and no right to create anything.
    if check(&read(session)?)? {
        return Ok(());
    }
    let outcome = session.ask(session.client().batch_execute(BEGIN)).and_then(|()| apply(session));
    let end = if outcome.is_ok() { "COMMIT" } else { "ROLLBACK" };
    let ended = session.ask(session.client().batch_execute(end));
    outcome.and(ended)
}

/// Sees that a server can begin here, or a copy be made: the tables are whole.
pub(crate) fn check_whole(session: &Session) -> Result<(), Fault> {
    if read(session)?.is_half_filled { Err(half_filled().into()) } else { Ok(()) }
}

/// Sees that the tables are there, whole, and of the version this binary knows. Changes nothing: whoever only reads may
/// have no right to, and a standby takes no writes.
pub(crate) fn check_to_read(session: &Session, place: &str) -> Result<(), Fault> {
    let found = read(session)?;
    check(&found)?;
    match found.version.map(|found| found.version) {
        None | Some(0) => Err(StoreError::Absent(format!(
            "there are no tables of muster in {place}: is it the right database? `muster serve` makes them when it starts for the first time"
        )).into()),
        Some(SCHEMA_VERSION) if found.is_half_filled => Err(half_filled().into()),
        Some(SCHEMA_VERSION) => Ok(()),
        Some(version) => Err(StoreError::Unfit(format!(
            "the tables in {place} have version {version}, this binary reads {SCHEMA_VERSION}; use the version of \
             muster that serves from them, or start `muster serve` of this version there first"
        )).into()),
    }
}

/// Says that a copy broke off, or goes on.
fn half_filled() -> StoreError {
    StoreError::Unfit(
        "a copy into this database was begun and has not ended; if `muster migrate` does not run any more, run it again, \
         or empty the database with DROP SCHEMA muster CASCADE and repeat it"
            .to_owned(),
    )
}

/// State of the schema.
struct SchemaState {
    has_schema: bool,
    /// A copy was begun here and has not ended.
    is_half_filled: bool,
    /// `None`: no version of ours made these tables.
    version: Option<Version>,
    /// Number of tables in our schema.
    tables: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Version {
    version: u32,
    /// The oldest binary that can work with these tables.
    oldest_binary: u32,
}

fn apply(session: &Session) -> Result<(), Fault> {
    // Others may have been quicker: look again under the lock.
    let found = read(session)?;
    if check(&found)? {
        return Ok(());
    }
    let run = |sql: &str| session.ask(session.client().batch_execute(sql));
    if !found.has_schema {
        run("CREATE SCHEMA muster")?;
    }
    if found.version.is_none() {
        run(VERSION_TABLE)?;
    }
    let version = found.version.map_or(0, |found| found.version);
    for Migration { to, oldest_binary, sql } in MIGRATIONS.iter().filter(|step| step.to > version) {
        sql.iter().try_for_each(|sql| run(sql))?;
        run(&format!(
            "UPDATE schema_version SET version = {to}, oldest_binary = {oldest_binary}, migrated_at = now()"
        ))?;
    }
    Ok(())
}

/// True if there is nothing to do; refuses what is not ours, or too new.
fn check(found: &SchemaState) -> Result<bool, Fault> {
    match found.version {
        Some(Version { oldest_binary, version }) if oldest_binary > SCHEMA_VERSION => {
            Err(StoreError::TooNew { found: version, known: SCHEMA_VERSION }.into())
        }
        // Newer, but made so that this binary can work with it: servers are upgraded one after the other.
        Some(Version { version, .. }) => Ok(version >= SCHEMA_VERSION),
        None if found.tables > 0 => Err(Fault::Store(StoreError::Unfit(
            "the schema muster of this database holds the tables of another program; choose another database"
                .into(),
        ))),
        None => Ok(false),
    }
}

fn read(session: &Session) -> Result<SchemaState, Fault> {
    let row = session.ask(session.client().query_one(FOUND, &[]))?;
    let fault = |error| session.fault(&error);
    let has_version: bool = row.try_get(1).map_err(fault)?;
    let version = if has_version {
        let row = session.ask(session.client().query_opt(VERSION, &[]))?;
        row.map(|row| read_version(session, &row)).transpose()?
    } else {
        None
    };
    Ok(SchemaState {
        has_schema: row.try_get(0).map_err(fault)?,
        version,
        tables: row.try_get(2).map_err(fault)?,
        is_half_filled: row.try_get(3).map_err(fault)?,
    })
}

fn read_version(session: &Session, row: &Row) -> Result<Version, Fault> {
    let number = |column: usize| {
        let value: i64 = row.try_get(column).map_err(|error| session.fault(&error))?;
        u32::try_from(value).map_err(|_| Fault::corrupt(format!("schema_version: {value}")))
    };
    Ok(Version { version: number(0)?, oldest_binary: number(1)? })
}

/// One step from a version to the next.
struct Migration {
    to: u32,
    /// The oldest binary that can work with what this leaves, by the version it knows. A step that only adds what older
    /// binaries need not know repeats the number of the step before it, so that servers can be upgraded one by one.
    oldest_binary: u32,
    sql: &'static [&'static str],
}

/// Versions count as those of the embedded store do: a backup of one fits the other if they are the same.
const MIGRATIONS: &[Migration] = &[
    Migration {
        to: 4,
        oldest_binary: 4,
        sql: &[
            include_str!("../migrations/0004_tables.sql"),
            include_str!("../migrations/0004_sessions.sql"),
            include_str!("../migrations/0004_pool.sql"),
            include_str!("../migrations/0004_schedules.sql"),
            include_str!("../migrations/0004_leadership.sql"),
        ],
    },
    // Column event_ids.digest is gone: a binary of version 4 cannot write reports here.
    Migration {
        to: 5,
        oldest_binary: 5,
        sql: &[include_str!("../migrations/0005_outcomes.sql"), include_str!("../migrations/0005_votes.sql")],
    },
    // A binary of version 5 need not know the column: it takes no batches and leaves the column NULL.
    Migration { to: 6, oldest_binary: 5, sql: &[include_str!("../migrations/0006_batches.sql")] },
    // Table execution_logs is a view now: a binary of version 6 cannot write lines of logs here.
    Migration { to: 7, oldest_binary: 7, sql: &[include_str!("../migrations/0007_logs.sql")] },
];

/// The version of the tables that this binary makes and knows.
pub const SCHEMA_VERSION: u32 = MIGRATIONS[MIGRATIONS.len() - 1].to;

/// The lock is this program's alone, and goes with the transaction. Whoever waits for it sees what its holder did. What
/// the tables are altered for is not worth that everybody waits behind it: it is tried again at the next start.
const BEGIN: &str = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; \
     SELECT pg_advisory_xact_lock(hashtext('muster'), hashtext('migrate')); SET LOCAL lock_timeout = '10s'";

const FOUND: &str = "SELECT to_regnamespace('muster') IS NOT NULL, to_regclass('muster.schema_version') IS NOT NULL, \
     (SELECT count(*) FROM pg_class WHERE relnamespace = to_regnamespace('muster') AND relkind IN ('r', 'p', 'v')), \
     to_regclass('muster.being_filled') IS NOT NULL";

const VERSION: &str = "SELECT version, oldest_binary FROM muster.schema_version";

const VERSION_TABLE: &str = "CREATE TABLE muster.schema_version (
         version       BIGINT NOT NULL,
         oldest_binary BIGINT NOT NULL,
         migrated_at   TIMESTAMPTZ NOT NULL
     );
     INSERT INTO muster.schema_version (version, oldest_binary, migrated_at) VALUES (0, 0, now())";
