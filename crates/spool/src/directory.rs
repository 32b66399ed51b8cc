//! The real disk: one directory.

use crate::{Disk, SpoolError};
use std::{
    fs::File,
    io,
    path::{Path, PathBuf},
};

/// One directory on the real disk, locked for as long as this lives.
#[derive(Debug)]
pub struct Directory {
    path: PathBuf,
    lock: Option<File>,
}

impl Directory {
    /// Opens a directory, creates it (0700) if it is not there, and locks it against a second agent.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, SpoolError> {
        let _ = path;
        unimplemented!("follows")
    }

    /// Opens a directory for looking at, beside an agent that may be writing to it.
    pub fn for_reading(path: impl AsRef<Path>) -> Self {
        Self { path: path.as_ref().to_owned(), lock: None }
    }
}

impl Disk for Directory {
    type File = File;

    fn list(&self) -> io::Result<Vec<String>> {
        let _ = (&self.path, &self.lock);
        unimplemented!("follows")
    }

    fn create(&self, _: &str) -> io::Result<File> {
        unimplemented!("follows")
    }

    fn open(&self, _: &str) -> io::Result<File> {
        unimplemented!("follows")
    }

    fn read(&self, _: &str) -> io::Result<Vec<u8>> {
        unimplemented!("follows")
    }

    fn read_at(&self, _: &str, _: u64, _: usize) -> io::Result<Vec<u8>> {
        unimplemented!("follows")
    }

    fn write_at(&self, _: &File, _: u64, _: &[u8]) -> io::Result<()> {
        unimplemented!("follows")
    }

    fn allocate(&self, _: &File, _: u64) -> io::Result<()> {
        unimplemented!("follows")
    }

    fn truncate(&self, _: &File, _: u64) -> io::Result<()> {
        unimplemented!("follows")
    }

    fn sync_data(&self, _: &File) -> io::Result<()> {
        unimplemented!("follows")
    }

    fn remove(&self, _: &str) -> io::Result<()> {
        unimplemented!("follows")
    }

    fn sync_dir(&self) -> io::Result<()> {
        unimplemented!("follows")
    }
}
