//! Remembers what was touched lately, in bounded memory.

use std::{collections::HashMap, mem, time::Duration};

/// A map that forgets: what nobody touched for `span` is let go, and what was touched longest ago where room is short.
///
/// There are two generations. Whatever is touched stands in the young one; when that is full or old, it becomes the
/// old one and the one before is dropped whole. So nothing is ever searched for what to drop, however many strangers
/// come.
#[derive(Debug)]
pub(crate) struct Generations<V> {
    young: HashMap<u128, V>,
    old: HashMap<u128, V>,
    /// When the young generation began.
    began: Duration,
    span: Duration,
    entries_max: usize,
}

impl<V: Copy> Generations<V> {
    /// Keeps what was touched for at least `span`, unless more than `entries_max` come.
    pub(crate) fn new(span: Duration, entries_max: usize) -> Self {
        Self { young: HashMap::new(), old: HashMap::new(), began: Duration::ZERO, span, entries_max }
    }

    /// What is remembered under a key.
    pub(crate) fn get(&self, key: u128) -> Option<V> {
        self.young.get(&key).or_else(|| self.old.get(&key)).copied()
    }

    /// Remembers a value under a key.
    pub(crate) fn put(&mut self, key: u128, value: V, now: Duration) {
        let is_full = self.young.len() >= (self.entries_max / 2).max(1) && !self.young.contains_key(&key);
        if is_full || now.saturating_sub(self.began) >= self.span {
            self.old = mem::take(&mut self.young);
            self.began = now;
        }
        self.old.remove(&key);
        self.young.insert(key, value);
    }

    /// Forgets a key.
    pub(crate) fn remove(&mut self, key: u128) {
        self.young.remove(&key);
        self.old.remove(&key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPAN: Duration = Duration::from_secs(10);

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    /// I9: a million strangers find a fixed amount of room.
    #[test]
    fn strangers_do_not_grow_it() {
        let mut map = Generations::new(SPAN, 1000);
        for key in 0..1_000_000 {
            map.put(key, (), Duration::ZERO);
            assert!(map.young.len() + map.old.len() <= 1000);
        }
        assert_eq!(map.get(999_999), Some(()));
        assert_eq!(map.get(0), None);
    }

    #[test]
    fn what_is_touched_stays() {
        let mut map = Generations::new(SPAN, 1000);
        for second in 0..100 {
            map.put(7, second, seconds(second));
            assert_eq!(map.get(7), Some(second));
        }
        map.remove(7);
        assert_eq!(map.get(7), None);
    }

    #[test]
    fn what_nobody_touches_is_let_go_after_its_span_and_not_before() {
        let mut map = Generations::new(SPAN, 1000);
        map.put(1, (), seconds(9));
        map.put(2, (), seconds(10));
        map.put(3, (), seconds(19));
        assert_eq!(map.get(1), Some(()));
        map.put(4, (), seconds(20));
        assert_eq!(map.get(1), None);
        assert_eq!(map.get(2), Some(()));
    }
}
