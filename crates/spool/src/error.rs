//! Errors of the log.

use std::io;

/// Errors of the log. Nothing that was appended is lost by any of these.
#[derive(Debug, thiserror::Error)]
pub enum SpoolError {
    /// Another process has the log.
    #[error(
        "the spool {directory} is in use by another agent; stop it first or choose another --spool directory"
    )]
    InUse {
        /// Directory of the log.
        directory: String,
    },
    /// The disk has no room. What was to be written stays in memory and the next sync tries again.
    #[error("no room on the disk for {bytes} bytes in {file}")]
    Full {
        /// The file that was to grow.
        file: String,
        /// Bytes that were to be written or reserved.
        bytes: u64,
    },
    /// A payload is longer than may ever be written.
    #[error("an entry of {length} bytes, {max} are allowed")]
    TooLong {
        /// The given length.
        length: usize,
        /// The limit.
        max: usize,
    },
    /// Bytes that had been durable are not what was written.
    #[error(
        "{file} is damaged at byte {offset}: {what}; nothing was changed: restore the file from a copy, or move the spool directory away to begin anew without what it held"
    )]
    Damaged {
        /// The file.
        file: String,
        /// Position at which reading ended.
        offset: u64,
        /// Description of the damage.
        what: &'static str,
    },
    /// The log was written by another version.
    #[error(
        "{file} has format {found}, this binary knows {known}; use the muster that wrote it to empty the spool"
    )]
    Version {
        /// The file.
        file: String,
        /// In the file.
        found: u32,
        /// In this binary.
        known: u32,
    },
    /// The disk refused.
    #[error("could not {doing} {file}: {source}")]
    Io {
        /// The operation that failed, as a verb.
        doing: &'static str,
        /// The file.
        file: String,
        /// The error of the disk.
        source: io::Error,
    },
}

/// Operation on a file, used for the error if it fails.
#[derive(Clone, Copy)]
pub(crate) struct Task<'a> {
    pub(crate) file: &'a str,
    /// Bytes to be written.
    pub(crate) bytes: usize,
}

impl<'a> Task<'a> {
    /// Something that writes nothing.
    pub(crate) fn on(file: &'a str) -> Self {
        Self { file, bytes: 0 }
    }

    /// Tells what a refusal of the disk means.
    pub(crate) fn refused(self, doing: &'static str) -> impl FnOnce(io::Error) -> SpoolError + use<'a> {
        use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
        move |source| match source.kind() {
            StorageFull | QuotaExceeded | FileTooLarge => {
                SpoolError::Full { file: self.file.to_owned(), bytes: self.bytes as u64 }
            }
            _ => SpoolError::Io { doing, file: self.file.to_owned(), source },
        }
    }
}
