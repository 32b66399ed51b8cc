//! The log itself.

use crate::{Disk, SpoolError};

/// The place of an entry in the log: 1, 2, 3 …, never given to two entries that were ever durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Seq(pub u64);

/// What bounds the log.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// A segment of this size is full: the log then wants a snapshot.
    pub segment_bytes: u64,
    /// Room that is taken from the disk ahead, behind a full segment, for when the disk has none left.
    pub reserve_bytes: u64,
    /// The longest payload that is taken.
    pub entry_bytes_max: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { segment_bytes: 4 << 20, reserve_bytes: 1 << 20, entry_bytes_max: 1 << 20 }
    }
}

/// What opening a log found.
#[derive(Clone, Debug, Default)]
pub struct Recovered {
    /// The newest durable snapshot of the owner.
    pub snapshot: Option<Vec<u8>>,
    /// Every entry after that snapshot, acked or not, in order.
    pub since: Vec<(Seq, Vec<u8>)>,
    /// Every entry not acked, in order, those older than the snapshot included.
    pub pending: Vec<(Seq, Vec<u8>)>,
    /// What was cut off the end, if anything: it had been written but never synced.
    pub cut: Option<Cut>,
}

/// A torn end of a file that was cut.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cut {
    /// The file.
    pub file: String,
    /// Where it ends now.
    pub offset: u64,
    /// How much was cut.
    pub bytes: u64,
}

/// An entry that was set aside for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetAside {
    /// Its place in the log.
    pub seq: Seq,
    /// Why.
    pub note: Vec<u8>,
    /// The entry.
    pub payload: Vec<u8>,
}

/// An append-only log of what must not be lost (N19).
#[derive(Debug)]
pub struct Spool<D: Disk> {
    disk: D,
}

impl<D: Disk> Spool<D> {
    /// Opens a log or begins one, and cuts a torn end.
    pub fn open(disk: D, limits: Limits) -> Result<(Self, Recovered), SpoolError> {
        let _ = (disk, limits);
        unimplemented!("follows")
    }

    /// Takes an entry into memory; refuses only what can never be written.
    pub fn append(&mut self, payload: &[u8]) -> Result<Seq, SpoolError> {
        let _ = (payload, &self.disk);
        unimplemented!("follows")
    }

    /// Notes that an entry has done its service. It becomes durable with the next sync and is not worth one of
    /// its own. An unknown or acked one is nothing.
    pub fn ack(&mut self, seq: Seq) {
        let _ = seq;
        unimplemented!("follows")
    }

    /// Puts an entry with a note into a log for people; durable at the next sync, and acked from then on.
    pub fn set_aside(&mut self, seq: Seq, note: &[u8]) {
        let _ = (seq, note);
        unimplemented!("follows")
    }

    /// Makes everything so far durable with one write and one fdatasync; gives the last durable entry.
    ///
    /// After an error everything stays in memory and the next sync tries again.
    pub fn sync(&mut self) -> Result<Seq, SpoolError> {
        unimplemented!("follows")
    }

    /// Tells whether a sync would make anything durable that is worth it: entries, or ones set aside.
    pub fn needs_sync(&self) -> bool {
        unimplemented!("follows")
    }

    /// Reads an entry that is not acked.
    pub fn read(&self, seq: Seq) -> Result<Option<Vec<u8>>, SpoolError> {
        let _ = seq;
        unimplemented!("follows")
    }

    /// Tells whether the current segment is full.
    pub fn wants_snapshot(&self) -> bool {
        unimplemented!("follows")
    }

    /// Begins a new segment with the owner's state, which covers everything appended so far, and removes
    /// leading segments all of whose entries are acked. Syncs first.
    pub fn snapshot(&mut self, state: &[u8]) -> Result<(), SpoolError> {
        let _ = state;
        unimplemented!("follows")
    }

    /// Gives the number of entries that are not acked.
    pub fn depth(&self) -> usize {
        unimplemented!("follows")
    }

    /// Gives the bytes the log has taken from the disk, reserved ones included.
    pub fn bytes(&self) -> u64 {
        unimplemented!("follows")
    }

    /// Gives the bytes that can still be synced though the disk be full.
    pub fn room(&self) -> u64 {
        unimplemented!("follows")
    }

    /// Tells why the last try to write down what was set aside failed. Entries wait for the next sync then;
    /// nothing else is held up.
    pub fn aside_failure(&self) -> Option<&SpoolError> {
        unimplemented!("follows")
    }
}

/// Reads what was set aside, in the order it was.
pub fn set_aside_entries<D: Disk>(disk: &D) -> Result<Vec<SetAside>, SpoolError> {
    let _ = disk;
    unimplemented!("follows")
}
