//! What a look at a source shows, taken in so that no crash loses or doubles any of it (C6, C8).

use crate::{
    Document, Fault, Folder, Id, Place,
    emit::{Emitted, emit},
    folder::sentence,
};
use jiff::Timestamp;
use std::collections::BTreeSet;

/// One thing a source shows: an event, or why it is none.
pub type Notice = Result<Document, String>;

/// What became of what a source showed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Events that nobody had seen.
    pub new: u64,
    /// Events that had been there.
    pub repeated: u64,
    /// What is no event.
    pub refused: u64,
}

/// One reading of a source, from its first page to its last.
///
/// The events come first and the record of the source last: whatever a crash leaves out is read again, and what it
/// repeats has the id of an event that is there. The record also holds the ids of all that the source showed, so that
/// what it still shows when the files of a court are pruned does not become an event once more.
#[derive(Debug)]
pub struct Reading {
    source: Id,
    kept: Option<Document>,
    known: BTreeSet<String>,
    seen: Vec<String>,
    tally: Tally,
}

impl Reading {
    /// Begins with what is kept of the source; a record that is not valid is set apart, and all is read anew.
    pub fn begin(folder: &Folder, source: &Id) -> Result<Self, Fault> {
        let kept = folder.read_or_reject(Place::Sources, source)?;
        let known = kept.as_ref().and_then(|kept| serde_json::from_str(kept.raw("seen")?).ok());
        let (known, seen, tally) = (known.unwrap_or_default(), Vec::new(), Tally::default());
        Ok(Self { source: source.clone(), kept, known, seen, tally })
    }

    /// What became of what was shown so far.
    #[must_use]
    pub const fn tally(&self) -> Tally {
        self.tally
    }

    /// What the last reading that ended kept.
    #[must_use]
    pub const fn kept(&self) -> Option<&Document> {
        self.kept.as_ref()
    }

    /// Takes one page in. What is no event is left out and counted; only the disk can stop this.
    pub fn take(&mut self, folder: &Folder, notices: Vec<Notice>, now: Timestamp) -> Result<(), Fault> {
        for notice in notices {
            match self.take_one(folder, notice, now) {
                Err(Fault::Invalid(reason)) => {
                    let source = self.source.as_str();
                    tracing::warn!(source, reason = sentence(&reason), "what a source showed was refused");
                }
                other => other?,
            }
        }
        Ok(())
    }

    /// Ends the reading: from now on it is known how far the source was read.
    pub fn end(self, folder: &Folder, mut marks: Document) -> Result<Tally, Fault> {
        let mut bytes_left = SEEN_BYTES_MAX;
        let fits = |id: &&String| {
            bytes_left = bytes_left.saturating_sub(id.len() + 3);
            bytes_left > 0
        };
        let seen: Vec<&String> = self.seen.iter().take_while(fits).collect();
        marks.set_raw("seen", serde_json::Value::from_iter(seen.into_iter().cloned()).to_string());
        marks.set_number("refused", self.tally.refused);
        if self.kept.as_ref() != Some(&marks) {
            folder.write(Place::Sources, &self.source, &marks)?;
        }
        let Tally { new, repeated, refused } = self.tally;
        tracing::debug!(source = self.source.as_str(), new, repeated, refused, "a source was read");
        Ok(self.tally)
    }

    /// Takes one thing in; says why where it is no event.
    pub fn take_one(&mut self, folder: &Folder, notice: Notice, now: Timestamp) -> Result<(), Fault> {
        let taken = notice.map_err(Fault::Invalid).and_then(|event| self.count(folder, event, now));
        self.tally.refused += u64::from(matches!(taken, Err(Fault::Invalid(_))));
        taken
    }

    /// One without an id of its own cannot be told from another and is always new.
    fn count(&mut self, folder: &Folder, event: Document, now: Timestamp) -> Result<(), Fault> {
        let id = event.text("id");
        let is_known = id.as_ref().is_some_and(|id| self.known.contains(id));
        if !is_known && matches!(emit(folder, event, now)?, Emitted::New(_)) {
            self.tally.new += 1;
        } else {
            self.tally.repeated += 1;
        }
        self.seen.extend(id);
        Ok(())
    }

    /// Keeps in mind what earlier readings showed, where this one may not have come to its end.
    pub fn keep_known(&mut self) {
        let seen: BTreeSet<&String> = self.seen.iter().collect();
        let more: Vec<String> = self.known.iter().filter(|id| !seen.contains(id)).cloned().collect();
        self.seen.extend(more);
    }
}

/// Half of what a file may hold; sources show the newest first.
const SEEN_BYTES_MAX: usize = crate::FILE_BYTES_MAX / 2;

#[cfg(test)]
mod tests;
