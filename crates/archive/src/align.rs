//! Makes one store like another by writing only what differs.

use crate::{
    cell::{Cell, Record},
    walk::{Walk, key_of},
};
use muster_tables::{
    Fault, Put, Sql, TABLES, TableShape, Update, VERSION_6_TABLES, Value, Whole, append_logs, is_log,
};
use std::{cmp::Ordering, sync::LazyLock};

/// Work that was necessary.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Aligned {
    /// Rows looked at.
    pub rows: u64,
    /// Rows that were missing or different.
    pub written: u64,
    /// Rows that were too many.
    pub deleted: u64,
}

/// Differences in a stretch of a table.
#[derive(Default)]
struct Difference {
    missing: Vec<Record>,
    surplus: Vec<Vec<Cell>>,
}

/// Makes the tables of `target` like those that `source` reads; `progress` is told of each table and its rows so far.
///
/// # Errors
/// When a database fails.
pub fn align(
    source: &dyn Sql,
    target: &mut dyn Whole,
    progress: &mut dyn FnMut(&'static str, u64),
) -> Result<Aligned, Fault> {
    let mut aligned = Aligned::default();
    for shape in TABLES {
        let table = align_table(source, target, shape, progress)?;
        aligned.rows += table.rows;
        aligned.written += table.written;
        aligned.deleted += table.deleted;
    }
    Ok(aligned)
}

fn align_table(
    source: &dyn Sql,
    target: &mut dyn Whole,
    shape: &'static TableShape,
    progress: &mut dyn FnMut(&'static str, u64),
) -> Result<Aligned, Fault> {
    let mut wanted = Walk::new(source, shape);
    let (mut after, mut aligned) = (None, Aligned::default());
    loop {
        let page = wanted.page()?;
        // Behind the last page, whatever the target still has is too much.
        let upto = page.last().map(|row| key_of(shape, row));
        aligned.rows += page.len() as u64;
        let found = Walk::between(target.sql(), shape, after, upto.clone());
        let difference = differ(page, found)?;
        aligned.written += difference.missing.len() as u64;
        aligned.deleted += difference.surplus.len() as u64;
        for key in &difference.surplus {
            delete(target, shape, key)?;
        }
        put(target, shape, &difference.missing)?;
        progress(shape.name, aligned.rows);
        if upto.is_none() {
            return Ok(aligned);
        }
        after = upto;
    }
}

/// Compares two stretches in the order of keys.
fn differ(wanted: Vec<Record>, mut found: Walk<'_>) -> Result<Difference, Fault> {
    let shape = found.shape();
    let mut difference = Difference::default();
    let mut next = found.next()?;
    for row in wanted {
        let key = key_of(shape, &row);
        while let Some(other) = next.take_if(|other| order(&key_of(shape, other), &key).is_lt()) {
            difference.surplus.push(key_of(shape, &other));
            next = found.next()?;
        }
        let same_key = next.take_if(|other| key_of(shape, other) == key);
        if same_key.is_some() {
            next = found.next()?;
        }
        if same_key.as_ref() != Some(&row) {
            difference.missing.push(row);
        }
    }
    while let Some(other) = next {
        difference.surplus.push(key_of(shape, &other));
        next = found.next()?;
    }
    Ok(difference)
}

fn order(one: &[Cell], other: &[Cell]) -> Ordering {
    let cells = one.iter().zip(other).map(|(one, other)| one.order(other));
    cells.fold(Ordering::Equal, Ordering::then)
}

/// Puts rows into a table, over what is there.
pub(crate) fn put(target: &mut dyn Whole, shape: &'static TableShape, rows: &[Record]) -> Result<(), Fault> {
    if rows.is_empty() {
        return Ok(());
    }
    if is_log(shape) {
        let rows: Vec<Vec<_>> = rows.iter().map(|row| row.iter().map(Cell::value).collect()).collect();
        return append_logs(target.sql(), &rows);
    }
    target.sink().put(put_of(shape), rows.len(), &mut |place, row| {
        rows[place].iter().for_each(|cell| row.value(cell.value()));
        Ok(())
    })
}

/// Deletes the row with a key.
pub(crate) fn delete(target: &dyn Whole, shape: &'static TableShape, key: &[Cell]) -> Result<(), Fault> {
    let conditions: Vec<String> =
        shape.key.iter().zip(1..).map(|(name, place)| format!("{name} = ?{place}")).collect();
    let params: Vec<Value<'_>> = key.iter().map(Cell::value).collect();
    let sql = format!("DELETE FROM {} WHERE {}", shape.name, conditions.join(" AND "));
    target.sql().execute(&sql, &params).map(|_| ())
}

/// Statement that puts whole rows into a table.
fn put_of(shape: &TableShape) -> &'static Put {
    static PUTS: LazyLock<Vec<Put>> =
        LazyLock::new(|| TABLES.iter().chain(VERSION_6_TABLES).map(whole_rows).collect());
    let is_its = |put: &&Put| put.table == shape.name && put.columns == shape.columns;
    PUTS.iter().find(is_its).expect("each table has one")
}

fn whole_rows(shape: &TableShape) -> Put {
    Put { table: shape.name, columns: shape.columns, key: shape.key, update: Update::Whole }
}
