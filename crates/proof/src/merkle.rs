//! Merkle trees as in RFC 6962, section 2.1, over SHA-256: one hash stands for many leaves in their order, and a short path
//! proves that one of them is among these (P20).

use sha2::{Digest, Sha256};
use std::ops::Range;

/// A hash of the tree.
pub type Hash = [u8; 32];

/// Hashes the data of a leaf. Leaves and inner nodes have different prefixes, so that neither passes for the other.
pub fn leaf_hash(data: &[u8]) -> Hash {
    Sha256::new().chain_update([0]).chain_update(data).finalize().into()
}

fn node_hash(left: &Hash, right: &Hash) -> Hash {
    Sha256::new().chain_update([1]).chain_update(left).chain_update(right).finalize().into()
}

/// The tree over some leaves, with all of its inner nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MerkleTree {
    /// Number of leaves.
    count: usize,
    /// Level by level, from the leaves to the root. A node without a right neighbour moves up unchanged, which gives the same
    /// tree as the RFC's split at the largest power of two.
    nodes: Vec<Hash>,
}

impl MerkleTree {
    /// Builds the tree over the hashes of the leaves, in one allocation.
    pub fn new(leaves: impl IntoIterator<Item = Hash, IntoIter: ExactSizeIterator>) -> Self {
        let leaves = leaves.into_iter();
        let count = leaves.len();
        let mut nodes = Vec::with_capacity(levels(count).map(|level| level.len()).sum());
        nodes.extend(leaves);
        for below in levels(count).take_while(|level| level.len() > 1) {
            for left in below.clone().step_by(2) {
                let right = Some(left + 1).filter(|right| below.contains(right));
                nodes.push(right.map_or(nodes[left], |right| node_hash(&nodes[left], &nodes[right])));
            }
        }
        Self { count, nodes }
    }

    /// The hash of the whole tree; without leaves it is that of nothing.
    pub fn root(&self) -> Hash {
        self.nodes.last().copied().unwrap_or_else(|| Sha256::digest([]).into())
    }

    /// The path of a leaf: the neighbours of the nodes from the leaf up to the root. `None` if there is no such leaf.
    pub fn path(&self, index: usize) -> Option<Vec<Hash>> {
        let mut place = Some(index).filter(|index| *index < self.count)?;
        let mut path = Vec::with_capacity(levels(self.count).count() - 1);
        for level in levels(self.count) {
            path.extend(self.nodes[level].get(place ^ 1));
            place /= 2;
        }
        Some(path)
    }
}

/// The places of the nodes, level by level from the leaves to the root.
fn levels(count: usize) -> impl Iterator<Item = Range<usize>> {
    let above = |below: &Range<usize>| {
        let has_more = below.len() > 1;
        has_more.then(|| below.end..below.end + below.len().div_ceil(2))
    };
    std::iter::successors(Some(0..count), above)
}

