//! Compact containers, so that a command touches few cache lines.
//!
//! With a million devices the engine spends most of its time waiting for memory ([decision 34](../../../../docs/decisions/0034-few-cache-lines-per-command.md)).

use alloc::{collections::VecDeque, vec::Vec};
use core::ops::{Index, IndexMut};
use muster_model::Timestamp;

/// A set in ascending order, in one piece of memory.
///
/// Meant for sets that belong to one worker. A tree would spread them over many cache lines; here a look-up touches few.
/// A change at either end takes constant time; a change in the middle moves the shorter side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SortedDeque<T>(VecDeque<T>);

impl<T> Default for SortedDeque<T> {
    fn default() -> Self {
        Self(VecDeque::new())
    }
}

impl<T: Ord> SortedDeque<T> {
    /// Adds an item; returns false if it is there already.
    pub(crate) fn insert(&mut self, item: T) -> bool {
        if self.0.back().is_none_or(|last| *last < item) {
            self.0.push_back(item);
            return true;
        }
        match self.0.binary_search(&item) {
            Ok(_) => false,
            Err(place) => {
                self.0.insert(place, item);
                true
            }
        }
    }

    /// Takes an item out; returns false if it is not there.
    pub(crate) fn remove(&mut self, item: &T) -> bool {
        if self.0.front().is_some_and(|first| first == item) {
            return self.0.pop_front().is_some();
        }
        self.0.binary_search(item).is_ok_and(|place| self.0.remove(place).is_some())
    }

    pub(crate) fn contains(&self, item: &T) -> bool {
        self.0.binary_search(item).is_ok()
    }

    /// The first item greater than `item`, which need not be in the set.
    pub(crate) fn after(&self, item: &T) -> Option<&T> {
        // The common answer needs no search, which would touch more cache lines.
        if self.0.back().is_none_or(|last| last <= item) {
            return None;
        }
        self.0.get(self.0.partition_point(|known| known <= item))
    }

    pub(crate) fn retain(&mut self, keep: impl FnMut(&T) -> bool) {
        self.0.retain(keep);
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}

impl<T> SortedDeque<T> {
    pub(crate) fn first(&self) -> Option<&T> {
        self.0.front()
    }

    pub(crate) fn iter(&self) -> alloc::collections::vec_deque::Iter<'_, T> {
        self.0.iter()
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<T: Ord> FromIterator<T> for SortedDeque<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        let mut sorted = Self::default();
        for item in items {
            sorted.insert(item);
        }
        sorted
    }
}

impl<'a, T> IntoIterator for &'a SortedDeque<T> {
    type Item = &'a T;
    type IntoIter = alloc::collections::vec_deque::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// A set of marked items that is read once per batch.
///
/// A command marks several items, often the same one repeatedly. Items are appended, then sorted and deduplicated when
/// they are taken.
#[derive(Clone, Debug)]
pub(crate) struct Marks<T>(Vec<T>);

impl<T> Default for Marks<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T: Ord> Marks<T> {
    pub(crate) fn insert(&mut self, item: T) {
        if self.0.last() == Some(&item) {
            return;
        }
        if self.0.len() == self.0.capacity() {
            self.make_room();
        }
        self.0.push(item);
    }

    /// Takes all items, in ascending order and without repeats.
    pub(crate) fn take(&mut self) -> Vec<T> {
        self.sort();
        core::mem::take(&mut self.0)
    }

    /// Drops repeats before the list grows, so that it is never much longer than the set of items.
    fn make_room(&mut self) {
        self.sort();
        if self.0.len() > self.0.capacity() / 2 {
            self.0.reserve(self.0.capacity());
        }
    }

    fn sort(&mut self) {
        self.0.sort_unstable();
        self.0.dedup();
    }
}

/// A list that grows in chunks and never moves its items: no command waits while millions of them are copied, and at
/// most one chunk has spare room.
#[derive(Clone, Debug)]
pub(crate) struct Chunks<T> {
    chunks: Vec<Vec<T>>,
    len: usize,
}

impl<T> Default for Chunks<T> {
    fn default() -> Self {
        Self { chunks: Vec::new(), len: 0 }
    }
}

impl<T> Chunks<T> {
    pub(crate) fn push(&mut self, item: T) {
        if self.len.is_multiple_of(CHUNK_ITEMS) {
            // The first chunk grows as it fills, because a small installation needs no other.
            let room = if self.chunks.is_empty() { 0 } else { CHUNK_ITEMS };
            self.chunks.push(Vec::with_capacity(room));
        }
        self.chunks[self.len / CHUNK_ITEMS].push(item);
        self.len += 1;
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.chunks.iter().flatten()
    }

