//! A connection to PostgreSQL, for those who wait for its answers.

use tokio::runtime::Runtime;
use tokio_postgres::{Client, NoTls, SimpleQueryMessage, SimpleQueryRow};

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
