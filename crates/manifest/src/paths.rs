//! Names of statistics: paths of keys through nested objects, each kept once.

use hashbrown::HashTable;
use std::{
    hash::{BuildHasher, RandomState},
    iter,
};

/// Paths and the small numbers that stand for them.
///
/// A path is the number of its parent and its last key. So no key needs escaping, whatever its text, and a path costs
/// no more memory than its last key.
#[derive(Clone, Debug, Default)]
pub(crate) struct Paths {
    /// A parent comes before its children.
    nodes: Vec<Node>,
    numbers: HashTable<u32>,
    hasher: RandomState,
}

#[derive(Clone, Debug)]
struct Node {
    parent: u32,
    key: Box<str>,
}

impl Paths {
    /// Returns the number of a path, a new one for a new path.
    pub(crate) fn number(&mut self, parent: u32, key: &str) -> u32 {
        if let Some(number) = self.known(parent, key) {
            return number;
        }
        let number = u32::try_from(self.nodes.len()).ok().filter(|number| *number != TOP);
        let number = number.expect("no memory holds four billion paths");
        self.nodes.push(Node { parent, key: key.into() });
        let Self { nodes, numbers, hasher } = self;
        numbers.insert_unique(hasher.hash_one((parent, key)), number, |number| {
            let Node { parent, key } = &nodes[*number as usize];
            hasher.hash_one((parent, &**key))
        });
        number
    }

    /// Returns the number of a path that has one.
    pub(crate) fn known(&self, parent: u32, key: &str) -> Option<u32> {
        let is_it = |number: &u32| {
            let node = &self.nodes[*number as usize];
            node.parent == parent && *node.key == *key
        };
        self.numbers.find(self.hasher.hash_one((parent, key)), is_it).copied()
    }

    /// Returns the parent of a path, [`TOP`] for a key of the outermost object.
    pub(crate) fn parent(&self, number: u32) -> u32 {
        self.nodes[number as usize].parent
    }

    /// Returns the last key of a path.
    pub(crate) fn key(&self, number: u32) -> &str {
        &self.nodes[number as usize].key
    }

    /// Adds all paths of another set. Item `n` of the result is the number here of the path with number `n` there.
    pub(crate) fn adopt(&mut self, other: &Self) -> Vec<u32> {
        let numbers = other.translated(|parent, key| Some(self.number(parent, key)));
        numbers.expect("a new path gets a number")
    }

    /// Returns the same as [`Paths::adopt`] and adds nothing; none if a path is not known here.
    pub(crate) fn numbers_of(&self, other: &Self) -> Option<Vec<u32>> {
        other.translated(|parent, key| self.known(parent, key))
    }

    /// Returns the number elsewhere of each path, as `number_of` tells by the number of its parent there and its key.
    fn translated(&self, mut number_of: impl FnMut(u32, &str) -> Option<u32>) -> Option<Vec<u32>> {
        let mut numbers: Vec<u32> = Vec::with_capacity(self.nodes.len());
        for Node { parent, key } in &self.nodes {
            let parent = if *parent == TOP { TOP } else { numbers[*parent as usize] };
            numbers.push(number_of(parent, key)?);
        }
        Some(numbers)
    }

    /// Writes a path for people, as `"persons"."seated"`. Long keys are cut: they come from outside.
    pub(crate) fn shown(&self, number: u32) -> String {
        let up = |number: &u32| Some(self.parent(*number)).filter(|parent| *parent != TOP);
        let mut keys: Vec<String> =
            iter::successors(Some(number), up).map(|number| cut(self.key(number))).collect();
        keys.reverse();
        keys.join(".")
    }
}

fn cut(key: &str) -> String {
    let beginning: String = key.chars().take(KEY_CHARS_SHOWN).collect();
    let is_cut = beginning.len() < key.len();
    format!("{beginning:?}{}", if is_cut { "…" } else { "" })
}

/// The parent of the keys of the outermost object.
pub(crate) const TOP: u32 = u32::MAX;
const KEY_CHARS_SHOWN: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    /// S21: a path is told from every other path, whatever text its keys have.
    #[test]
    fn paths_are_unambiguous() {
        let mut paths = Paths::default();
        let keys = ["", "a", "b", "a/b", "a.b", "~", "~1", "/", "\"", "."];
        let mut numbers = Vec::new();
        for outer in keys {
            let parent = paths.number(TOP, outer);
            numbers.push(parent);
            numbers.extend(keys.map(|inner| paths.number(parent, inner)));
        }
        let mut distinct = numbers.clone();
        distinct.sort_unstable();
        distinct.dedup();
        assert_eq!(distinct.len(), keys.len() * (keys.len() + 1));
        let a = paths.known(TOP, "a").unwrap();
        let nested = paths.number(a, "b\n");
        assert_eq!((paths.number(a, "b\n"), paths.parent(nested), paths.key(nested)), (nested, a, "b\n"));
        assert_eq!(paths.shown(nested), r#""a"."b\n""#);
        assert_eq!(paths.known(nested, "a"), None);
    }

    /// S21: paths of one fragment keep their meaning among those of all fragments.
    #[test]
    fn paths_are_adopted() {
        let (mut all, mut one) = (Paths::default(), Paths::default());
        all.number(TOP, "x");
        let a = one.number(TOP, "a");
        let b = one.number(a, "b");
        let numbers = all.adopt(&one);
        assert_eq!(all.shown(numbers[b as usize]), r#""a"."b""#);
        assert_eq!((all.adopt(&one), all.numbers_of(&one)), (numbers.clone(), Some(numbers)));
        assert_eq!(one.numbers_of(&all), None);
        assert_eq!(all.shown(all.known(TOP, "x").unwrap()), r#""x""#);
    }
}
