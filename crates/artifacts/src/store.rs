//! The interface of a store for artifacts.

use crate::{Claim, ContentHash, StoragePath};
use std::{
    io::{self, Read},
    time::SystemTime,
};

/// A place where artifacts are kept. Its methods block: call them off async threads.
///
/// Whatever happens, a path shows either nothing or one whole file, and what it shows never changes.
pub trait ArtifactStore: Send + Sync {
    /// Says how far the upload of a claim is. One whose last byte has arrived is finished by this.
    ///
    /// # Errors
    /// `Conflict` when something else is kept there.
    fn progress(&self, claim: &Claim) -> Result<Progress, StoreError>;

    /// Goes on with the upload of a claim at `offset`; at 0 it begins anew. Whoever was at it before is turned away.
    ///
    /// If the file is complete already, the written bytes are compared with it.
    ///
    /// # Errors
    /// `Offset` when the upload stands elsewhere.
    fn resume(&self, claim: &Claim, offset: u64) -> Result<Box<dyn Upload>, StoreError>;

    /// Opens a complete file for reading from a byte on; `None` where there is none.
    ///
    /// # Errors
    /// When it cannot be read.
    fn read(&self, path: &StoragePath, from: u64) -> Result<Option<Opened>, StoreError>;

    /// Removes unfinished uploads that were last touched before a time, and says how many.
    ///
    /// # Errors
    /// When the place cannot be looked at.
    fn sweep(&self, before: SystemTime) -> Result<usize, StoreError>;
}

/// An upload under way. What was written stays when it is dropped.
pub trait Upload: Send {
    /// Number of bytes.
    fn offset(&self) -> u64;

    /// Adds bytes.
    ///
    /// # Errors
    /// `TooLong` when there are more than the claim says; then nothing of the upload is kept.
    fn write(&mut self, bytes: &[u8]) -> Result<(), StoreError>;

    /// Makes what is there durable, for somebody to go on with.
    ///
    /// # Errors
    /// When the place fails.
    fn pause(self: Box<Self>) -> Result<(), StoreError>;

    /// Checks the whole, makes it durable and shows it. All bytes must have been written.
    ///
    /// # Errors
    /// `Hash` when it is not what was announced (nothing is kept), `Conflict` when something else is there by now.
    fn finish(self: Box<Self>) -> Result<Finished, StoreError>;
}

/// A complete file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// Bytes.
    pub size: u64,
    /// As it was claimed.
    pub content_type: String,
    /// Of its content.
    pub sha256: ContentHash,
}

/// A complete file, open for reading.
pub struct Opened {
    /// Its size, type and hash.
    pub kept: Kept,
    /// The bytes that were asked for.
    pub content: Box<dyn Read + Send>,
}

/// Progress of an upload, in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    /// So many bytes are there.
    Partial(u64),
    /// All is there.
    Complete(Kept),
}

/// The end of an upload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finished {
    /// The file that is there now.
    pub kept: Kept,
    /// True if it came to be by this very upload.
    pub is_new: bool,
}

/// Errors of an artifact store.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Another content is kept there, or something that is no artifact is in the way.
    #[error("something else is kept at that path")]
    Conflict,
    /// The upload stands elsewhere.
    #[error("the upload stands at byte {at}")]
    Offset {
        /// The offset.
        at: u64,
    },
    /// More bytes than were claimed.
    #[error("more bytes than the {size} that were announced")]
    TooLong {
        /// As claimed.
        size: u64,
    },
    /// The content is not the one that was announced.
    #[error("the content's SHA-256 is {found}, not the one that was announced")]
    Hash {
        /// The hash of the content.
        found: ContentHash,
    },
    /// Another request continues the upload.
    #[error("another request has taken the upload over")]
    Superseded,
    /// There is no room.
    #[error("no room is left")]
    Full,
    /// The place failed.
    #[error(transparent)]
    Io(io::Error),
}

impl From<io::Error> for StoreError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::Full,
            _ => Self::Io(error),
        }
    }
}
