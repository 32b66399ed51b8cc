//! The part of every fragment that the merge keeps. Its size does not depend on the number of frames.

use crate::{
    fragment::Fragment,
    name::{self, FragmentName},
    number::{Number, Sum},
    paths::Paths,
    range::FrameRange,
    time_order::Span,
};
use muster_artifacts::ContentHash;
use std::{
    collections::{BTreeMap, HashMap},
    fmt,
    sync::Arc,
};

/// All fragments. [`Table::settle`] sorts them by their frames.
#[derive(Debug, Default)]
pub(crate) struct Table {
    entries: Vec<Entry>,
    /// The statistics of all fragments. Their paths are in a list of their own: pairs would take a fifth more memory.
    numbers: Vec<Number>,
    number_paths: Vec<u32>,
    pub(crate) paths: Paths,
    workers: Names,
    /// The texts of `cameras` and `validationSummary`. Most fragments of a session share them.
    texts: Names,
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
    cameras: u32,
    validation_summary: u32,
    is_named_by_chunk: bool,
    pub(crate) is_replay: bool,
    pub(crate) is_estimated: bool,
    pub(crate) has_frames: bool,
}

/// The name of a fragment's file, built on demand.
pub(crate) struct FileName<'a> {
    worker: &'a str,
    chunk: Option<u64>,
}

impl Table {
    /// Reserves room for `count` fragments. Unused room costs nothing; growing would need the room twice for a while.
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
            cameras: self.texts.number(fragment.cameras.as_deref().unwrap_or(NO_TEXT)),
            validation_summary: self.texts.number(fragment.validation_summary.as_deref().unwrap_or(NO_TEXT)),
            is_named_by_chunk: name.chunk().is_some(),
            is_replay: fragment.replay(),
            is_estimated: fragment.is_estimated || fragment.frames.is_estimated,
            has_frames: !fragment.frames.is_empty(),
        });
    }

    /// Removes fragments that claim the same chunk and sorts the others. Returns the file names and chunks of those removed.
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

    /// Returns the statistics of a whole fragment with the numbers of their paths.
    pub(crate) fn values(&self, entry: &Entry) -> impl Iterator<Item = (u32, Number)> {
        let range = entry.values_from as usize..entry.values_end as usize;
        self.number_paths[range.clone()].iter().copied().zip(self.numbers[range].iter().copied())
    }

    pub(crate) fn worker(&self, entry: &Entry) -> &str {
        self.workers.text(entry.worker)
    }

    /// Returns the text of an entry's `cameras`.
    pub(crate) fn cameras(&self, entry: &Entry) -> Option<&str> {
        Some(self.texts.text(entry.cameras)).filter(|text| *text != NO_TEXT)
    }

    /// Returns the text of an entry's `validationSummary`.
    pub(crate) fn validation_summary(&self, entry: &Entry) -> Option<&str> {
        Some(self.texts.text(entry.validation_summary)).filter(|text| *text != NO_TEXT)
    }

    /// Returns the workers of all entries, sorted.
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

    /// Adds the statistics of a fragment. Statistics that only its frames have are added as their sum.
    fn add_values(&mut self, fragment: &Fragment) {
        if self.numbers.is_empty() {
            // Most fragments of a session have the same statistics.
            let room = self.entries.capacity() * fragment.statistics.len().min(STATISTICS_EXPECTED_MAX);
            self.numbers.reserve(room);
            self.number_paths.reserve(room);
        }
        let paths = self.paths.adopt(&fragment.paths);
        for (path, number) in &fragment.statistics {
            self.add_value(paths[*path as usize], *number);
        }
        let mut sums: BTreeMap<u32, Sum> = BTreeMap::new();
        for (path, number) in fragment.frames.values() {
            sums.entry(*path).or_default().add(*number);
        }
        for (path, _) in &fragment.statistics {
            sums.remove(path);
        }
        for (path, sum) in sums {
            self.add_value(paths[path as usize], sum.number());
        }
    }

    fn add_value(&mut self, path: u32, number: Number) {
        self.numbers.push(number);
        self.number_paths.push(path);
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

/// Texts and the small numbers that stand for them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    numbers: HashMap<Arc<str>, u32>,
    texts: Vec<Arc<str>>,
}

impl Names {
    /// Returns the number of a text, a new one for a new text.
    pub(crate) fn number(&mut self, text: &str) -> u32 {
        if let Some(number) = self.numbers.get(text) {
            return *number;
        }
        let number = u32::try_from(self.texts.len()).expect("no memory holds four billion texts");
        let text: Arc<str> = text.into();
        self.texts.push(Arc::clone(&text));
        self.numbers.insert(text, number);
        number
    }

    /// Returns the text of a number.
    pub(crate) fn text(&self, number: u32) -> &str {
        &self.texts[number as usize]
    }
}

/// Stands for a field that is absent; no JSON text is empty.
const NO_TEXT: &str = "";
/// One fragment alone must not make the table reserve much memory.
const STATISTICS_EXPECTED_MAX: usize = 16;
