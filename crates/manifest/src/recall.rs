//! What the single frames of partly superseded fragments say. Only these fragments are read a second time.

use crate::{
    fragment::{Fragment, Frames},
    merge::{MergeError, Source},
    moment::Span,
    number::Sum,
    range::FrameRange,
    sweep::Piece,
    table::{Entry, Table},
};
use muster_artifacts::ContentHash;
use std::collections::{BTreeMap, HashMap};

/// What was found, by the first frame of a piece and by the place of an entry.
#[derive(Debug, Default)]
pub(crate) struct Recalled {
    pieces: HashMap<u64, Detail>,
    /// The statistics that any frame of an entry has.
    spoken: HashMap<u32, Vec<u32>>,
}

/// What the frames of one piece say.
#[derive(Debug, Default)]
pub(crate) struct Detail {
    pub(crate) span: Option<Span>,
    pub(crate) sums: BTreeMap<u32, Sum>,
}

impl Recalled {
    /// Reads what is needed.
    pub(crate) fn read(table: &Table, pieces: &[Piece], source: &mut dyn Source) -> Result<Self, MergeError> {
        let mut recalled = Self::default();
        let mut partial: Vec<Piece> =
            pieces.iter().filter(|piece| is_partial(table, piece)).copied().collect();
        partial.sort_unstable_by_key(|piece| (piece.entry, piece.range));
        for group in partial.chunk_by(|one, next| one.entry == next.entry) {
            let place = group[0].entry;
            let fragment = read_again(table, &table.entries()[place as usize], source)?;
            recalled.take(table, group, &fragment);
        }
        Ok(recalled)
    }

    /// What the frames of a piece say, where the piece is only a part and the frames are listed.
    pub(crate) fn detail(&self, piece: &Piece) -> Option<&Detail> {
        self.pieces.get(&piece.range.start)
    }

    /// Whether the frames of an entry speak of a statistic.
    pub(crate) fn is_spoken(&self, place: u32, key: u32) -> bool {
        self.spoken.get(&place).is_some_and(|keys| keys.binary_search(&key).is_ok())
    }

    fn take(&mut self, table: &Table, group: &[Piece], fragment: &Fragment) {
        let key = |name: u32| table.keys.known(fragment.names.text(name)).expect("it was read before");
        let mut spoken: Vec<u32> = fragment.frames.values().iter().map(|(name, _)| key(*name)).collect();
        spoken.sort_unstable();
        spoken.dedup();
        for piece in group {
            let sums = sums(&fragment.frames, piece.range, key);
            self.pieces.insert(piece.range.start, Detail { span: fragment.frames.span(piece.range), sums });
        }
        self.spoken.insert(group[0].entry, spoken);
    }
}

fn is_partial(table: &Table, piece: &Piece) -> bool {
    let entry = &table.entries()[piece.entry as usize];
    entry.has_frames && piece.range != entry.range
}

/// Reads a fragment a second time and sees that it is still the same.
fn read_again(table: &Table, entry: &Entry, source: &mut dyn Source) -> Result<Fragment, MergeError> {
    let file = table.file_name(entry).to_string();
    let changed = || MergeError::Changed(file.clone());
    let bytes = source.again(&file).map_err(|_| changed())?;
    if ContentHash::of(&bytes) != entry.hash {
        return Err(changed());
    }
    Fragment::parse(&bytes).map_err(|_| changed())
}

fn sums(frames: &Frames, range: FrameRange, key: impl Fn(u32) -> u32) -> BTreeMap<u32, Sum> {
    let mut sums: BTreeMap<u32, Sum> = BTreeMap::new();
    for (name, number) in frames.within(range).iter().flat_map(|frame| frames.values_of(frame)) {
        sums.entry(key(*name)).or_default().add(*number);
    }
    sums
}
