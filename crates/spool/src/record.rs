//! A record as it lies on disk.
//!
//! `length u32 | kind u8 | batch u64 | seq u64 | crc u32 | payload`, little-endian; the length is that of the
//! whole record. The checksum covers all of it and the number of the file, so that no record is taken for one
//! of another file. `batch` is the offset of the write the record was part of: since every write but the last
//! was synced before the next began, a record proves that all bytes before its batch had been durable.

use crate::{header, record};

/// Kind of a record, with its letter on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Kind {
    /// An entry; the payload is the owner's.
    Entry = b'E',
    /// The entry of that seq is done with.
    Ack = b'A',
    /// The owner's state after that seq; see `recovery.rs`.
    Snapshot = b'S',
    /// An entry for people, with a note; see `aside.rs`.
    Aside = b'N',
}

/// A record whose checksum was right.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Record<'a> {
    pub(crate) kind: Kind,
    pub(crate) batch: u64,
    pub(crate) seq: u64,
    pub(crate) payload: &'a [u8],
}

impl Record<'_> {
    /// Its length on disk.
    pub(crate) fn length(&self) -> usize {
        HEAD + self.payload.len()
    }
}

/// Adds a record to others, still without place and checksum; gives its length.
pub(crate) fn push(records: &mut Vec<u8>, kind: Kind, seq: u64, payload: &[&[u8]]) -> usize {
    let length = HEAD + payload.iter().map(|part| part.len()).sum::<usize>();
    let written = u32::try_from(length).expect("callers refuse payloads that long");
    records.extend(written.to_le_bytes());
    records.push(kind as u8);
    records.extend([0; BATCH.end - BATCH.start]);
    records.extend(seq.to_le_bytes());
    records.extend([0; CRC.end - CRC.start]);
    payload.iter().for_each(|part| records.extend(*part));
    length
}

/// Gives records their place and checksum. The same place gives the same bytes, however often it is done.
pub(crate) fn stamp(records: &mut [u8], file_number: u64, batch: u64) {
    let mut rest = records;
    while !rest.is_empty() {
        let length = u32_at(rest, LENGTH.start) as usize;
        let (record, after) = std::mem::take(&mut rest).split_at_mut(length);
        record[BATCH].copy_from_slice(&batch.to_le_bytes());
        let crc = checksum(record, file_number);
        record[CRC].copy_from_slice(&crc.to_le_bytes());
        rest = after;
    }
}

/// Reads the record that begins these bytes, if one does.
pub(crate) fn parse(bytes: &[u8], file_number: u64) -> Option<Record<'_>> {
    if bytes.len() < HEAD {
        return None;
    }
    let kind = kind(bytes[KIND])?;
    let length = u32_at(bytes, LENGTH.start) as usize;
    let record = bytes.get(..length).filter(|record| record.len() >= HEAD)?;
    if u32_at(record, CRC.start) != checksum(record, file_number) {
        return None;
    }
    let (batch, seq) = (u64_at(record, BATCH.start), u64_at(record, SEQ.start));
    Some(Record { kind, batch, seq, payload: &record[HEAD..] })
}

/// Reads a number from bytes that are known to reach that far.
pub(crate) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes are four bytes"))
}

/// Reads a number from bytes that are known to reach that far.
pub(crate) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes are eight bytes"))
}

fn checksum(record: &[u8], file_number: u64) -> u32 {
    let mut crc = crc32fast::Hasher::new();
    crc.update(&file_number.to_le_bytes());
    crc.update(&record[..CRC.start]);
    crc.update(&record[HEAD..]);
    crc.finalize()
}

fn kind(letter: u8) -> Option<Kind> {
    [Kind::Entry, Kind::Ack, Kind::Snapshot, Kind::Aside].into_iter().find(|kind| *kind as u8 == letter)
}

/// The records of a file with their offsets; ends at the first place where none is.
pub(crate) struct Walk<'a> {
    bytes: &'a [u8],
    number: u64,
    at: usize,
    batch: usize,
}

impl<'a> Walk<'a> {
    /// Walks a file whose beginning was read.
    pub(crate) fn new(bytes: &'a [u8], number: u64) -> Self {
        Self { bytes, number, at: header::LENGTH, batch: 0 }
    }

    /// End offset of the last record so far.
    pub(crate) fn end(&self) -> usize {
        self.at
    }

