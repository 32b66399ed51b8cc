//! The log itself: what is in memory, and where on disk the rest is.

use crate::{
    Disk, SpoolError,
    aside::{self, Aside},
    error::Task,
    header::segment_name,
    record::{self, Kind},
    recovery::{self, encode_live},
    segments::{Segments, Spot},
};
use std::{collections::BTreeMap, fmt};

/// The place of an entry in the log: 1, 2, 3 …, never given to two entries that were ever durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Seq(pub u64);

/// Limits of the log.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// A segment with this much in it is full: the log then wants a snapshot.
    pub segment_bytes: u64,
    /// Room that is taken from the disk ahead, behind a full segment, for when the disk has none left.
    pub reserve_bytes: u64,
    /// The longest payload that is taken, at most a GiB.
    pub entry_bytes_max: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { segment_bytes: 4 << 20, reserve_bytes: 1 << 20, entry_bytes_max: 1 << 20 }
    }
}

/// Result of opening a log.
#[derive(Clone, Debug, Default)]
pub struct Recovered {
    /// The newest durable snapshot of the owner.
    pub snapshot: Option<Vec<u8>>,
    /// Every entry after that snapshot, acked or not, in order.
    pub since: Vec<(Seq, Vec<u8>)>,
    /// Every entry not acked, in order, those older than the snapshot included.
    pub pending: Vec<(Seq, Vec<u8>)>,
    /// Bytes that were cut off the end, if any: they had been written but never synced.
    pub cut: Option<Cut>,
}

/// A torn end of a file that was cut.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cut {
    /// The file.
    pub file: String,
    /// New end of the file.
    pub offset: u64,
    /// Number of bytes that were cut.
    pub bytes: u64,
}

/// An append-only log of what must not be lost (N19).
///
/// Payloads of durable entries are not kept in memory, only where they are. On a full disk, entries of up to
/// [`room`](Spool::room) bytes in all can still be synced: that much was taken from the disk before.
pub struct Spool<D: Disk> {
    disk: D,
    segments: Segments<D::File>,
    aside: Aside<D::File>,
    /// The entries that are not acked.
    index: BTreeMap<u64, EntryPosition>,
    /// Records that are not durable. A sync that failed is repeated with the same bytes and what came since.
    unsynced: Vec<u8>,
    appended: u64,
    durable: u64,
}

/// Position of an entry's record.
#[derive(Clone, Copy)]
pub(crate) struct EntryPosition {
    /// None while it is not durable; the offset is one in memory then.
    pub(crate) segment: Option<u64>,
    pub(crate) offset: u64,
    pub(crate) length: usize,
}

impl<D: Disk> Spool<D> {
    /// Opens a log or begins one, and cuts a torn end. What it gives back is durable.
    pub fn open(disk: D, limits: Limits) -> Result<(Self, Recovered), SpoolError> {
        let limits = Limits { entry_bytes_max: limits.entry_bytes_max.min(ENTRY_BYTES_MAX), ..limits };
        let names = disk.list().map_err(Task::on("the spool").refused("list"))?;
        let found = recovery::recover(&disk, &names, limits)?;
        let spool = Self {
            disk,
            segments: found.segments,
            aside: Aside::new(&names),
            index: found.index,
            unsynced: Vec::new(),
            appended: found.last_seq,
            durable: found.last_seq,
        };
        Ok((spool, found.recovered))
    }

    /// Takes an entry into memory; refuses only what can never be written.
    pub fn append(&mut self, payload: &[u8]) -> Result<Seq, SpoolError> {
        let max = self.segments.limits.entry_bytes_max;
        if payload.len() > max {
            return Err(SpoolError::TooLong { length: payload.len(), max });
        }
        self.appended += 1;
        let offset = self.unsynced.len() as u64;
        let length = record::push(&mut self.unsynced, Kind::Entry, self.appended, &[payload]);
        self.index.insert(self.appended, EntryPosition { segment: None, offset, length });
        Ok(Seq(self.appended))
    }

    /// Notes that an entry has done its service. It becomes durable with the next sync and is not worth one of
    /// its own. An unknown or acked one is nothing, and so is one that was set aside.
    pub fn ack(&mut self, seq: Seq) {
        if !self.aside.waiting.contains_key(&seq.0) && self.index.remove(&seq.0).is_some() {
            record::push(&mut self.unsynced, Kind::Ack, seq.0, &[]);
        }
    }

    /// Puts an entry with a note (of at most 64 KiB) into a log for people; durable at the next sync, and acked
    /// from then on. An entry that was never synced itself waits for the sync after.
    pub fn set_aside(&mut self, seq: Seq, note: &[u8]) {
        if self.index.contains_key(&seq.0) {
            self.aside.waiting.entry(seq.0).or_insert_with(|| note.into());
        }
    }

    /// Makes everything so far durable with one write and one fdatasync, and returns the last durable entry. Entries
    /// that were set aside cost one more write and one more fdatasync.
    ///
    /// After an error everything stays in memory and the next sync tries again.
    pub fn sync(&mut self) -> Result<Seq, SpoolError> {
        self.write_aside();
        if !self.unsynced.is_empty() {
            let spot = self.segments.write(&self.disk, &mut self.unsynced, self.durable + 1)?;
            self.settle(spot);
        }
        Ok(Seq(self.durable))
    }

