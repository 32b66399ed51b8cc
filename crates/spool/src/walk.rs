//! Reads the records of a file one after the other, to the first that is none.

use crate::{
    header,
    record::{self, Record},
};

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

    /// Where the last record so far ends.
    pub(crate) fn end(&self) -> usize {
        self.at
    }

    /// Where the write of the last record so far began. Only this one may never have been synced.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Kind, push, stamp};

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
