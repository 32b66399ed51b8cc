//! Statistics and timestamps of the frames of partly superseded fragments. Only these fragments are read a second time.

use crate::{
    fragment::{Fragment, Frames},
    merge::{MergeError, Source},
    number::Sum,
    range::FrameRange,
    sweep::Piece,
    table::{Entry, Table},
    time_order::Span,
};
use muster_artifacts::ContentHash;
use std::collections::{BTreeMap, HashMap};

/// The details of all pieces that are parts of fragments.
#[derive(Debug, Default)]
pub(crate) struct Recalled {
    /// By the first frame of the piece.
    pieces: HashMap<u64, Detail>,
    /// The paths of the statistics that any frame of an entry has, by the place of the entry.
    frame_paths: HashMap<u32, Vec<u32>>,
}

/// The time span and the sums of the frames of one piece.
#[derive(Debug, Default)]
pub(crate) struct Detail {
    pub(crate) span: Option<Span>,
    pub(crate) sums: BTreeMap<u32, Sum>,
}

impl Recalled {
    /// Reads the partly superseded fragments that list their frames again.
    ///
    /// # Errors
    /// If a fragment has changed or is gone.
    pub(crate) fn read(table: &Table, pieces: &[Piece], source: &mut dyn Source) -> Result<Self, MergeError> {
        let mut recalled = Self::default();
        let mut partial: Vec<Piece> =
            pieces.iter().filter(|piece| is_partial(table, piece)).copied().collect();
        partial.sort_unstable_by_key(|piece| (piece.entry, piece.range));
        for group in partial.chunk_by(|one, next| one.entry == next.entry) {
            let place = group[0].entry;
            let fragment = read_again(table, &table.entries()[place as usize], source)?;
            let paths = table
                .paths
                .numbers_of(&fragment.paths)
                .expect("its paths were adopted when it was first read");
            recalled.add(group, &fragment, &paths);
        }
        Ok(recalled)
    }

    /// Returns the detail of a piece; none if the piece is a whole fragment or its fragment lists no frames.
    pub(crate) fn detail(&self, piece: &Piece) -> Option<&Detail> {
        self.pieces.get(&piece.range.start)
    }

    /// Returns true if any frame of an entry has a statistic.
    pub(crate) fn has_frames_with(&self, place: u32, path: u32) -> bool {
        self.frame_paths.get(&place).is_some_and(|paths| paths.binary_search(&path).is_ok())
    }

    fn add(&mut self, group: &[Piece], fragment: &Fragment, paths: &[u32]) {
        let values = fragment.frames.values().iter();
        let mut frame_paths: Vec<u32> = values.map(|(path, _)| paths[*path as usize]).collect();
        frame_paths.sort_unstable();
        frame_paths.dedup();
        for piece in group {
            let sums = sums(&fragment.frames, piece.range, paths);
            self.pieces.insert(piece.range.start, Detail { span: fragment.frames.span(piece.range), sums });
        }
        self.frame_paths.insert(group[0].entry, frame_paths);
    }
}

fn is_partial(table: &Table, piece: &Piece) -> bool {
    let entry = &table.entries()[piece.entry as usize];
    entry.has_frames && piece.range != entry.range
}

/// Reads a fragment a second time and checks that it is the same.
fn read_again(table: &Table, entry: &Entry, source: &mut dyn Source) -> Result<Fragment, MergeError> {
    let file = table.file_name(entry).to_string();
    let changed = || MergeError::Changed(file.clone());
    let bytes = source.again(&file).map_err(|_| changed())?;
    if ContentHash::of(&bytes) != entry.hash {
        return Err(changed());
    }
    Fragment::parse(&bytes).map_err(|_| changed())
}

fn sums(frames: &Frames, range: FrameRange, paths: &[u32]) -> BTreeMap<u32, Sum> {
    let mut sums: BTreeMap<u32, Sum> = BTreeMap::new();
    for (path, number) in frames.within(range).iter().flat_map(|frame| frames.values_of(frame)) {
        sums.entry(paths[*path as usize]).or_default().add(*number);
    }
    sums
}
