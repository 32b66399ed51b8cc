//! Fills an empty store from a backup.

use crate::{
    align::put,
    cell::{self, Record},
    walk::{Tally, Tallying, is_empty, tally},
    write::FORMAT,
};
use muster_tables::{Fault, Sql, TABLES, TableShape, VERSION_6_TABLES, Value, Whole};
use serde::Deserialize;
use std::io::{self, BufRead, Read};

/// Head of a backup.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Head {
    /// The version of the schema it was made of.
    pub schema: u32,
    /// The server's secrets, by name; none where they were left out.
    pub secrets: Vec<(String, String)>,
}

/// Reason why nothing was restored.
#[derive(Debug, thiserror::Error)]
pub enum RestoreError {
    /// The file could not be read.
    #[error("the backup cannot be read: {0}")]
    File(#[from] io::Error),
    /// The file is something else, or was packed.
    #[error(
        "it is no muster backup; if it is one that was compressed, unpack it: zstd -dc FILE | muster restore -"
    )]
    NoText,
    /// The file is not a backup, or not a whole one.
    #[error("line {line} of the backup: {what}")]
    Senseless {
        /// Counted from 1.
        line: u64,
        /// Its defect.
        what: String,
    },
    /// The store holds something.
    #[error("the store is not empty; restore into a new one")]
    NotEmpty,
    /// It was made by a newer version.
    #[error("the backup has schema version {found}, this binary knows {known}; use a newer muster")]
    TooNew {
        /// In the backup.
        found: u32,
        /// In this binary.
        known: u32,
    },
    /// The rows read back differ from those of the backup.
    #[error(
        "table {table} has {found} rows after the restore, the backup {wanted}, or others; nothing was kept"
    )]
    Unlike {
        /// The table.
        table: &'static str,
        /// Rows in the store.
        found: u64,
        /// Rows in the backup.
        wanted: u64,
    },
    /// Its epoch is missing, or none that was ever given.
    #[error("table meta of the backup has no epoch that makes sense")]
    NoEpoch,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] Fault),
}

/// A backup whose head was read; its tables follow.
pub struct Archive<'a> {
    head: Head,
    lines: Lines<'a>,
    next: Mark,
}

impl<'a> Archive<'a> {
    /// Reads the head, for a store whose schema has version `known`.
    ///
    /// # Errors
    /// When it is no backup, or one of a newer version.
    pub fn open(file: &'a mut dyn BufRead, known: u32) -> Result<Self, RestoreError> {
        let mut lines = Lines { file, number: 0, text: String::new() };
        let (head, next) = read_head(&mut lines, known)?;
        Ok(Self { head, lines, next })
    }

    /// Header of the backup.
    #[must_use]
    pub fn head(&self) -> &Head {
        &self.head
    }

    /// Fills an empty store; `progress` is told of each table and its rows so far. Answers what each table holds now,
    /// compared with the file.
    ///
    /// # Errors
    /// When the file is not whole, or the store is not empty or fails. The caller then gives the transaction up.
    pub fn restore(
        self,
        target: &mut dyn Whole,
        progress: &mut dyn FnMut(&'static str, u64),
    ) -> Result<Vec<Tally>, RestoreError> {
        if !is_empty(target.sql())? {
            return Err(RestoreError::NotEmpty);
        }
        let Self { head, mut lines, mut next } = self;
        let known = tables_of(head.schema);
        let (mut shapes, mut tallies) = (Vec::new(), Vec::new());
        let rows = loop {
            match next {
                Mark::Table { table, columns } => {
                    let shape = shape_of(&known, &table, &columns).map_err(|what| lines.senseless(what))?;
                    shapes.push(shape);
                    tallies.push(read_table(&mut lines, shape, target, progress)?);
                }
                Mark::Complete { rows, .. } => break rows,
                _ => return Err(lines.senseless("a table or the end is missing here".into())),
            }
            next = lines.mark()?;
        };
        let sum: u64 = tallies.iter().map(|tally| tally.rows).sum();
        if tallies.len() != known.len() || sum != rows {
            return Err(lines.senseless("a table is missing".into()));
        }
        shapes.into_iter().zip(&tallies).try_for_each(|(shape, wanted)| compare(target, shape, wanted))?;
        Ok(tallies)
    }
}

/// A line that is no row.
#[derive(Deserialize)]
#[serde(untagged)]
enum Mark {
    Head {
        muster_backup: u32,
        schema: u32,
    },
    Secret {
        secret: String,
        value: String,
    },
    Table {
        table: String,
        columns: Vec<String>,
    },
    End {
        end: String,
        rows: u64,
        sha256: String,
    },
    Complete {
        #[serde(rename = "complete")]
        _complete: bool,
        rows: u64,
    },
}

struct Lines<'a> {
    file: &'a mut dyn BufRead,
    number: u64,
    text: String,
}

impl Lines<'_> {
    fn next(&mut self) -> Result<&str, RestoreError> {
        self.text.clear();
        self.number += 1;
        let mut bounded = Read::take(&mut *self.file, LINE_BYTES_MAX);
        match bounded.read_line(&mut self.text) {
            Err(error) if error.kind() == io::ErrorKind::InvalidData => Err(RestoreError::NoText),
            Err(error) => Err(error.into()),
            Ok(0) => Err(self.senseless("the file ends here, and is not whole".into())),
            Ok(_) if !self.text.ends_with('\n') => {
                Err(self.senseless("the file ends here, and is not whole".into()))
            }
            Ok(_) => Ok(self.text.trim_end_matches('\n')),
        }
    }

    fn mark(&mut self) -> Result<Mark, RestoreError> {
        let read = serde_json::from_str(self.next()?);
        read.map_err(|_| self.senseless("it is no line of a muster backup".into()))
    }

    fn senseless(&self, what: String) -> RestoreError {
        RestoreError::Senseless { line: self.number, what }
    }
}

