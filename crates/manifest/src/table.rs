//! What the merge keeps of every fragment: little, and of the same size however many frames it has.

use crate::{
    fragment::Fragment,
    moment::Span,
    name::{self, FragmentName},
    names::Names,
    number::{Number, Sum},
    range::FrameRange,
};
use muster_artifacts::ContentHash;
use std::{collections::BTreeMap, fmt};

/// All fragments; after [`Table::settle`] in the order of their frames.
#[derive(Debug, Default)]
pub(crate) struct Table {
    entries: Vec<Entry>,
    values: Vec<(u32, Number)>,
    pub(crate) keys: Names,
    workers: Names,
}

/// One fragment.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) range: FrameRange,
    pub(crate) chunk: u64,
    pub(crate) hash: ContentHash,
    pub(crate) span: Option<Box<Span>>,
    values_from: usize,
    values_end: usize,
    worker: u32,
    is_named_by_chunk: bool,
    pub(crate) is_replay: bool,
    pub(crate) is_estimated: bool,
    pub(crate) has_frames: bool,
}

/// The name of a fragment's file, put together when it is asked for.
pub(crate) struct FileName<'a> {
    worker: &'a str,
    chunk: Option<u64>,
}

impl Table {
    pub(crate) fn add(&mut self, name: &FragmentName, fragment: &Fragment, hash: ContentHash) {
        let values_from = self.values.len();
        self.add_values(fragment);
        self.entries.push(Entry {
            range: fragment.frame_range(),
            chunk: fragment.chunk(),
            hash,
            span: fragment.frames.span(fragment.frame_range()).map(Box::new),
            values_from,
            values_end: self.values.len(),
            worker: self.workers.number(name.worker()),
            is_named_by_chunk: name.chunk().is_some(),
            is_replay: fragment.replay(),
            is_estimated: fragment.is_estimated || fragment.frames.is_estimated,
            has_frames: !fragment.frames.is_empty(),
        });
    }

    /// Takes out fragments that claim one chunk, and puts the others in order; gives the names and chunks of those out.
    pub(crate) fn settle(&mut self) -> Vec<(String, u64)> {
        self.entries.sort_unstable_by_key(|entry| entry.chunk);
        let twice = |pair: &[Entry]| (pair[0].chunk == pair[1].chunk).then_some(pair[0].chunk);
        let mut contested: Vec<u64> = self.entries.windows(2).filter_map(twice).collect();
        contested.dedup();
        let is_contested = |entry: &Entry| contested.binary_search(&entry.chunk).is_ok();
        let out = self.entries.iter().filter(|entry| is_contested(entry));
        let out = out.map(|entry| (self.file_name(entry).to_string(), entry.chunk)).collect();
        self.entries.retain(|entry| !is_contested(entry));
        self.entries.sort_unstable_by_key(|entry| (entry.range, entry.chunk));
        out
    }

    pub(crate) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The statistics of a whole fragment.
    pub(crate) fn values(&self, entry: &Entry) -> &[(u32, Number)] {
        &self.values[entry.values_from..entry.values_end]
    }

    pub(crate) fn worker(&self, entry: &Entry) -> &str {
        self.workers.text(entry.worker)
    }

    /// The workers of all entries, in the order of their names.
    pub(crate) fn workers(&self) -> Vec<&str> {
        let mut numbers: Vec<u32> = self.entries.iter().map(|entry| entry.worker).collect();
        numbers.sort_unstable();
        numbers.dedup();
        let mut workers: Vec<&str> = numbers.into_iter().map(|number| self.workers.text(number)).collect();
        workers.sort_unstable();
        workers
    }

    pub(crate) fn file_name(&self, entry: &Entry) -> FileName<'_> {
        FileName { worker: self.worker(entry), chunk: entry.is_named_by_chunk.then_some(entry.chunk) }
    }

    /// What only the single frames say is summed up, so that it does not depend on what else is merged.
    fn add_values(&mut self, fragment: &Fragment) {
        for (name, number) in &fragment.statistics {
            self.values.push((self.keys.number(fragment.names.text(*name)), *number));
        }
        let is_said = |name: u32| fragment.statistics.iter().any(|(said, _)| *said == name);
        let mut sums: BTreeMap<u32, Sum> = BTreeMap::new();
        for (name, number) in fragment.frames.values() {
            sums.entry(*name).or_default().add(*number);
        }
        for (name, sum) in sums {
            let key = self.keys.number(fragment.names.text(name));
            if !is_said(name) {
                self.values.push((key, sum.number()));
            }
        }
    }
}

impl fmt::Display for FileName<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        name::write(f, self.worker, self.chunk)
    }
}