    /// Tells whether something waits that is worth a sync: an entry, or one that was set aside.
    pub fn needs_sync(&self) -> bool {
        self.appended > self.durable || !self.aside.waiting.is_empty()
    }

    /// Reads an entry that is not acked.
    pub fn read(&self, seq: Seq) -> Result<Option<Vec<u8>>, SpoolError> {
        self.index.get(&seq.0).map(|place| self.payload(seq, *place)).transpose()
    }

    /// Tells whether the current segment is full.
    pub fn wants_snapshot(&self) -> bool {
        self.segments.is_full(self.unsynced.len())
    }

    /// Begins a new segment with the owner's state, and removes leading segments all of whose entries are
    /// acked. The state must cover everything appended so far, which is synced first.
    ///
    /// After an error the log goes on in the old segment. On a full disk it is worth trying again when acks
    /// came in or room was made.
    pub fn snapshot(&mut self, state: &[u8]) -> Result<(), SpoolError> {
        self.sync()?;
        let live = encode_live(self.index.keys().copied());
        let max = SNAPSHOT_BYTES_MAX.saturating_sub(live.len());
        if state.len() > max {
            return Err(SpoolError::TooLong { length: state.len(), max });
        }
        let mut record = Vec::with_capacity(record::HEAD + live.len() + state.len());
        record::push(&mut record, Kind::Snapshot, self.durable, &[&live, state]);
        self.segments.begin_with(&self.disk, &mut record, self.durable + 1)?;
        let used = self.index.values().filter_map(|place| place.segment).min();
        self.segments.remove_below(&self.disk, used.unwrap_or(u64::MAX));
        Ok(())
    }

    /// Gives the number of entries that are not acked.
    pub fn depth(&self) -> usize {
        self.index.len()
    }

    /// Gives the bytes the log has taken from the disk, reserved ones included, those set aside not.
    pub fn bytes(&self) -> u64 {
        self.segments.bytes()
    }

    /// Gives the bytes that can still be synced though the disk be full; each entry takes 25 more than its
    /// payload. Owners that see this shrink and [`snapshot`](Spool::snapshot) fail should begin nothing new.
    pub fn room(&self) -> u64 {
        self.segments.room().saturating_sub(self.unsynced.len() as u64)
    }

    /// Tells why the last try to write down what was set aside failed. It waits for the next sync then and
    /// holds up nothing else.
    pub fn aside_failure(&self) -> Option<&SpoolError> {
        self.aside.failure.as_ref()
    }

    /// Notes that the records in memory are durable, and where.
    fn settle(&mut self, spot: Spot) {
        for place in self.index.range_mut(self.durable + 1..).map(|(_, place)| place) {
            *place =
                EntryPosition { segment: Some(spot.segment), offset: spot.offset + place.offset, ..*place };
        }
        self.durable = self.appended;
        self.unsynced.clear();
        self.unsynced.shrink_to(UNSYNCED_BYTES_KEPT);
    }

    /// Writes down what was set aside, before the acks that follow from it.
    ///
    /// Only durable entries: the seq of another could be given again after a crash.
    fn write_aside(&mut self) {
        let later = self.aside.waiting.split_off(&(self.durable + 1));
        let mut ready = std::mem::replace(&mut self.aside.waiting, later);
        if ready.is_empty() {
            return;
        }
        self.aside.failure = self.write_aside_entries(&ready).err();
        match self.aside.failure {
            None => ready.keys().for_each(|seq| self.ack(Seq(*seq))),
            Some(_) => self.aside.waiting.append(&mut ready),
        }
    }

    fn write_aside_entries(&mut self, ready: &BTreeMap<u64, Vec<u8>>) -> Result<(), SpoolError> {
        let mut records = Vec::new();
        for (seq, note) in ready {
            let payload = self.read(Seq(*seq))?.expect("what waits for being set aside is not acked");
            aside::push(&mut records, *seq, note, &payload);
        }
        self.aside.write(&self.disk, &mut records)
    }

    fn payload(&self, seq: Seq, place: EntryPosition) -> Result<Vec<u8>, SpoolError> {
        let EntryPosition { segment, offset, length } = place;
        let Some(segment) = segment else {
            let record = &self.unsynced[offset as usize..offset as usize + length];
            return Ok(record[record::HEAD..].into());
        };
        let file = segment_name(segment);
        let bytes = self.disk.read_at(&file, offset, length).map_err(Task::on(&file).refused("read"))?;
        let record = record::parse(&bytes, segment);
        match record.filter(|record| record.kind == Kind::Entry && record.seq == seq.0) {
            Some(record) => Ok(record.payload.into()),
            None => {
                Err(SpoolError::Damaged { file, offset, what: "an entry no longer reads as it was written" })
            }
        }
    }
}

impl<D: Disk> fmt::Debug for Spool<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { appended, durable, .. } = self;
        write!(f, "Spool {{ appended: {appended}, durable: {durable}, depth: {} }}", self.depth())
    }
}

const ENTRY_BYTES_MAX: usize = 1 << 30;
const SNAPSHOT_BYTES_MAX: usize = u32::MAX as usize - record::HEAD;
const UNSYNCED_BYTES_KEPT: usize = 1 << 20;