fn read_head(lines: &mut Lines<'_>, known: u32) -> Result<(Head, Mark), RestoreError> {
    // Whatever is wrong with the first line, the file is most likely another one.
    let first = match lines.mark() {
        Err(RestoreError::Senseless { .. }) => None,
        first => Some(first?),
    };
    let Some(Mark::Head { muster_backup: FORMAT, schema }) = first else {
        return Err(lines.senseless("it is no muster backup, or one of a newer kind".into()));
    };
    if schema > known {
        return Err(RestoreError::TooNew { found: schema, known });
    }
    let mut head = Head { schema, secrets: Vec::new() };
    loop {
        match lines.mark()? {
            Mark::Secret { secret, value } => head.secrets.push((secret, value)),
            other => return Ok((head, other)),
        }
    }
}

fn read_table(
    lines: &mut Lines<'_>,
    shape: &'static TableShape,
    target: &mut dyn Whole,
    progress: &mut dyn FnMut(&'static str, u64),
) -> Result<Tally, RestoreError> {
    let (mut tallying, mut rows, mut count) = (Tallying::new(shape), Vec::with_capacity(ROWS_AT_ONCE), 0);
    loop {
        let is_row = lines.next()?.starts_with('[');
        if is_row {
            let row: Record =
                cell::read(lines.text.trim_end(), shape).map_err(|what| lines.senseless(what))?;
            tallying.take(&row);
            rows.push(row);
        }
        if rows.len() == ROWS_AT_ONCE || !is_row {
            put(target, shape, &rows)?;
            count += rows.len() as u64;
            rows.clear();
            progress(shape.name, count);
        }
        if !is_row {
            break;
        }
    }
    let tally = tallying.finish();
    match serde_json::from_str(lines.text.trim_end()) {
        Ok(Mark::End { end, rows, sha256 })
            if end == shape.name && rows == tally.rows && sha256 == tally.sha256 =>
        {
            Ok(tally)
        }
        _ => {
            Err(lines.senseless(format!("the rows of table {} are not those that were written", shape.name)))
        }
    }
}

/// The tables that a backup of a schema version has. The version before this one is known as well.
fn tables_of(schema: u32) -> Vec<&'static TableShape> {
    let older = if schema == 6 { VERSION_6_TABLES } else { &[] };
    let unchanged = TABLES.iter().filter(|shape| older.iter().all(|older| older.name != shape.name));
    unchanged.chain(older).collect()
}

/// The table of a name, if the columns are those this version knows. Columns that a version added later are missing in
/// a backup of an older version: it is restored by the version that made it, and upgraded.
fn shape_of(
    known: &[&'static TableShape],
    table: &str,
    columns: &[String],
) -> Result<&'static TableShape, String> {
    let shape = *known
        .iter()
        .find(|shape| shape.name == table)
        .ok_or_else(|| format!("there is no table {table}"))?;
    let known = shape.columns.iter().map(|column| column.name);
    if known.eq(columns.iter().map(String::as_str)) {
        Ok(shape)
    } else {
        Err(format!(
            "table {table} has other columns; restore with the version that made the backup, then upgrade"
        ))
    }
}

/// Compares the rows of a table with those of the backup; lines of logs are read from their view.
fn compare(target: &mut dyn Whole, shape: &'static TableShape, wanted: &Tally) -> Result<(), RestoreError> {
    let found = tally(target.sql(), shape)?;
    if found == *wanted {
        Ok(())
    } else {
        Err(RestoreError::Unlike { table: wanted.table, found: found.rows, wanted: wanted.rows })
    }
}

/// Raises the epoch of a store that was filled from a backup above all that may have been given since; answers it.
///
/// Workers remember the highest epoch they saw and take no task of an older one, and they may have seen some after the
/// backup was made, or after it was restored before. Terms begin far less often than once in a second, so seconds since
/// 1970 (`now_s`) are above every epoch that was ever given, unless a clock went wrong: a large step must do then.
///
/// # Errors
/// When the store holds no epoch that makes sense, or fails.
pub fn raise_epoch(sql: &dyn Sql, now_s: i64) -> Result<i64, RestoreError> {
    let mut epoch = None;
    sql.each("SELECT value FROM meta WHERE key = 'epoch'", &[], &mut |row| {
        epoch = match row.cell(0)? {
            Value::Integer(epoch) => Some(epoch),
            other => return Err(Fault::corrupt(format!("meta epoch: {other:?}"))),
        };
        Ok(())
    })?;
    let epoch = epoch.filter(|epoch| (0..EPOCH_MAX).contains(epoch)).ok_or(RestoreError::NoEpoch)?;
    let raised = if now_s > epoch { now_s } else { epoch + STEP };
    sql.execute("UPDATE meta SET value = ?1 WHERE key = 'epoch'", &[Value::Integer(raised)])?;
    Ok(raised)
}

/// Rows put at once.
const ROWS_AT_ONCE: usize = 1_000;

/// More than any row may hold.
const LINE_BYTES_MAX: u64 = 1 << 30;

/// More terms than any installation begins between two backups.
const STEP: i64 = 1_000_000;

/// Beyond it, numbers in JSON are not exact everywhere.
const EPOCH_MAX: i64 = 1 << 52;
