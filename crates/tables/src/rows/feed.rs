//! Table `feed`: one row per batch.
//!
//! The body holds the entries one after the other as `<bytes of kind> <bytes of body> <kind> <body>`
//! and a line feed: readable, and exact whatever the texts hold.

use crate::{
    record::{row, table, write as write_row},
    sql::{Fault, Fields, Sink, Sql},
};
use muster_store::{Batch, FeedEntry, StoreError, continue_feed};
use std::{fmt::Write as _, sync::Arc};

/// The entries of one batch.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct FeedRow {
    first_seq: u64,
    count: u64,
    at: i64,
    body: Box<str>,
}

table! {
    FeedRow in "feed", key ["first_seq"], put Never {
        first_seq: Number("first_seq"),
        count: Number("count"),
        at: Number("at"),
        body: Text("body"),
    }
}

impl FeedRow {
    /// The entries after a number.
    pub(crate) fn entries_after(&self, after: u64) -> Result<Vec<Arc<FeedEntry>>, Fault> {
        let mut rest = &*self.body;
        let mut entries = Vec::new();
        for seq in self.first_seq..self.first_seq + self.count {
            let (kind, body, tail) = split_entry(rest)
                .ok_or_else(|| Fault::corrupt(format!("feed {}: body of entry {seq}", self.first_seq)))?;
            rest = tail;
            if seq > after {
                let entry = FeedEntry { seq, kind: kind.to_owned().into(), body: body.to_owned() };
                entries.push(Arc::new(entry));
            }
        }
        Ok(entries)
    }
}

/// Adds the entries of a batch.
pub(crate) fn write(sink: &mut dyn Sink, entries: &[Arc<FeedEntry>], at: i64) -> Result<(), Fault> {
    let Some(first) = entries.first() else {
        return Ok(());
    };
    let mut body = String::with_capacity(entries.iter().map(|entry| entry.body.len() + 40).sum());
    for entry in entries {
        let (kind, text) = (&entry.kind, &entry.body);
        writeln!(body, "{} {} {kind} {text}", kind.len(), text.len()).expect("a string takes every text");
    }
    write_row(sink, &FeedRow { first_seq: first.seq, count: entries.len() as u64, at, body: body.into() })
}

/// The end of the feed: the last number that was given out, and the moment of its batch.
#[derive(Clone, Copy, Debug, Default)]
pub struct FeedEnd {
    /// The last number.
    pub seq: u64,
    /// The moment, in milliseconds; batches that carry no moment of their own are dated with it.
    pub at: i64,
}

impl FeedEnd {
    /// The end of the feed once a batch is durable.
    ///
    /// # Errors
    /// When the batch does not continue the feed.
    pub fn after(self, batch: &Batch) -> Result<Self, StoreError> {
        let seq = continue_feed(self.seq, &batch.feed)?;
        Ok(Self { seq, at: batch.moment().map_or(self.at, |at| at.0) })
    }
}

/// Reads the end of the feed; pruning keeps the row that has it.
pub fn last_of_feed(connection: &dyn Sql) -> Result<FeedEnd, Fault> {
    let sql = "SELECT first_seq, count, at FROM feed ORDER BY first_seq DESC LIMIT 1";
    let last = row(connection, sql, &[], |row| {
        let fields = Fields::new("feed", row);
        let (first, count) = (fields.number::<u64>(0)?, fields.number::<u64>(1)?);
        Ok(FeedEnd { seq: (first + count).saturating_sub(1), at: fields.number(2)? })
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
