//! An upload of what is there already: a repeat, which changes nothing, or another content, which is refused.

use super::{Claim, Kept, StoreError, Upload, is_same};
use crate::Finished;
use std::{
    fs::File,
    io::{self, Read},
};

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
