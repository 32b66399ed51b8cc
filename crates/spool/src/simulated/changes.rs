//! What changed on a simulated disk and is not durable yet.

use std::collections::BTreeMap;

/// A change to the bytes of a file.
#[derive(Clone, Debug)]
pub(crate) enum Change {
    /// Bytes at an offset.
    Write(usize, Vec<u8>),
    /// Zeros up to a length.
    Extend(usize),
    /// No more than a length.
    Truncate(usize),
}

/// What is known of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// The next sync makes it durable.
    Unsynced,
    /// A sync of it failed; only a crash will tell.
    Doubtful,
    /// It is durable.
    Synced,
}

/// The bytes of a file: durable ones, and what was done to them since.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    durable: Vec<u8>,
    seen: Vec<u8>,
    since: Vec<(Change, Fate)>,
}

impl Changes {
    /// A file that was always there.
    pub(crate) fn durable(bytes: Vec<u8>) -> Self {
        Self { seen: bytes.clone(), durable: bytes, since: Vec::new() }
    }

    /// The bytes as a reader sees them.
    pub(crate) fn seen(&self) -> &[u8] {
        &self.seen
    }

    /// Changes what is seen.
    pub(crate) fn make(&mut self, change: Change) {
        change.apply(&mut self.seen);
        self.since.push((change, Fate::Unsynced));
    }

    /// Makes durable what no failed sync has seen.
    pub(crate) fn sync(&mut self) {
        self.turn(Fate::Synced);
        if self.since.iter().all(|(_, fate)| *fate == Fate::Synced) {
            self.durable.clone_from(&self.seen);
            self.since.clear();
        }
    }

    /// Leaves what is not durable to the dice, for good.
    pub(crate) fn doubt(&mut self) {
        self.turn(Fate::Doubtful);
    }

    /// Keeps what the dice say.
    pub(crate) fn crash(&mut self, choose: &mut dyn FnMut(usize) -> usize) {
        for (change, fate) in self.since.drain(..) {
            if fate == Fate::Synced {
                change.apply(&mut self.durable);
            } else {
                change.apply_in_part(&mut self.durable, choose);
            }
        }
        self.seen.clone_from(&self.durable);
    }

    fn turn(&mut self, to: Fate) {
        let unsynced = self.since.iter_mut().filter(|(_, fate)| *fate == Fate::Unsynced);
        unsynced.for_each(|(_, fate)| *fate = to);
    }
}

impl Change {
    fn apply(&self, bytes: &mut Vec<u8>) {
        match self {
            Self::Write(offset, written) => write(bytes, *offset, written),
            Self::Extend(length) => bytes.resize(bytes.len().max(*length), 0),
            Self::Truncate(length) => bytes.truncate(*length),
        }
    }

    fn apply_in_part(&self, bytes: &mut Vec<u8>, choose: &mut dyn FnMut(usize) -> usize) {
        match (choose(4), self) {
            (0, _) => {}
            (2, Self::Write(offset, written)) => write(bytes, *offset, &written[..choose(written.len() + 1)]),
            (3, Self::Write(offset, written)) => {
                for (at, sector) in sectors(*offset, written) {
                    if choose(2) == 1 {
                        write(bytes, at, sector);
                    }
                }
            }
            _ => self.apply(bytes),
        }
    }
}

fn write(bytes: &mut Vec<u8>, offset: usize, written: &[u8]) {
    if written.is_empty() {
        return;
    }
    let end = offset + written.len();
    bytes.resize(bytes.len().max(end), 0);
    bytes[offset..end].copy_from_slice(written);
}

/// Splits what is written at the borders of sectors.
fn sectors(offset: usize, mut written: &[u8]) -> Vec<(usize, &[u8])> {
    let (mut parts, mut at) = (Vec::new(), offset);
    while !written.is_empty() {
        let (sector, rest) = written.split_at(written.len().min(SECTOR - at % SECTOR));
        parts.push((at, sector));
        (at, written) = (at + sector.len(), rest);
    }
    parts
}

/// Which file has which name: durably, and what was done since.
#[derive(Debug, Default)]
pub(crate) struct Names {
    durable: BTreeMap<String, u64>,
    seen: BTreeMap<String, u64>,
    since: Vec<(String, Option<u64>)>,
}

impl Names {
    /// The file of that name.
    pub(crate) fn get(&self, name: &str) -> Option<u64> {
        self.seen.get(name).copied()
    }

    /// All names.
    pub(crate) fn list(&self) -> Vec<String> {
        self.seen.keys().cloned().collect()
    }

    /// Tells whether a file has a name that readers see.
    pub(crate) fn shows(&self, file: u64) -> bool {
        self.seen.values().any(|held| *held == file)
    }

    /// Tells whether a file has a durable name.
    pub(crate) fn holds(&self, file: u64) -> bool {
        self.durable.values().any(|held| *held == file)
    }

    /// Names a file.
    pub(crate) fn link(&mut self, name: &str, file: u64) {
        self.seen.insert(name.into(), file);
        self.since.push((name.into(), Some(file)));
    }

    /// Takes a name away.
    pub(crate) fn unlink(&mut self, name: &str) {
        self.seen.remove(name);
        self.since.push((name.into(), None));
    }

    /// Makes all names durable.
    pub(crate) fn sync(&mut self) {
        self.durable.clone_from(&self.seen);
        self.since.clear();
    }

    /// Keeps what the dice say.
    pub(crate) fn crash(&mut self, choose: &mut dyn FnMut(usize) -> usize) {
        for (name, file) in self.since.drain(..) {
            match (choose(2), file) {
                (0, _) => {}
                (_, Some(file)) => drop(self.durable.insert(name, file)),
                (_, None) => drop(self.durable.remove(&name)),
            }
        }
        self.seen.clone_from(&self.durable);
    }
}

const SECTOR: usize = 512;
