//! A disk in memory that forgets what was not synced.
//!
//! It is as unkind as a disk may be: of what was not synced a crash keeps whatever the caller's dice say, in
//! any order, down to single sectors; a sync that failed leaves its bytes to be seen and never to be durable
//! by a later one.

use crate::Disk;
use std::{
    collections::BTreeMap,
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// A disk in memory; clones share it.
#[derive(Clone, Debug, Default)]
pub struct SimulatedDisk(Arc<Mutex<State>>);

/// An open file of a [`SimulatedDisk`].
#[derive(Debug)]
pub struct SimulatedFile {
    file: u64,
    crashes: u64,
}

/// Failure of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// EIO. A write gets half way. A sync may have made anything durable, and later ones know nothing of it.
    Broken,
    /// ENOSPC. A write gets half way.
    Full,
    /// The power goes: this operation gets some way, all later ones fail until [`SimulatedDisk::crash`].
    PowerLoss,
}

#[derive(Debug, Default)]
struct State {
    names: Names,
    files: BTreeMap<u64, Changes>,
    files_ever: u64,
    crashes: u64,
    operations: u64,
    failures: BTreeMap<u64, Failure>,
    powerless: bool,
    capacity: Option<u64>,
}

impl SimulatedDisk {
    /// Gives an empty disk.
    pub fn new() -> Self {
        Self::default()
    }

    /// Ends the world: of what was not synced the dice keep all, nothing, a beginning or single sectors.
    ///
    /// `choose(n)` gives a number below n. The power is back afterwards and failures that were still to come
    /// are forgotten; a spool that was open on this disk is dead.
    pub fn crash(&self, choose: &mut dyn FnMut(usize) -> usize) {
        let mut state = self.state();
        state.names.crash(choose);
        let State { names, files, .. } = &mut *state;
        files.retain(|file, _| names.holds(*file));
        files.values_mut().for_each(|file| file.crash(choose));
        state.crashes += 1;
        state.failures.clear();
        state.powerless = false;
    }

    /// Makes the nth operation from now (0 is the next) fail.
    pub fn fail(&self, nth: u64, failure: Failure) {
        let mut state = self.state();
        let operation = state.operations + nth;
        state.failures.insert(operation, failure);
    }

    /// Forgets failures that are still to come.
    pub fn fail_no_more(&self) {
        self.state().failures.clear();
    }

    /// Tells whether the power is gone.
    pub fn is_powerless(&self) -> bool {
        self.state().powerless
    }

    /// Gives the disk only so many bytes in all; none means no end.
    pub fn set_capacity(&self, bytes: Option<u64>) {
        self.state().capacity = bytes;
    }

    /// Gives the number of operations so far.
    pub fn operations(&self) -> u64 {
        self.state().operations
    }

    /// Gives the bytes that files take.
    pub fn used(&self) -> u64 {
        self.state().used()
    }

    /// Puts bytes into a file, durably, as a dying disk or a person might.
    pub fn replace(&self, name: &str, bytes: Vec<u8>) {
        let mut state = self.state();
        let file = state.names.get(name).unwrap_or_else(|| state.create(name));
        state.names.sync();
        state.files.insert(file, Changes::durable(bytes));
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Counts an operation; gives how it fails, if it does.
    fn operation(&mut self) -> Result<Option<Failure>, io::Error> {
        if self.powerless {
            return Err(powerless());
        }
        let failure = self.failures.remove(&self.operations);
        self.operations += 1;
        self.powerless = failure == Some(Failure::PowerLoss);
        Ok(failure)
    }

    /// Counts an operation that fails without a trace.
    fn all_or_nothing(&mut self) -> io::Result<()> {
        self.operation()?.map_or(Ok(()), |failure| Err(error(failure)))
    }

    fn create(&mut self, name: &str) -> u64 {
        self.files_ever += 1;
        self.files.insert(self.files_ever, Changes::default());
        self.names.link(name, self.files_ever);
        self.files_ever
    }

    fn named(&self, name: &str) -> io::Result<(u64, &Changes)> {
        let file = self.names.get(name).ok_or(io::ErrorKind::NotFound)?;
        Ok((file, &self.files[&file]))
    }

    fn opened(&mut self, handle: &SimulatedFile) -> io::Result<&mut Changes> {
        if handle.crashes != self.crashes {
            return Err(powerless());
        }
        self.files.get_mut(&handle.file).ok_or(io::ErrorKind::NotFound.into())
    }

    fn used(&self) -> u64 {
        let files = self.files.iter().filter(|(file, _)| self.names.shows(**file));
        files.map(|(_, file)| file.seen().len() as u64).sum()
    }

    /// Upper limit of the length of a file.
    fn reach(&mut self, handle: &SimulatedFile) -> io::Result<u64> {
        let (capacity, used) = (self.capacity, self.used());
        let length = self.opened(handle)?.seen().len() as u64;
        Ok(capacity.map_or(u64::MAX, |capacity| length + capacity.saturating_sub(used)))
    }
}

impl Disk for SimulatedDisk {
    type File = SimulatedFile;

