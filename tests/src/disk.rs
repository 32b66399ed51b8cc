//! A disk that can be full.

use std::{
    fs::{self, File},
    io::Write,
    path::{Path, PathBuf},
    process::Command,
};
use tempfile::TempDir;

/// A small disk; gone with the value.
#[derive(Debug)]
pub struct SmallDisk {
    directory: TempDir,
}

impl SmallDisk {
    /// Mounts one with so many megabytes; `None` where this process may not.
    #[must_use]
    pub fn mount(megabytes: u32) -> Option<Self> {
        let directory = tempfile::tempdir().unwrap();
        let options = format!("size={megabytes}m");
        let mount = ["-t", "tmpfs", "-o", &options, "muster-test"];
        let mounted = Command::new("mount").args(mount).arg(directory.path()).output().unwrap();
        mounted.status.success().then_some(Self { directory })
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Leaves no byte free.
    pub fn fill(&self) {
        let mut filler = File::create(self.filler()).unwrap();
        while filler.write_all(&[1; 4096]).is_ok() {}
    }

    /// Takes back what filled it.
    pub fn free(&self) {
        fs::remove_file(self.filler()).unwrap();
    }

    fn filler(&self) -> PathBuf {
        self.path().join("filler")
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(self.path()).status();
    }
}
