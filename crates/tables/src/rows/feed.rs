//! Table `feed`: one row per batch.
//!
//! The body holds the entries one after the other as `<bytes of kind> <bytes of body> <kind> <body>`
//! and a line feed: readable, and exact whatever the texts hold.

use super::{integer, one, put_one};
use crate::{
    fault::Fault,
    fields::Fields,
    shape::{Put, TableShape, Update, number, text},
    sql::{Cells, Sink, Sql},
};
use muster_store::FeedEntry;
use std::fmt::Write as _;

/// The entries of one batch, as a row.
pub(crate) struct Run {
    first_seq: u64,
    count: u64,
    body: String,
}

impl Run {
    /// The entries after a number.
    pub(crate) fn entries_after(&self, after: u64) -> Result<Vec<FeedEntry>, Fault> {
        let mut rest = self.body.as_str();
        let mut entries = Vec::new();
        for seq in self.first_seq..self.first_seq + self.count {
            let (kind, body, tail) = split_entry(rest)
                .ok_or_else(|| Fault::corrupt(format!("feed {}: body of entry {seq}", self.first_seq)))?;
            rest = tail;
            if seq > after {
                entries.push(FeedEntry { seq, kind: kind.to_owned(), body: body.to_owned() });
            }
        }
        Ok(entries)
    }
}

/// What [`read`] expects, in its order.
pub(crate) const COLUMNS: &str = "first_seq, count, body";

/// Adds the entries of a batch.
pub(crate) fn write(sink: &mut dyn Sink, entries: &[FeedEntry], at: i64) -> Result<(), Fault> {
    let Some(first) = entries.first() else {
        return Ok(());
    };
    let mut body = String::with_capacity(entries.iter().map(|entry| entry.body.len() + 40).sum());
    for entry in entries {
        let (kind, text) = (&entry.kind, &entry.body);
        writeln!(body, "{} {} {kind} {text}", kind.len(), text.len()).expect("a string takes every text");
    }
    let (first, count) = (integer(first.seq)?, integer(entries.len() as u64)?);
    put_one(sink, &PUT, &[first.into(), count.into(), at.into(), body.as_str().into()])
}

/// Makes a run of a row.
pub(crate) fn read(row: &dyn Cells) -> Result<Run, Fault> {
    let fields = Fields::new("feed", row);
    Ok(Run { first_seq: fields.number(0)?, count: fields.number(1)?, body: fields.text(2)?.to_owned() })
}

/// The last number of the feed that was given out, and when; pruning keeps the row that says so.
///
/// # Errors
/// When the database fails.
pub fn last_of_feed(connection: &dyn Sql) -> Result<(u64, i64), Fault> {
    let sql = "SELECT first_seq, count, at FROM feed ORDER BY first_seq DESC LIMIT 1";
    let last = one(connection, sql, &[], |row| {
        let fields = Fields::new("feed", row);
        let (first, count) = (fields.number::<u64>(0)?, fields.number::<u64>(1)?);
        Ok(((first + count).saturating_sub(1), fields.number(2)?))
    })?;
    Ok(last.unwrap_or_default())
}

fn split_entry(text: &str) -> Option<(&str, &str, &str)> {
    let (kind_len, text) = text.split_once(' ')?;
    let (body_len, text) = text.split_once(' ')?;
    let (kind, text) = text.split_at_checked(kind_len.parse().ok()?)?;
    let (body, text) = text.strip_prefix(' ')?.split_at_checked(body_len.parse().ok()?)?;
    Some((kind, body, text.strip_prefix('\n')?))
}

/// The table.
pub(crate) const TABLE: TableShape = TableShape {
    name: "feed",
    columns: &[number("first_seq"), number("count"), number("at"), text("body")],
    key: &["first_seq"],
    numbered: false,
};

static PUT: Put = TABLE.put(Update::Never);
