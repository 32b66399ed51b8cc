//! Makes a backup: one state of all tables, as lines of JSON.

use crate::walk::{Tally, Tallying, Walk};
use muster_tables::{Fault, Sql, TABLES, TableShape};
use serde_json::json;
use std::io::{self, Write};

/// Contents of a backup beside the tables.
#[derive(Clone, Debug, Default)]
pub struct Contents {
    /// The version of the store's schema.
    pub schema: u32,
    /// The server's secrets, by name.
    pub secrets: Vec<(String, String)>,
}

/// Reason why a backup could not be made.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] Fault),
    /// The file could not be written.
    #[error("the backup cannot be written: {0}")]
    File(#[from] io::Error),
}

/// Writes all tables to `file`; `progress` is told of each table and its rows so far. What it wrote is a backup only if
/// this ends well: the last line says so.
///
/// # Errors
/// When the store or the file fails.
pub fn write(
    sql: &dyn Sql,
    contents: &Contents,
    file: &mut dyn Write,
    progress: &mut dyn FnMut(&'static str, u64),
) -> Result<Vec<Tally>, WriteError> {
    writeln!(
        file,
        "{}",
        json!({ "muster_backup": FORMAT, "schema": contents.schema, "tables": TABLES.len() })
    )?;
    for (name, value) in &contents.secrets {
        writeln!(file, "{}", json!({ "secret": name, "value": value }))?;
    }
    let mut tallies = Vec::with_capacity(TABLES.len());
    for shape in TABLES {
        tallies.push(write_table(sql, shape, file, progress)?);
    }
    let rows: u64 = tallies.iter().map(|tally| tally.rows).sum();
    writeln!(file, "{}", json!({ "complete": true, "rows": rows }))?;
    file.flush()?;
    Ok(tallies)
}

fn write_table(
    sql: &dyn Sql,
    shape: &'static TableShape,
    file: &mut dyn Write,
    progress: &mut dyn FnMut(&'static str, u64),
) -> Result<Tally, WriteError> {
    let columns: Vec<&str> = shape.columns.iter().map(|column| column.name).collect();
    writeln!(file, "{}", json!({ "table": shape.name, "columns": columns }))?;
    let (mut walk, mut tallying) = (Walk::new(sql, shape), Tallying::new(shape));
    let mut rows = 0;
    loop {
        let page = walk.page()?;
        if page.is_empty() {
            break;
        }
        for row in &page {
            file.write_all(tallying.take(row).as_bytes())?;
        }
        rows += page.len() as u64;
        progress(shape.name, rows);
    }
    let tally = tallying.finish();
    writeln!(file, "{}", json!({ "end": tally.table, "rows": tally.rows, "sha256": tally.sha256 }))?;
    Ok(tally)
}

/// The version of the file's form.
pub(crate) const FORMAT: u32 = 1;
