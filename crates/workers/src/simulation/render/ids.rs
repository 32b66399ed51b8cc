//! The ids that persons are given: each once (S12, S13).

use muster_model::IdRange;

/// Ids that were granted and not yet given to anybody.
#[derive(Debug)]
pub(super) struct Purse {
    ranges: Vec<IdRange>,
    chunks: Vec<u64>,
}

impl Purse {
    pub(super) fn new(ids: IdRange) -> Self {
        Self { ranges: vec![ids], chunks: vec![ids.chunk] }
    }

    /// How many are left.
    pub(super) fn left(&self) -> u64 {
        self.ranges.iter().map(|ids| ids.end - ids.start).fold(0, u64::saturating_add)
    }

    /// More were granted.
    pub(super) fn add(&mut self, ids: IdRange) {
        self.ranges.push(ids);
        self.chunks.push(ids.chunk);
    }

    /// Gives out ids that nobody else gets; nothing where there are not as many.
    pub(super) fn take(&mut self, count: u64) -> Option<Vec<u64>> {
        if self.left() < count {
            return None;
        }
        let mut taken = Vec::new();
        while let Some(ids) = self.ranges.first_mut().filter(|_| (taken.len() as u64) < count) {
            let end = ids.end.min(ids.start.saturating_add(count - taken.len() as u64));
            taken.extend(ids.start..end);
            ids.start = end;
            if ids.start == ids.end {
                self.ranges.remove(0);
            }
        }
        Some(taken)
    }

    /// The chunks that ids came from, in order.
    pub(super) fn chunks(&self) -> &[u64] {
        &self.chunks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// S12, S13: an id is given once; when they run out more are needed, and the rest of the first is used up first.
    #[test]
    fn each_id_is_given_once() {
        let mut purse = Purse::new(IdRange { chunk: 1, start: 1, end: 6 });
        assert_eq!(purse.take(2), Some(vec![1, 2]));
        assert_eq!(purse.take(2), Some(vec![3, 4]));
        assert_eq!((purse.take(2), purse.left()), (None, 1));
        purse.add(IdRange { chunk: 4, start: 10, end: 12 });
        assert_eq!(purse.take(3), Some(vec![5, 10, 11]));
        assert_eq!((purse.take(1), purse.take(0)), (None, Some(vec![])));
        assert_eq!(purse.chunks(), [1, 4]);
    }
}
