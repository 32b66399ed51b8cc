//! Headers and names of the files of the log.
//!
//! `magic 8 | version u32 | opening u8 | number u64 | first seq u64 | end of the file before u64 | crc u32`.
//! The file before is good to exactly that byte: all of it had been synced. What lies behind it is what a
//! failed sync left, and stands again in this file.

use crate::{
    SpoolError,
    record::{u32_at, u64_at},
};

/// Reason why a file was begun, with its letter on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Opening {
    /// The log is new.
    Fresh = b'F',
    /// The file before can no longer be trusted.
    Continuation = b'C',
    /// The owner gave its state, which follows.
    Snapshot = b'S',
    /// It holds what was set aside.
    Aside = b'N',
}

/// The beginning of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) opening: Opening,
    pub(crate) number: u64,
    pub(crate) first_seq: u64,
    pub(crate) prior_end: u64,
}

impl Header {
    /// The name of the file that begins like this.
    pub(crate) fn name(&self) -> String {
        match self.opening {
            Opening::Aside => aside_name(self.number),
            Opening::Fresh | Opening::Continuation | Opening::Snapshot => segment_name(self.number),
        }
    }

    /// Writes the beginning.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(LENGTH);
        bytes.extend(MAGIC);
        bytes.extend(VERSION.to_le_bytes());
        bytes.push(self.opening as u8);
        bytes.extend(self.number.to_le_bytes());
        bytes.extend(self.first_seq.to_le_bytes());
        bytes.extend(self.prior_end.to_le_bytes());
        bytes.extend(crc32fast::hash(&bytes).to_le_bytes());
        bytes
    }

    /// Reads the beginning of a file; nothing if it is not whole.
    pub(crate) fn decode(name: &str, bytes: &[u8]) -> Result<Option<Self>, SpoolError> {
        if bytes.len() < LENGTH || bytes[..MAGIC.len()] != MAGIC {
            return Ok(None);
        }
        let found = u32_at(bytes, MAGIC.len());
        if found != VERSION && found != 0 {
            return Err(SpoolError::Version { file: name.into(), found, known: VERSION });
        }
        let header = opening(bytes[OPENING]).map(|opening| Self {
            opening,
            number: u64_at(bytes, OPENING + 1),
            first_seq: u64_at(bytes, OPENING + 9),
            prior_end: u64_at(bytes, OPENING + 17),
        });
        Ok(header.filter(|header| header.encode() == bytes[..LENGTH] && header.name() == name))
    }
}

/// The name of a segment.
pub(crate) fn segment_name(number: u64) -> String {
    format!("segment-{number:016}.log")
}

/// The name of a file of what was set aside.
pub(crate) fn aside_name(number: u64) -> String {
    format!("aside-{number:016}.log")
}

/// Picks the numbers of the files that a function names, in order.
pub(crate) fn numbers(names: &[String], name: fn(u64) -> String) -> Vec<u64> {
    let number = |file: &String| {
        let digits = file.strip_suffix(".log")?.rsplit('-').next()?;
        digits.parse().ok().filter(|number| name(*number) == *file)
    };
    let mut numbers: Vec<u64> = names.iter().filter_map(number).collect();
    numbers.sort_unstable();
    numbers
}

fn opening(letter: u8) -> Option<Opening> {
    let all = [Opening::Fresh, Opening::Continuation, Opening::Snapshot, Opening::Aside];
    all.into_iter().find(|opening| *opening as u8 == letter)
}

/// The bytes of a beginning.
pub(crate) const LENGTH: usize = OPENING + 29;

const MAGIC: [u8; 8] = *b"\x89spool\r\n";
// Never 0: that is what a torn beginning shows.
const VERSION: u32 = 1;
const OPENING: usize = 12;

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: Header = Header { opening: Opening::Snapshot, number: 3, first_seq: 9, prior_end: 77 };

    #[test]
    fn a_beginning_is_read_as_it_was_written_and_only_in_its_own_file() {
        let bytes = HEADER.encode();
        assert_eq!(bytes.len(), LENGTH);
        assert_eq!(Header::decode(&segment_name(3), &bytes).unwrap(), Some(HEADER));
        assert_eq!(Header::decode(&segment_name(4), &bytes).unwrap(), None);
    }

    /// N19
    #[test]
    fn a_torn_beginning_is_none_and_one_of_another_version_is_an_error() {
        let bytes = HEADER.encode();
        for kept in 0..LENGTH {
            let mut torn = bytes.clone();
            torn[kept..].fill(0);
            assert_eq!(Header::decode(&segment_name(3), &torn).unwrap(), None, "{kept} bytes");
        }
        let mut newer = bytes;
        newer[MAGIC.len()] = 2;
        let error = Header::decode(&segment_name(3), &newer).unwrap_err();
        assert!(matches!(error, SpoolError::Version { found: 2, known: 1, .. }), "{error}");
    }

    #[test]
    fn only_names_of_the_kind_are_numbered() {
        let names = ["segment-0000000000000012.log", "segment-2.log", "aside-0000000000000001.log", "lock"];
        let names: Vec<String> = names.map(String::from).into();
        assert_eq!(numbers(&names, segment_name), [12]);
        assert_eq!(numbers(&names, aside_name), [1]);
    }
}
