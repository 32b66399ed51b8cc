//! A disk in memory that forgets what was not synced.

use crate::Disk;
use std::io;

/// A disk in memory; clones share it.
#[derive(Clone, Debug, Default)]
pub struct SimulatedDisk {}

/// An open file of a [`SimulatedDisk`].
#[derive(Debug)]
pub struct SimulatedFile {}

/// How an operation fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// EIO; of a sync: what it should have made durable is forgotten or not, and later syncs do not know of it.
    Broken,
    /// ENOSPC.
    Full,
    /// The power goes: this operation and all later ones fail until [`SimulatedDisk::crash`].
    PowerLoss,
}

impl SimulatedDisk {
    /// Gives an empty disk.
    pub fn new() -> Self {
        Self::default()
    }

    /// Ends the world: of what was not synced the choice keeps all, nothing, a beginning or single sectors.
    ///
    /// `choose(n)` gives a number below n. Spools that were open on this disk are dead; open a new one.
    pub fn crash(&self, choose: &mut dyn FnMut(usize) -> usize) {
        let _ = choose;
        unimplemented!("follows")
    }

    /// Makes the nth operation from now (0 is the next) fail.
    pub fn fail(&self, nth: u64, failure: Failure) {
        let _ = (nth, failure);
        unimplemented!("follows")
    }

    /// Gives the disk only so many bytes in all; none means no end.
    pub fn set_capacity(&self, bytes: Option<u64>) {
        let _ = bytes;
        unimplemented!("follows")
    }

    /// Gives the number of operations so far.
    pub fn operations(&self) -> u64 {
        unimplemented!("follows")
    }
}

impl Disk for SimulatedDisk {
    type File = SimulatedFile;

    fn list(&self) -> io::Result<Vec<String>> {
        unimplemented!("follows")
    }

    fn create(&self, _: &str) -> io::Result<SimulatedFile> {
        unimplemented!("follows")
    }

    fn open(&self, _: &str) -> io::Result<SimulatedFile> {
        unimplemented!("follows")
    }

    fn read(&self, _: &str) -> io::Result<Vec<u8>> {
        unimplemented!("follows")
    }

    fn read_at(&self, _: &str, _: u64, _: usize) -> io::Result<Vec<u8>> {
        unimplemented!("follows")
    }

    fn write_at(&self, _: &SimulatedFile, _: u64, _: &[u8]) -> io::Result<()> {
        unimplemented!("follows")
    }

    fn allocate(&self, _: &SimulatedFile, _: u64) -> io::Result<()> {
        unimplemented!("follows")
    }

    fn truncate(&self, _: &SimulatedFile, _: u64) -> io::Result<()> {
        unimplemented!("follows")
    }

    fn sync_data(&self, _: &SimulatedFile) -> io::Result<()> {
        unimplemented!("follows")
    }

    fn remove(&self, _: &str) -> io::Result<()> {
        unimplemented!("follows")
    }

    fn sync_dir(&self) -> io::Result<()> {
        unimplemented!("follows")
    }
}
