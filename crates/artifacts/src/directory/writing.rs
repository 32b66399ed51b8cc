//! An upload into a part.

use super::{Claim, Inner, StoreError, Upload, pen::Pen};
use crate::{ContentHash, Finished};
use sha2::{Digest, Sha256};
use std::{
    fs::File,
    io::{self, Read, Write},
    sync::Arc,
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
