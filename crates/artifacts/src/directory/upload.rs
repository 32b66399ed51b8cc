//! Uploads: into a part, or compared with the file that is there already; and the pen that lets one request at a time write.

use super::{Claim, Inner, StoreError, Upload};
use crate::{
    ContentHash, Finished,
    directory::{Kept, is_same},
};
use sha2::{Digest, Sha256};
use std::{
    collections::HashMap,
    fs::File,
    io::{self, Read, Write},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

pub(super) struct Writing {
    inner: Arc<Inner>,
    claim: Claim,
    pen: Pen,
    file: File,
    hasher: Sha256,
    offset: u64,
}

impl Writing {
    /// Goes on with a part at `offset`. What is there is hashed anew: nobody remembers it over a restart.
    pub(super) fn begin(inner: Arc<Inner>, claim: Claim, pen: Pen, offset: u64) -> Result<Self, StoreError> {
        let held = pen.hold()?;
        let mut file = inner.place.open_part(pen.part())?;
        let length = file.metadata()?.len();
        if offset == 0 {
            file.set_len(0)?;
        } else if offset != length || length > claim.size {
            return Err(StoreError::Offset { at: length.min(claim.size) });
        }
        if !inner.place.has_room_for(claim.size - offset)? {
            return Err(StoreError::Full);
        }
        let hasher = if offset == 0 { Sha256::new() } else { hash(&mut file)? };
        drop(held);
        Ok(Self { inner, claim, pen, file, hasher, offset })
    }

    fn remove(&self) -> io::Result<()> {
        self.inner.place.remove_part(self.pen.part())
    }
}

impl Upload for Writing {
    fn offset(&self) -> u64 {
        self.offset
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        let held = self.pen.hold()?;
        let size = self.claim.size;
        if bytes.len() as u64 > size - self.offset {
            self.remove()?;
            return Err(StoreError::TooLong { size });
        }
        self.file.write_all(bytes)?;
        drop(held);
        self.hasher.update(bytes);
        self.offset += bytes.len() as u64;
        Ok(())
    }

    fn pause(self: Box<Self>) -> Result<(), StoreError> {
        self.file.sync_all()?;
        Ok(self.inner.place.sync_parts()?)
    }

    fn finish(self: Box<Self>) -> Result<Finished, StoreError> {
        let _held = self.pen.hold()?;
        let found = ContentHash::finish(self.hasher.clone());
        if self.offset != self.claim.size {
            return Err(StoreError::Offset { at: self.offset });
        }
        if self.claim.sha256.is_some_and(|announced| announced != found) {
            self.remove()?;
            return Err(StoreError::Hash { found });
        }
        self.file.sync_all()?;
        self.inner.publish(&self.claim, self.pen.part(), found)
    }
}

/// Hashes all of a file and leaves it at its end.
fn hash(file: &mut File) -> io::Result<Sha256> {
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 64 * 1024];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hasher),
            count => hasher.update(&buffer[..count]),
        }
    }
}

pub(super) struct Comparing {
    claim: Claim,
    kept: Kept,
    file: File,
    offset: u64,
}

impl Comparing {
    /// Compares from `offset` on, where `file` stands.
    pub(super) fn new(claim: Claim, kept: Kept, file: File, offset: u64) -> Self {
        Self { claim, kept, file, offset }
    }
}

impl Upload for Comparing {
    fn offset(&self) -> u64 {
        self.offset
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        let size = self.claim.size;
        if bytes.len() as u64 > size.saturating_sub(self.offset) {
            return Err(StoreError::TooLong { size });
        }
        let mut known = vec![0; bytes.len()];
        match self.file.read_exact(&mut known) {
            Ok(()) if known == bytes => {}
            Ok(()) => return Err(StoreError::Conflict),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Err(StoreError::Conflict),
            Err(error) => return Err(error.into()),
        }
        self.offset += bytes.len() as u64;
        Ok(())
    }

    fn pause(self: Box<Self>) -> Result<(), StoreError> {
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<Finished, StoreError> {
        let whole = self.offset == self.kept.size;
        if whole && is_same(&self.claim, &self.kept) {
            return Ok(Finished { kept: self.kept, is_new: false });
        }
        Err(StoreError::Conflict)
    }
}

/// The pens of all parts that somebody writes.
#[derive(Clone, Debug, Default)]
pub(super) struct Pens(Arc<Mutex<HashMap<String, Arc<Mutex<u64>>>>>);

/// The right to write one part, until somebody else takes it.
#[derive(Debug)]
pub(super) struct Pen {
    pens: Pens,
    part: String,
    turn: u64,
    /// The newest turn; held during each write, so that nobody takes over in the middle of one.
    newest: Arc<Mutex<u64>>,
}

impl Pens {
    /// Takes the pen of a part from whoever has it, once their last write is through.
    pub(super) fn take(&self, part: String) -> Pen {
        let newest = Arc::clone(lock(&self.0).entry(part.clone()).or_default());
        let turn = {
            let mut newest = lock(&newest);
            *newest += 1;
            *newest
        };
        Pen { pens: self.clone(), part, turn, newest }
    }
}

impl Pen {
    /// The part it writes.
    pub(super) fn part(&self) -> &str {
        &self.part
    }

    /// Keeps others from taking over for the moment; refused when somebody has.
    pub(super) fn hold(&self) -> Result<MutexGuard<'_, u64>, StoreError> {
        let newest = lock(&self.newest);
        if *newest == self.turn { Ok(newest) } else { Err(StoreError::Superseded) }
    }
}

impl Drop for Pen {
    fn drop(&mut self) {
        let mut pens = lock(&self.pens.0);
        // One reference is the map's, one is ours: nobody else writes this part.
        if Arc::strong_count(&self.newest) <= 2 {
            pens.remove(&self.part);
        }
    }
}

/// A panic elsewhere leaves a number and a map whole.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// N21: of two uploads of one path the newer goes on; nothing is remembered of those that ended.
    #[test]
    fn the_newest_has_the_pen() {
        let pens = Pens::default();
        let (first, second) = (pens.take("a".to_owned()), pens.take("a".to_owned()));
        assert!(matches!(first.hold(), Err(StoreError::Superseded)));
        assert!(second.hold().is_ok() && pens.take("b".to_owned()).hold().is_ok());
        drop(first);
        assert!(second.hold().is_ok());
        drop(second);
        assert!(lock(&pens.0).is_empty());
    }
}
