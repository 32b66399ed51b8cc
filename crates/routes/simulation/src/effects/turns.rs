//! One at a time: work about one thing is never done by two at once, and what is asked for again meanwhile is done once
//! more, however often it was asked for.

use std::{
    collections::HashMap,
    hash::Hash,
    sync::{Mutex, MutexGuard, PoisonError},
};

/// What is wanted about one thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Wish {
    /// The newest term that wants it.
    pub(super) epoch: u64,
    /// The manifest, too: the newest mark that one was asked for with.
    pub(super) merge: Option<u64>,
}

/// Who is at what. A key is there while somebody is; a wish of `None`: nobody asked since.
#[derive(Debug)]
pub(super) struct Turns<K>(Mutex<HashMap<K, Option<Wish>>>);

impl<K: Clone + Eq + Hash> Turns<K> {
    /// Notes a wish; true for whoever must now do it, and go on until [`Self::take`] gives none.
    pub(super) fn begin(&self, key: &K, wish: Wish) -> bool {
        let mut wishes = self.lock();
        let earlier = wishes.get(key).copied();
        let open = earlier.flatten();
        let merge = wish.merge.max(open.and_then(|open| open.merge));
        let epoch = open.map_or(wish.epoch, |open| open.epoch.max(wish.epoch));
        wishes.insert(key.clone(), Some(Wish { epoch, merge }));
        earlier.is_none()
    }

    /// What is wanted now; with none, whoever asks next begins.
    pub(super) fn take(&self, key: &K) -> Option<Wish> {
        let mut wishes = self.lock();
        let wish = wishes.get_mut(key).and_then(Option::take);
        if wish.is_none() {
            wishes.remove(key);
        }
        wish
    }

    /// Whether somebody asked since the last [`Self::take`].
    pub(super) fn is_wanted(&self, key: &K) -> bool {
        self.lock().get(key).copied().flatten().is_some()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<K, Option<Wish>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K> Default for Turns<K> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// S21: what is asked for while it is done is done once more, with all that was wanted.
    #[test]
    fn wishes_are_gathered() {
        let turns = Turns::default();
        let wish = |epoch, merge| Wish { epoch, merge };
        assert!(turns.begin(&7, wish(1, None)) && turns.is_wanted(&7));
        assert_eq!(turns.take(&7), Some(wish(1, None)));
        assert!(!turns.is_wanted(&7));
        assert!(!turns.begin(&7, wish(1, Some(4))) && !turns.begin(&7, wish(2, None)), "somebody is at it");
        assert!(turns.begin(&8, wish(1, None)), "at another");
        assert_eq!(turns.take(&7), Some(wish(2, Some(4))));
        assert!(!turns.begin(&7, wish(3, None)) && !turns.begin(&7, wish(2, Some(4))), "a merge stays due");
        assert_eq!(turns.take(&7), Some(wish(3, Some(4))));
        assert_eq!(turns.take(&7), None);
        assert!(turns.begin(&7, wish(2, None)), "nobody is at it any more");
    }
}
