//! Walks through a table in the order of its keys.

use crate::cell::{self, Cell, Record, keep};
use muster_tables::{Fault, Sql, TABLES, TableShape, Value};
use sha2::{Digest, Sha256};
use std::collections::VecDeque;

/// The rows of a table, one after the other, in one state.
pub(crate) struct Walk<'a> {
    sql: &'a dyn Sql,
    shape: &'static TableShape,
    page: VecDeque<Record>,
    /// The key of the last row that was read; `None`: nothing yet.
    after: Option<Key>,
    /// The key of the last row to read; `None`: to the end.
    upto: Option<Key>,
    is_over: bool,
}

/// The values of a row that are its key.
pub(crate) type Key = Vec<Cell>;

/// Number and hash of the rows of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tally {
    /// The table.
    pub table: &'static str,
    /// Its rows.
    pub rows: u64,
    /// SHA-256 of their lines, in the order of their keys, in hexadecimal digits.
    pub sha256: String,
}

/// Counts rows and hashes them as they pass.
pub(crate) struct Tallying {
    table: &'static str,
    rows: u64,
    hash: Sha256,
    line: String,
}

/// Counts and hashes a table.
pub fn tally(sql: &dyn Sql, shape: &'static TableShape) -> Result<Tally, Fault> {
    let (mut walk, mut tallying) = (Walk::new(sql, shape), Tallying::new(shape));
    while let Some(row) = walk.next()? {
        tallying.take(&row);
    }
    Ok(tallying.finish())
}

/// True if a store holds nothing but what a new one holds: rows in none of the tables that work is kept in.
pub fn is_empty(sql: &dyn Sql) -> Result<bool, Fault> {
    for shape in TABLES.iter().filter(|shape| !BORN_FILLED.contains(&shape.name)) {
        if Walk::new(sql, shape).next()?.is_some() {
            return Ok(false);
        }
    }
    Ok(true)
}

impl<'a> Walk<'a> {
    /// All of a table.
    pub(crate) fn new(sql: &'a dyn Sql, shape: &'static TableShape) -> Self {
        Self::between(sql, shape, None, None)
    }

    /// The rows after one key, up to another.
    pub(crate) fn between(
        sql: &'a dyn Sql,
        shape: &'static TableShape,
        after: Option<Key>,
        upto: Option<Key>,
    ) -> Self {
        Self { sql, shape, page: VecDeque::new(), after, upto, is_over: false }
    }

    pub(crate) fn shape(&self) -> &'static TableShape {
        self.shape
    }

    /// The next row, if there is one.
    pub(crate) fn next(&mut self) -> Result<Option<Record>, Fault> {
        if self.page.is_empty() {
            self.turn()?;
        }
        Ok(self.page.pop_front())
    }

    /// The next rows; none: it is over.
    pub(crate) fn page(&mut self) -> Result<Vec<Record>, Fault> {
        if self.page.is_empty() {
            self.turn()?;
        }
        Ok(self.page.drain(..).collect())
    }

    fn turn(&mut self) -> Result<(), Fault> {
        if self.is_over {
            return Ok(());
        }
        let bounds = [self.after.as_ref(), self.upto.as_ref()];
        let params: Vec<Value<'_>> = bounds.into_iter().flatten().flatten().map(Cell::value).collect();
        let sql = select(self.shape, bounds.map(|bound| bound.is_some()));
        let (page, columns) = (&mut self.page, self.shape.columns.len());
        self.sql.each(&sql, &params, &mut |row| {
            page.push_back(keep(row, columns)?);
            Ok(())
        })?;
        self.is_over = self.page.len() < PAGE_ROWS;
        if let Some(last) = self.page.back() {
            self.after = Some(key_of(self.shape, last));
        }
        Ok(())
    }
}

impl Tallying {
    pub(crate) fn new(shape: &TableShape) -> Self {
        Self { table: shape.name, rows: 0, hash: Sha256::new(), line: String::new() }
    }

    /// Counts a row; answers the line that stands for it.
    pub(crate) fn take(&mut self, row: &[Cell]) -> &str {
        self.line.clear();
        cell::push(row, &mut self.line);
        self.line.push('\n');
        self.rows += 1;
        self.hash.update(self.line.as_bytes());
        &self.line
    }

    pub(crate) fn finish(self) -> Tally {
        let sha256 = self.hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        Tally { table: self.table, rows: self.rows, sha256 }
    }
}

/// The key of a row.
pub(crate) fn key_of(shape: &TableShape, row: &[Cell]) -> Key {
    shape.key.iter().map(|name| row[place_of(shape, name)].clone()).collect()
}

fn place_of(shape: &TableShape, name: &str) -> usize {
    shape.columns.iter().position(|column| column.name == name).expect("a key is made of columns")
}

fn select(shape: &TableShape, [is_after, is_upto]: [bool; 2]) -> String {
    let columns: Vec<&str> = shape.columns.iter().map(|column| column.name).collect();
    let (columns, key) = (columns.join(", "), shape.key.join(", "));
    let mut place = 0;
    let bounds = [(is_after, ">"), (is_upto, "<=")].map(|(is_there, sign)| {
        is_there.then(|| {
            let values: Vec<String> = shape
                .key
                .iter()
                .map(|_| {
                    place += 1;
                    format!("?{place}")
                })
                .collect();
            format!("({key}) {sign} ({})", values.join(", "))
        })
    });
    let bounds: Vec<String> = bounds.into_iter().flatten().collect();
    let condition =
        if bounds.is_empty() { String::new() } else { format!("WHERE {} ", bounds.join(" AND ")) };
    format!("SELECT {columns} FROM {} {condition}ORDER BY {key} LIMIT {PAGE_ROWS}", shape.name)
}

/// Few enough to be held, even where rows are long.
const PAGE_ROWS: usize = 1_000;

/// Tables that have rows in a new store.
const BORN_FILLED: [&str; 2] = ["meta", "sim_farm"];