/// Computes the root to which a path leads from the leaf at `index` of `count` leaves. `None` if there is no such leaf, or if
/// its path has another length.
pub fn root_of_path(leaf: Hash, index: u64, count: u64, path: &[Hash]) -> Option<Hash> {
    let mut rest = path.iter();
    let (mut node, mut place, mut last) = (leaf, index, count.checked_sub(1)?);
    if place > last {
        return None;
    }
    while last > 0 {
        if place % 2 == 1 {
            node = node_hash(rest.next()?, &node);
        } else if place < last {
            node = node_hash(&node, rest.next()?);
        }
        (place, last) = (place / 2, last / 2);
    }
    rest.next().is_none().then_some(node)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hex;
    use proptest::prelude::*;

    /// The leaves that the reference implementation of Certificate Transparency tests with.
    const LEAVES: [&[u8]; 8] = [
        b"",
        b"\x00",
        b"\x10",
        b"\x20\x21",
        b"\x30\x31",
        b"\x40\x41\x42\x43",
        b"\x50\x51\x52\x53\x54\x55\x56\x57",
        b"\x60\x61\x62\x63\x64\x65\x66\x67\x68\x69\x6a\x6b\x6c\x6d\x6e\x6f",
    ];
    /// The roots over the first 1 to 8 of them.
    const ROOTS: [&str; 8] = [
        "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
        "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
        "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
        "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
        "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
        "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
        "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
        "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
    ];

    fn tree(count: usize) -> MerkleTree {
        MerkleTree::new(LEAVES[..count].iter().map(|data| leaf_hash(data)))
    }

    /// The definition of RFC 6962, section 2.1, as it is written there.
    fn defined(leaves: &[Hash]) -> Hash {
        match leaves {
            [] => Sha256::digest([]).into(),
            [leaf] => *leaf,
            _ => {
                let (left, right) = leaves.split_at(leaves.len().next_power_of_two() / 2);
                node_hash(&defined(left), &defined(right))
            }
        }
    }

    /// P20: the roots are those of RFC 6962, for the vectors of its reference implementation and for no leaves.
    #[test]
    fn roots_are_those_of_the_standard() {
        for (count, root) in (1..).zip(ROOTS) {
            assert_eq!(hex(&tree(count).root()), root, "{count} leaves");
        }
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!((hex(&tree(0).root()), tree(0).path(0)), (empty.to_owned(), None));
    }

    /// P20: the paths are those of the reference implementation.
    #[test]
    fn paths_are_those_of_the_standard() {
        let path = |index, count| {
            let path = tree(count).path(index).unwrap();
            path.iter().map(|hash| hex(hash)[..8].to_owned()).collect::<Vec<_>>()
        };
        assert!(path(0, 1).is_empty());
        assert_eq!(path(0, 8), ["96a296d2", "5f083f0a", "6b47aaf2"]);
        assert_eq!(path(5, 8), ["bc1a0643", "ca854ea1", "d37ee418"]);
        assert_eq!(path(2, 3), ["fac54203"]);
        assert_eq!(path(1, 5), ["6e340b9c", "5f083f0a", "bc1a0643"]);
        assert_eq!(tree(3).path(3), None);
    }

    /// P20: a leaf does not pass for an inner node, and the other way round.
    #[test]
    fn leaves_and_nodes_are_told_apart() {
        let (left, right) = (leaf_hash(b"a"), leaf_hash(b"b"));
        assert_ne!(leaf_hash(&[left, right].concat()), node_hash(&left, &right));
        assert_ne!(<Hash>::from(Sha256::digest(b"a")), left);
    }

    proptest! {
        /// P20: each leaf's path leads to the root; with another leaf, place, count or path it does not.
        #[test]
        fn a_path_leads_to_the_root_from_its_own_leaf_only(count in 1..200_usize, at: prop::sample::Index, other: Hash) {
            let leaves: Vec<Hash> = (0..count).map(|n| leaf_hash(&n.to_be_bytes())).collect();
            let (tree, index) = (MerkleTree::new(leaves.clone()), at.index(count));
            prop_assert_eq!(tree.root(), defined(&leaves));
            let path = tree.path(index).unwrap();
            let (place, all) = (index as u64, count as u64);
            prop_assert_eq!(root_of_path(leaves[index], place, all, &path), Some(tree.root()));
            prop_assert_ne!(root_of_path(other, place, all, &path), Some(tree.root()));
            for wrong in (0..=all).filter(|wrong| *wrong != place) {
                prop_assert_ne!(root_of_path(leaves[index], wrong, all, &path), Some(tree.root()));
            }
            prop_assert_eq!(root_of_path(leaves[index], place, all, &[&path[..], &[other]].concat()), None);
            if let Some((_, short)) = path.split_last() {
                prop_assert_eq!(root_of_path(leaves[index], place, all, short), None);
                let at = at.index(path.len());
                let mut changed = path.clone();
                changed[at] = other;
                prop_assert_ne!(root_of_path(leaves[index], place, all, &changed), Some(tree.root()));
            }
            prop_assert_eq!(root_of_path(leaves[index], place, 0, &path), None);
        }
    }
}