    fn list(&self) -> io::Result<Vec<String>> {
        let mut state = self.state();
        state.all_or_nothing()?;
        Ok(state.names.list())
    }

    fn create(&self, name: &str) -> io::Result<SimulatedFile> {
        let mut state = self.state();
        match state.operation()? {
            Some(failure @ (Failure::Broken | Failure::Full)) => Err(error(failure)),
            Some(failure @ Failure::PowerLoss) => {
                state.create(name);
                Err(error(failure))
            }
            None => Ok(SimulatedFile { file: state.create(name), crashes: state.crashes }),
        }
    }

    fn open(&self, name: &str) -> io::Result<SimulatedFile> {
        let mut state = self.state();
        state.all_or_nothing()?;
        Ok(SimulatedFile { file: state.named(name)?.0, crashes: state.crashes })
    }

    fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        let mut state = self.state();
        state.all_or_nothing()?;
        Ok(state.named(name)?.1.seen().to_vec())
    }

    fn read_at(&self, name: &str, offset: u64, length: usize) -> io::Result<Vec<u8>> {
        let mut state = self.state();
        state.all_or_nothing()?;
        let start = usize::try_from(offset).map_err(|_| io::ErrorKind::UnexpectedEof)?;
        let bytes = state.named(name)?.1.seen().get(start..start.saturating_add(length));
        bytes.map(<[u8]>::to_vec).ok_or(io::ErrorKind::UnexpectedEof.into())
    }

    fn write_at(&self, file: &SimulatedFile, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let mut state = self.state();
        let failure = state.operation()?;
        let fits = usize::try_from(state.reach(file)?.saturating_sub(offset)).unwrap_or(usize::MAX);
        let (written, failure) = match failure {
            Some(Failure::PowerLoss) => (bytes.len(), failure),
            Some(Failure::Broken | Failure::Full) => (bytes.len() / 2, failure),
            None => (bytes.len(), (fits < bytes.len()).then_some(Failure::Full)),
        };
        let bytes = &bytes[..written.min(fits)];
        state.opened(file)?.make(Change::Write(offset as usize, bytes.to_vec()));
        failure.map_or(Ok(()), |failure| Err(error(failure)))
    }

    fn allocate(&self, file: &SimulatedFile, length: u64) -> io::Result<()> {
        let mut state = self.state();
        state.all_or_nothing()?;
        if length > state.reach(file)? {
            return Err(error(Failure::Full));
        }
        state.opened(file)?.make(Change::Extend(length as usize));
        Ok(())
    }

    fn truncate(&self, file: &SimulatedFile, length: u64) -> io::Result<()> {
        let mut state = self.state();
        let failure = state.operation()?;
        let opened = state.opened(file)?;
        opened.make(Change::Truncate(length as usize));
        opened.end_sync(failure)
    }

    fn sync_data(&self, file: &SimulatedFile) -> io::Result<()> {
        let mut state = self.state();
        let failure = state.operation()?;
        state.opened(file)?.end_sync(failure)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        let mut state = self.state();
        let failure = state.operation()?;
        state.named(name)?;
        if failure.is_none() || failure == Some(Failure::PowerLoss) {
            state.names.unlink(name);
        }
        failure.map_or(Ok(()), |failure| Err(error(failure)))
    }

    fn sync_dir(&self) -> io::Result<()> {
        let mut state = self.state();
        state.all_or_nothing()?;
        state.names.sync();
        Ok(())
    }
}

fn error(failure: Failure) -> io::Error {
    match failure {
        Failure::Broken => io::Error::other("simulated EIO"),
        Failure::Full => io::ErrorKind::StorageFull.into(),
        Failure::PowerLoss => powerless(),
    }
}

fn powerless() -> io::Error {
    io::Error::other("simulated loss of power")
}

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

/// State of a change.
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

    /// Ends a sync as the failure says; one that broke leaves what is not durable to the dice, for good.
    fn end_sync(&mut self, failure: Option<Failure>) -> io::Result<()> {
        match failure {
            None => self.sync(),
            Some(Failure::PowerLoss) => {}
            Some(Failure::Broken | Failure::Full) => self.turn(Fate::Doubtful),
        }
        failure.map_or(Ok(()), |failure| Err(error(failure)))
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
