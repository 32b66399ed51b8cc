//! Entries set aside for people: files of their own that only grow.
//!
//! A process never writes to a file an earlier one wrote, so none needs repair.

use crate::{
    Disk, Seq, SpoolError,
    error::Task,
    header::{Header, Opening, aside_name, numbers},
    record::{self, Kind, Walk, u32_at, was_synced_past},
};
use std::collections::{BTreeMap, HashSet};

/// An entry that was set aside for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetAside {
    /// Its place in the log.
    pub seq: Seq,
    /// Reason why the entry was set aside.
    pub note: Vec<u8>,
    /// The entry.
    pub payload: Vec<u8>,
}

/// Reads what was set aside, in the order it was.
pub fn set_aside_entries<D: Disk>(disk: &D) -> Result<Vec<SetAside>, SpoolError> {
    let names = disk.list().map_err(Task::on("the spool").refused("list"))?;
    let (mut entries, mut known) = (Vec::new(), HashSet::new());
    for number in numbers(&names, aside_name) {
        let found = entries_of(disk, number)?.into_iter();
        // A crash between the file and the log makes the owner set the same entry aside again.
        entries.extend(found.filter(|entry| known.insert((entry.seq, entry.payload.clone()))));
    }
    Ok(entries)
}

/// The file that grows, and what waits for being written to it.
pub(crate) struct Aside<F> {
    number: u64,
    file: Option<F>,
    end: u64,
    /// Notes by seq.
    pub(crate) waiting: BTreeMap<u64, Vec<u8>>,
    pub(crate) failure: Option<SpoolError>,
}

impl<F> Aside<F> {
    /// Takes a number that no file has yet.
    pub(crate) fn new(names: &[String]) -> Self {
        let number = numbers(names, aside_name).last().map_or(1, |last| last + 1);
        Self { number, file: None, end: 0, waiting: BTreeMap::new(), failure: None }
    }

    /// Makes records durable.
    pub(crate) fn write<D: Disk<File = F>>(
        &mut self,
        disk: &D,
        records: &mut [u8],
    ) -> Result<(), SpoolError> {
        record::stamp(records, self.number, self.end);
        match self.file.take() {
            Some(file) => self.grow(disk, file, records),
            None => self.begin(disk, records),
        }
    }

    fn begin<D: Disk<File = F>>(&mut self, disk: &D, records: &[u8]) -> Result<(), SpoolError> {
        let header = Header { opening: Opening::Aside, number: self.number, first_seq: 0, prior_end: 0 };
        let bytes = [&header.encode(), records].concat();
        let name = aside_name(self.number);
        let task = Task { file: &name, bytes: bytes.len() };
        let file = disk.create(&name).map_err(task.refused("create"))?;
        disk.write_at(&file, 0, &bytes).map_err(task.refused("write"))?;
        disk.sync_data(&file).map_err(task.refused("sync"))?;
        disk.sync_dir().map_err(task.refused("sync the directory of"))?;
        (self.file, self.end) = (Some(file), bytes.len() as u64);
        Ok(())
    }

    fn grow<D: Disk<File = F>>(&mut self, disk: &D, file: F, records: &[u8]) -> Result<(), SpoolError> {
        let name = aside_name(self.number);
        let task = Task { file: &name, bytes: records.len() };
        if let Err(error) = disk.write_at(&file, self.end, records).map_err(task.refused("write")) {
            // The next try overwrites the bytes that reached the disk, because it is at least as long.
            self.file = Some(file);
            return Err(error);
        }
        let synced = disk.sync_data(&file).map_err(task.refused("sync"));
        match &synced {
            Ok(()) => (self.file, self.end) = (Some(file), self.end + records.len() as u64),
            // A failed sync may have kept any part of the write. Earlier records stay in the old file.
            Err(_) => (self.number, self.end) = (self.number + 1, 0),
        }
        synced
    }
}

/// Adds an entry with its note to records for the aside files.
pub(crate) fn push(records: &mut Vec<u8>, seq: u64, note: &[u8], payload: &[u8]) {
    let note = &note[..note.len().min(NOTE_BYTES_MAX)];
    let length = u32::try_from(note.len()).expect("notes are short");
    record::push(records, Kind::Aside, seq, &[&length.to_le_bytes(), note, payload]);
}

fn entries_of<D: Disk>(disk: &D, number: u64) -> Result<Vec<SetAside>, SpoolError> {
    let name = aside_name(number);
    let bytes = disk.read(&name).map_err(Task::on(&name).refused("read"))?;
    let whole = Header::decode(&name, &bytes)?.is_some();
    let mut walk = Walk::new(if whole { &bytes } else { &[] }, number);
    let entries = walk.by_ref().filter_map(|(_, record)| entry(record.seq, record.payload)).collect();
    let end = if whole { walk.end() } else { 0 };
    if was_synced_past(&bytes, number, end) {
        return Err(SpoolError::Damaged { file: name, offset: end as u64, what: "no whole record" });
    }
    Ok(entries)
}

fn entry(seq: u64, payload: &[u8]) -> Option<SetAside> {
    let (length, rest) = payload.split_at_checked(4)?;
    let (note, payload) = rest.split_at_checked(u32_at(length, 0) as usize)?;
    Some(SetAside { seq: Seq(seq), note: note.into(), payload: payload.into() })
}

const NOTE_BYTES_MAX: usize = 64 << 10;
