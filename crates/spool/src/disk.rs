//! What the log asks of a disk.

use std::io;

/// A flat directory of files, honest about what is durable when.
///
/// Nothing is durable before its sync returned: bytes, lengths and reservations of a file before
/// [`sync_data`](Disk::sync_data), names before [`sync_dir`](Disk::sync_dir). Until then a crash may keep any
/// part of them.
pub trait Disk {
    /// An open file.
    type File;

    /// Gives the names of all files, in any order.
    fn list(&self) -> io::Result<Vec<String>>;

    /// Makes an empty file, in place of one that had the name.
    fn create(&self, name: &str) -> io::Result<Self::File>;

    /// Opens a file for writing.
    fn open(&self, name: &str) -> io::Result<Self::File>;

    /// Reads a whole file.
    fn read(&self, name: &str) -> io::Result<Vec<u8>>;

    /// Reads so many bytes from there; fewer are an error.
    fn read_at(&self, name: &str, offset: u64, length: usize) -> io::Result<Vec<u8>>;

    /// Writes all bytes there; on an error any part of them may have been written.
    fn write_at(&self, file: &Self::File, offset: u64, bytes: &[u8]) -> io::Result<()>;

    /// Takes room for the file up to a length it does not have yet, filled with zeros, so that writing there
    /// cannot find the disk full. A disk that cannot says [`io::ErrorKind::Unsupported`].
    fn allocate(&self, file: &Self::File, length: u64) -> io::Result<()>;

    /// Shortens a file; durable when it returns.
    fn truncate(&self, file: &Self::File, length: u64) -> io::Result<()>;

    /// Makes the bytes and the length of a file durable.
    ///
    /// After an error nobody knows what is durable, and a second call may say yes though bytes were dropped.
    fn sync_data(&self, file: &Self::File) -> io::Result<()>;

    /// Removes a file.
    fn remove(&self, name: &str) -> io::Result<()>;

    /// Makes names that were created or removed durable.
    fn sync_dir(&self) -> io::Result<()>;
}