    pub(crate) fn get(&self, place: usize) -> Option<&T> {
        self.chunks.get(place / CHUNK_ITEMS)?.get(place % CHUNK_ITEMS)
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }
}

impl<T> Index<usize> for Chunks<T> {
    type Output = T;

    fn index(&self, place: usize) -> &T {
        &self.chunks[place / CHUNK_ITEMS][place % CHUNK_ITEMS]
    }
}

impl<T> IndexMut<usize> for Chunks<T> {
    fn index_mut(&mut self, place: usize) -> &mut T {
        &mut self.chunks[place / CHUNK_ITEMS][place % CHUNK_ITEMS]
    }
}

/// An optional time in 8 bytes; an `Option<Timestamp>` takes 16.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MaybeTime(i64);

impl MaybeTime {
    pub(crate) const NONE: Self = Self(i64::MIN);

    pub(crate) fn get(self) -> Option<Timestamp> {
        self.is_some().then_some(Timestamp(self.0))
    }

    pub(crate) fn is_some(self) -> bool {
        self != Self::NONE
    }
}

impl From<Timestamp> for MaybeTime {
    fn from(time: Timestamp) -> Self {
        Self(time.0.max(i64::MIN + 1))
    }
}

impl From<Option<Timestamp>> for MaybeTime {
    fn from(time: Option<Timestamp>) -> Self {
        time.map_or(Self::NONE, Self::from)
    }
}

const CHUNK_ITEMS: usize = 1024;

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeSet;

    #[test]
    fn a_sorted_deque_is_a_set_in_order() {
        let (mut sorted, mut tree) = (SortedDeque::default(), BTreeSet::new());
        let mut number = 1u32;
        for step in 0..2000 {
            number = number.wrapping_mul(1_103_515_245).wrapping_add(12_345);
            let item = (number >> 16) % 64;
            match step % 3 {
                0 => assert_eq!(sorted.remove(&item), tree.remove(&item)),
                _ => assert_eq!(sorted.insert(item), tree.insert(item)),
            }
            assert!(sorted.iter().eq(&tree));
            assert_eq!(sorted.first(), tree.first());
            assert_eq!(sorted.contains(&item), tree.contains(&item));
            assert_eq!(sorted.after(&item), tree.range(item + 1..).next());
        }
    }

    #[test]
    fn marks_are_taken_once_and_in_order() {
        let mut marks = Marks::default();
        for round in 0..100u32 {
            for item in [7, 7, 3, round % 5, 7] {
                marks.insert(item);
            }
        }
        assert!(marks.0.len() < 64);
        assert_eq!(marks.take(), [0, 1, 2, 3, 4, 7]);
        assert_eq!(marks.take(), []);
    }

    #[test]
    fn chunks_hold_items_in_the_order_they_came() {
        let mut chunks = Chunks::default();
        for item in 0..3 * CHUNK_ITEMS + 7 {
            chunks.push(item);
        }
        chunks[CHUNK_ITEMS] = 0;
        assert_eq!(chunks.len(), 3 * CHUNK_ITEMS + 7);
        assert_eq!((chunks[CHUNK_ITEMS - 1], chunks[CHUNK_ITEMS], chunks[2 * CHUNK_ITEMS]), (1023, 0, 2048));
        assert_eq!(chunks.iter().last(), Some(&(3 * CHUNK_ITEMS + 6)));
    }

    #[test]
    fn a_missing_time_is_told_from_every_time() {
        assert_eq!(MaybeTime::from(None).get(), None);
        for time in [0, -1, i64::MAX, i64::MIN + 1].map(Timestamp) {
            assert_eq!(MaybeTime::from(Some(time)).get(), Some(time));
        }
        assert!(MaybeTime::from(Timestamp(i64::MIN)).is_some());
    }
}
