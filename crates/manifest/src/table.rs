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
    /// The statistics of all fragments, and beside each the number of its name: together they would take a fifth more.
    numbers: Vec<Number>,
    names: Vec<u32>,
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
    values_from: u32,
    values_end: u32,
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
    /// Makes room for so many. What is not used later costs nothing; growing would for a while need room twice.
    pub(crate) fn with_room_for(count: usize) -> Self {
        Self { entries: Vec::with_capacity(count), ..Self::default() }
    }

    pub(crate) fn add(&mut self, name: &FragmentName, fragment: &Fragment, hash: ContentHash) {
        let values_from = self.values_end();
        self.add_values(fragment);
        self.entries.push(Entry {
            range: fragment.frame_range(),
            chunk: fragment.chunk(),
            hash,
            span: fragment.frames.span(fragment.frame_range()).map(Box::new),
            values_from,
            values_end: self.values_end(),
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

    /// The statistics of a whole fragment, by the numbers of their names.
    pub(crate) fn values(&self, entry: &Entry) -> impl Iterator<Item = (u32, Number)> {
        let range = entry.values_from as usize..entry.values_end as usize;
        self.names[range.clone()].iter().copied().zip(self.numbers[range].iter().copied())
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
        if self.numbers.is_empty() {
            // Fragments of one session mostly have the same statistics.
            let room = self.entries.capacity() * fragment.statistics.len().min(STATISTICS_EXPECTED_MAX);
            self.numbers.reserve(room);
            self.names.reserve(room);
        }
        for (name, number) in &fragment.statistics {
            self.add_value(fragment.names.text(*name), *number);
        }
        let mut sums: BTreeMap<u32, Sum> = BTreeMap::new();
        for (name, number) in fragment.frames.values() {
            sums.entry(*name).or_default().add(*number);
        }
        for (name, _) in &fragment.statistics {
            sums.remove(name);
        }
        for (name, sum) in sums {
            self.add_value(fragment.names.text(name), sum.number());
        }
    }

    fn add_value(&mut self, name: &str, number: Number) {
        self.numbers.push(number);
        self.names.push(self.keys.number(name));
    }

    fn values_end(&self) -> u32 {
        u32::try_from(self.numbers.len()).expect("no memory holds four billion statistics")
    }
}

impl fmt::Display for FileName<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        name::write(f, self.worker, self.chunk)
    }
}

/// Memory is not taken on the word of one fragment.
const STATISTICS_EXPECTED_MAX: usize = 16;