    /// Start offset of the write that holds the last record so far. Only this write may never have been synced.
    pub(crate) fn batch(&self) -> usize {
        self.batch
    }
}

impl<'a> Iterator for Walk<'a> {
    type Item = (u64, Record<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        let offset = self.at as u64;
        let record = record::parse(self.bytes.get(self.at..)?, self.number)?;
        self.batch = usize::try_from(record.batch).ok().filter(|batch| *batch <= self.at)?;
        self.at += record.length();
        Some((offset, record))
    }
}

/// Tells whether a file was synced past a place where no record is: then it is damaged there, not torn.
pub(crate) fn was_synced_past(bytes: &[u8], number: u64, end: usize) -> bool {
    // Zeros are room that was taken and not used yet.
    let written = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    (end + 1..written).any(|at| {
        let record = record::parse(&bytes[at..], number);
        record.is_some_and(|record| record.batch > end as u64 && record.batch <= at as u64)
    })
}

/// The bytes before a record's payload.
pub(crate) const HEAD: usize = CRC.end;

const LENGTH: std::ops::Range<usize> = 0..4;
const KIND: usize = LENGTH.end;
const BATCH: std::ops::Range<usize> = KIND + 1..KIND + 9;
const SEQ: std::ops::Range<usize> = BATCH.end..BATCH.end + 8;
const CRC: std::ops::Range<usize> = SEQ.end..SEQ.end + 4;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Kind, push, stamp};

    fn stamped() -> Vec<u8> {
        let mut records = Vec::new();
        push(&mut records, Kind::Entry, 7, &[b"pay", b"load"]);
        push(&mut records, Kind::Ack, 3, &[]);
        stamp(&mut records, 5, 41);
        records
    }

    #[test]
    fn a_record_is_read_as_it_was_written() {
        let records = stamped();
        let first = parse(&records, 5).unwrap();
        assert_eq!(
            (first.kind, first.batch, first.seq, first.payload),
            (Kind::Entry, 41, 7, &b"payload"[..])
        );
        let second = parse(&records[first.length()..], 5).unwrap();
        assert_eq!((second.kind, second.seq, second.length()), (Kind::Ack, 3, HEAD));
    }

    #[test]
    fn stamping_twice_changes_nothing() {
        let (once, mut twice) = (stamped(), stamped());
        stamp(&mut twice, 5, 41);
        assert_eq!(once, twice);
    }

    /// N19
    #[test]
    fn no_flipped_bit_no_lost_byte_and_no_other_file_passes_the_checksum() {
        let records = stamped();
        let length = parse(&records, 5).unwrap().length();
        for bit in 0..length * 8 {
            let mut flipped = records.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(parse(&flipped, 5).is_none(), "bit {bit}");
        }
        (0..length).for_each(|kept| assert!(parse(&records[..kept], 5).is_none(), "{kept} bytes"));
        assert!(parse(&records, 6).is_none());
    }

    /// A file of two writes, the second of two records, and where each record begins.
    fn file() -> (Vec<u8>, Vec<usize>) {
        let mut bytes = vec![0; header::LENGTH];
        let mut places = Vec::new();
        for seqs in [1..2, 2..4] {
            let (batch, mut records) = (bytes.len(), Vec::new());
            for seq in seqs {
                places.push(batch + records.len());
                push(&mut records, Kind::Entry, seq, &[b"some payload"]);
            }
            stamp(&mut records, 1, batch as u64);
            bytes.extend(records);
        }
        (bytes, places)
    }

    #[test]
    fn a_walk_ends_behind_the_last_record_and_knows_its_write() {
        let (bytes, places) = file();
        let mut walk = Walk::new(&bytes, 1);
        let seqs: Vec<u64> = walk.by_ref().map(|(_, record)| record.seq).collect();
        assert_eq!((seqs, walk.end(), walk.batch()), (vec![1, 2, 3], bytes.len(), places[1]));
    }

    /// N19
    #[test]
    fn a_hole_in_the_last_write_is_torn_and_one_before_it_is_damage() {
        let (bytes, places) = file();
        for (place, damaged) in [(0, true), (1, false), (2, false)] {
            let mut holed = bytes.clone();
            holed[places[place] + 2] ^= 1;
            let mut walk = Walk::new(&holed, 1);
            assert_eq!(walk.by_ref().count(), place);
            assert_eq!(was_synced_past(&holed, 1, walk.end()), damaged, "record {place}");
        }
    }
}
