//! S12, S13: ids are granted once, in order, up to multiples of the chunk size.

use crate::frames::state::Allocator;
use muster_model::IdRange;

impl Allocator {
    /// The next ids, at least `count` of them; `None` when there are no more.
    pub(crate) fn next(&self, chunk_size: u64, count: u64) -> Option<IdRange> {
        let size = chunk_size.max(1);
        let least = self.next_id.checked_add(count.max(1))?;
        let end = least.div_ceil(size).saturating_mul(size).min(IDS_END);
        (end >= least).then_some(IdRange { chunk: self.next_chunk, start: self.next_id, end })
    }

    /// Takes note of what was granted.
    pub(crate) fn granted(&mut self, ids: IdRange) {
        self.next_chunk = self.next_chunk.max(ids.chunk + 1);
        self.next_id = self.next_id.max(ids.end);
    }
}

/// Ids are below this: it and all of them fit a signed 64-bit integer, in every store and language.
const IDS_END: u64 = (1 << 63) - 1;

#[cfg(test)]
mod tests {
    use super::*;

    fn grant(allocator: &mut Allocator, count: u64) -> (u64, u64, u64) {
        let ids = allocator.next(1_000_000, count).expect("there are ids");
        allocator.granted(ids);
        (ids.chunk, ids.start, ids.end)
    }

    /// S12: [1, 1000000), [1000000, 2000000), …; a larger request ends at a multiple, too.
    #[test]
    fn ids_are_contiguous_and_cut_at_multiples() {
        let mut allocator = Allocator::default();
        assert_eq!(grant(&mut allocator, 1), (1, 1, 1_000_000));
        assert_eq!(grant(&mut allocator, 1), (2, 1_000_000, 2_000_000));
        assert_eq!(grant(&mut allocator, 1_000_001), (3, 2_000_000, 4_000_000));
        assert_eq!(grant(&mut allocator, 1_000_000), (4, 4_000_000, 5_000_000));
    }

    /// S13: at the end of 2^63 there is a clear no, not a wrap.
    #[test]
    fn there_is_an_end_to_ids() {
        let last = Allocator { next_chunk: 9, next_id: 9_223_372_036_854_775_000 };
        assert_eq!(last.next(1000, 1).map(|ids| ids.end), Some((1 << 63) - 1));
        assert_eq!(last.next(1000, 808), None);
        assert_eq!(last.next(1000, u64::MAX), None);
        assert_eq!(Allocator { next_chunk: 9, next_id: (1 << 63) - 1 }.next(1000, 1), None);
    }
}
