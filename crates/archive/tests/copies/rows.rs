//! Rows that are hard to keep, and stores that hold them.

use muster_archive::{Contents, Tally, tally, write};
use muster_store_sqlite::SqliteStore;
use muster_tables::{Fault, Kind, Put, Sql, TABLES, TABLES_VERSION, TableShape, Update, Value, Whole};
use std::ops::Range;

pub(crate) type Failed = Box<dyn std::error::Error>;

pub(crate) fn contents() -> Contents {
    Contents { schema: TABLES_VERSION, secrets: vec![("admin-token".into(), "s3cret-\"quoted\"".into())] }
}

/// Everything: what makes a text hard to keep, in the first rows of each column.
fn value_of(kind: Kind, row: i64, column: usize, texts: &mut String) -> Value<'_> {
    const HARD: [&str; 6] =
        ["", "a\0b", "\u{F8FF}0\u{F8FF}", "line\nend\"\\", "日本語 \u{1F600}", "\u{1}\u{7f}"];
    match kind {
        Kind::Integer if row == 1 => Value::Integer(i64::MAX - column as i64),
        Kind::Integer => Value::Integer(row),
        Kind::Text => {
            texts.clear();
            let hard = HARD[(row as usize + column) % HARD.len()];
            texts.push_str(&format!("{row:05}{hard}"));
            Value::Text(texts)
        }
        Kind::Blob => Value::Blob(&[0, 255, 1, 128][..(row as usize % 4) + 1]),
    }
}

fn put_rows(whole: &mut dyn Whole, shape: &'static TableShape, rows: Range<i64>) -> Result<(), Fault> {
    let put: &'static Put = Box::leak(Box::new(Put {
        table: shape.name,
        columns: shape.columns,
        key: shape.key,
        update: Update::Whole,
    }));
    let (from, mut text) = (rows.start, String::new());
    whole.sink().put(put, (rows.end - from) as usize, &mut |n, row| {
        for (column, about) in shape.columns.iter().enumerate() {
            let is_key = shape.key.contains(&about.name);
            let blob;
            let value = match about.kind {
                // Keys must differ.
                Kind::Integer if is_key => Value::Integer(from + n as i64),
                Kind::Blob if is_key => {
                    blob = (from + n as i64).to_be_bytes();
                    Value::Blob(&blob)
                }
                kind => value_of(kind, from + n as i64, column, &mut text),
            };
            row.value(value);
        }
        Ok(())
    })
}

/// Puts rows into every table that a new store has none in.
pub(crate) fn put_everywhere(whole: &mut dyn Whole, rows: Range<i64>) -> Result<(), Fault> {
    let empty = TABLES.iter().filter(|shape| !["meta", "sim_farm"].contains(&shape.name));
    empty.into_iter().try_for_each(|shape| put_rows(whole, shape, rows.clone()))
}

/// Puts rows into an embedded store.
pub(crate) fn fill(store: &SqliteStore, rows: Range<i64>) {
    let filled = store.fill(|whole| put_everywhere(whole, rows).map_err(Failed::from));
    filled.expect("the rows are put");
}

pub(crate) fn backup(sql: &dyn Sql) -> Result<Vec<u8>, Failed> {
    let mut file = Vec::new();
    write(sql, &contents(), &mut file, &mut |_, _| ())?;
    Ok(file)
}

pub(crate) fn tallies(sql: &dyn Sql) -> Result<Vec<Tally>, Failed> {
    TABLES.iter().map(|shape| tally(sql, shape).map_err(Failed::from)).collect()
}
