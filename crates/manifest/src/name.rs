//! Names of fragments' files (S21).

use std::fmt;

/// The name of a fragment's file: `manifest_fragment_<workerId>_<chunkId>.json`.
///
/// The plain `manifest_fragment_<workerId>.json` of a worker that leaves just one is understood too.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FragmentName {
    worker: Box<str>,
    chunk: Option<u64>,
}

/// The reason why a text does not name a fragment.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// The worker's id is not one.
    #[error("the worker id {0:?} is not of the form [A-Za-z0-9][A-Za-z0-9._-]{{0,63}}")]
    Worker(String),
    /// The chunk's id is not one.
    #[error("the chunk id {0} is not a whole number from 1 to 2^63 - 1, written without leading zeros")]
    Chunk(String),
}

impl FragmentName {
    /// Names the fragment that a worker made with a chunk.
    ///
    /// # Errors
    /// When one of the two is not an id.
    pub fn new(worker: &str, chunk: u64) -> Result<Self, NameError> {
        if !is_chunk(chunk) {
            return Err(NameError::Chunk(chunk.to_string()));
        }
        Self::checked(worker, Some(chunk))
    }

    /// Reads the name of a file; none where the file is something else.
    #[must_use]
    pub fn parse(file: &str) -> Option<Result<Self, NameError>> {
        let ids = file.strip_prefix(PREFIX)?.strip_suffix(SUFFIX)?;
        Some(match ids.rsplit_once('_') {
            Some((worker, digits))
                if digits.bytes().all(|byte| byte.is_ascii_digit()) && !digits.is_empty() =>
            {
                let chunk = digits.parse().ok().filter(|chunk: &u64| chunk.to_string() == digits);
                let chunk = chunk.filter(|chunk| is_chunk(*chunk));
                let chunk = chunk.ok_or_else(|| NameError::Chunk(digits.to_owned()));
                chunk.and_then(|chunk| Self::checked(worker, Some(chunk)))
            }
            _ => Self::checked(ids, None),
        })
    }

    /// The worker that made it.
    #[must_use]
    pub fn worker(&self) -> &str {
        &self.worker
    }

    /// The chunk it was made with, where the name says so.
    #[must_use]
    pub const fn chunk(&self) -> Option<u64> {
        self.chunk
    }

    fn checked(worker: &str, chunk: Option<u64>) -> Result<Self, NameError> {
        if !is_worker_id(worker) {
            return Err(NameError::Worker(worker.to_owned()));
        }
        Ok(Self { worker: worker.into(), chunk })
    }
}

impl fmt::Display for FragmentName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write(f, &self.worker, self.chunk)
    }
}

/// Writes a fragment's name out of its parts.
pub(crate) fn write(f: &mut fmt::Formatter<'_>, worker: &str, chunk: Option<u64>) -> fmt::Result {
    match chunk {
        Some(chunk) => write!(f, "{PREFIX}{worker}_{chunk}{SUFFIX}"),
        None => write!(f, "{PREFIX}{worker}{SUFFIX}"),
    }
}

/// Returns true if a text is a worker's id (S1).
#[must_use]
pub fn is_worker_id(text: &str) -> bool {
    let is_inner = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    text.len() <= 64
        && text.bytes().next().is_some_and(|first| first.is_ascii_alphanumeric())
        && text.bytes().all(is_inner)
}

/// Returns true if a number is a chunk's id: they count up from 1 and end before 2^63 (S12, S13).
pub(crate) const fn is_chunk(chunk: u64) -> bool {
    chunk >= 1 && chunk <= i64::MAX as u64
}

const PREFIX: &str = "manifest_fragment_";
const SUFFIX: &str = ".json";

#[cfg(test)]
mod tests {
    use super::*;

    /// S21: a name says worker and chunk, and survives being read.
    #[test]
    fn a_name_is_read_back() {
        for (worker, chunk) in [("W1", 1), ("a_b", 2), ("a_3", 4), ("x.y-z", i64::MAX as u64)] {
            let name = FragmentName::new(worker, chunk).unwrap();
            let file = name.to_string();
            assert_eq!(file, format!("manifest_fragment_{worker}_{chunk}.json"));
            assert_eq!(FragmentName::parse(&file), Some(Ok(name)));
        }
    }

    /// S21: the source's names, one fragment per worker, are understood.
    #[test]
    fn a_name_without_a_chunk_is_read() {
        let name = FragmentName::parse("manifest_fragment_workerA.json").unwrap().unwrap();
        assert_eq!((name.worker(), name.chunk()), ("workerA", None));
        assert_eq!(name.to_string(), "manifest_fragment_workerA.json");
    }

    /// S21, S25: what only looks like a fragment's name is refused; what does not is something else.
    #[test]
    fn a_wrong_name_is_told_from_another_file() {
        for other in ["manifest.json", "session.json", "manifest_fragment_W_1.json.part", "frame_1.json"] {
            assert_eq!(FragmentName::parse(other), None, "{other}");
        }
        for wrong in ["_W_0", "_W_01", "_W_9223372036854775808", "_", "__1", "_._1", "_W 1_1", "_W\n_1"] {
            let file = format!("manifest_fragment{wrong}.json");
            assert!(FragmentName::parse(&file).unwrap().is_err(), "{file}");
        }
        assert!(FragmentName::new("../x", 1).is_err() && FragmentName::new("W", 0).is_err());
        assert!(is_worker_id(&"w".repeat(64)) && !is_worker_id(&"w".repeat(65)));
    }
}
