//! The tables, as any SQL client sees them while the server runs: SQLite or PostgreSQL.

use rusqlite::{Connection, OpenFlags, types::ValueRef};
use std::{path::Path, time::Duration};
use tokio::runtime::Runtime;
use tokio_postgres::{Client, NoTls, SimpleQueryMessage, SimpleQueryRow};

/// A connection that is only read from.
#[derive(Debug)]
pub struct Database(Kind);

#[derive(Debug)]
enum Kind {
    Sqlite(Connection),
    Postgres(Postgres),
}

impl Database {
    pub(crate) fn sqlite(path: &Path) -> Self {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags).unwrap();
        connection.busy_timeout(Duration::from_secs(30)).unwrap();
        Self(Kind::Sqlite(connection))
    }

    /// The tables at a URL.
    #[must_use]
    pub fn postgres(url: &str) -> Self {
        Self(Kind::Postgres(Postgres::connect(url).unwrap_or_else(|error| panic!("{error}"))))
    }

    /// The rows of a query, each column as text; NULL is `NULL`.
    #[must_use]
    pub fn rows(&self, sql: &str) -> Vec<Vec<String>> {
        match &self.0 {
            Kind::Sqlite(connection) => sqlite_rows(connection, sql),
            Kind::Postgres(connection) => {
                let read = connection.rows(sql);
                read.unwrap_or_else(|error| panic!("{sql}: {error}"))
            }
        }
    }

    /// The first column of a query.
    #[must_use]
    pub fn column(&self, sql: &str) -> Vec<String> {
        self.rows(sql).into_iter().map(|mut row| row.remove(0)).collect()
    }

    /// The one number a query finds.
    #[must_use]
    pub fn count(&self, sql: &str) -> i64 {
        let found = self.column(sql);
        let number = found.first().and_then(|text| text.parse().ok());
        number.unwrap_or_else(|| panic!("{sql}: {found:?} is no number"))
    }

    /// The names of a table's or view's columns.
    #[must_use]
    pub fn columns_of(&self, table: &str) -> Vec<String> {
        self.column(&format!("SELECT name FROM pragma_table_info('{table}')"))
    }

    /// Everything in every table but these, as text, to be compared.
    #[must_use]
    pub fn dump(&self, without: &[&str]) -> Vec<String> {
        let tables = self.column("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name");
        let mut dump = Vec::new();
        for table in tables.iter().filter(|table| !without.contains(&table.as_str())) {
            let columns = self.columns_of(table);
            let lasting = columns.iter().filter(|column| !VOLATILE.contains(&column.as_str()));
            let lasting = lasting.cloned().collect::<Vec<_>>().join(", ");
            let rows = self.rows(&format!("SELECT {lasting} FROM {table} ORDER BY 1, 2"));
            dump.extend(rows.into_iter().map(|row| format!("{table}: {}", row.join(" | "))));
        }
        dump
    }
}

fn sqlite_rows(connection: &Connection, sql: &str) -> Vec<Vec<String>> {
    let mut statement = connection.prepare(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    let columns = statement.column_count();
    let row = |row: &rusqlite::Row<'_>| (0..columns).map(|n| row.get_ref(n).map(text_of)).collect();
    statement.query_map([], row).unwrap().collect::<Result<_, _>>().unwrap()
}

fn text_of(value: ValueRef<'_>) -> String {
    match value {
        ValueRef::Null => "NULL".to_owned(),
        ValueRef::Integer(number) => number.to_string(),
        ValueRef::Real(number) => number.to_string(),
        ValueRef::Text(text) => String::from_utf8_lossy(text).into_owned(),
        ValueRef::Blob(bytes) => bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
    }
}

/// Signs of life are written down now and then; nothing else depends on them.
const VOLATILE: [&str; 3] = ["last_seen_at", "last_used_at", "lease_until"];

/// A connection in a thread of its own.
#[derive(Debug)]
pub struct Postgres {
    client: Client,
    runtime: Runtime,
}

impl Postgres {
    /// Connects to a URL as libpq reads it; tables are found in the schema `muster`.
    ///
    /// # Errors
    /// Says why not.
    pub fn connect(url: &str) -> Result<Self, String> {
        let mut runtime = tokio::runtime::Builder::new_multi_thread();
        let runtime = runtime.worker_threads(1).enable_all().build().map_err(|error| error.to_string())?;
        let (client, connection) =
            runtime.block_on(tokio_postgres::connect(url, NoTls)).map_err(|error| explain(&error))?;
        runtime.spawn(connection);
        let connected = Self { client, runtime };
        connected.rows("SET search_path = muster, public")?;
        Ok(connected)
    }

    /// The rows of one or more statements, each column as text; NULL is `NULL`.
    ///
    /// # Errors
    /// Says what the server said.
    pub fn rows(&self, sql: &str) -> Result<Vec<Vec<String>>, String> {
        let answered = self.runtime.block_on(self.client.simple_query(sql));
        let row = |message| match message {
            SimpleQueryMessage::Row(row) => Some(texts(&row)),
            _ => None,
        };
        Ok(answered.map_err(|error| explain(&error))?.into_iter().filter_map(row).collect())
    }
}

fn texts(row: &SimpleQueryRow) -> Vec<String> {
    (0..row.len()).map(|column| row.get(column).unwrap_or("NULL").to_owned()).collect()
}

fn explain(error: &tokio_postgres::Error) -> String {
    error.as_db_error().map_or_else(|| error.to_string(), |told| told.to_string())
}
