//! The repository's Rust files.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::failure::Failure;
use crate::process;

/// A Rust file, by its path from the repository's root.
pub(crate) struct Source {
    pub(crate) path: PathBuf,
    pub(crate) text: String,
}

/// Reads every Rust file that git tracks or would track.
pub(crate) fn rust_files() -> Result<Vec<Source>, Failure> {
    let listing = process::output(Command::new("git").args([
        "ls-files",
        "-z",
        "--deduplicate",
        "--cached",
        "--others",
        "--exclude-standard",
        "--",
        "*.rs",
    ]))?;
    let listing = String::from_utf8_lossy(&listing).into_owned();
    let mut paths: Vec<PathBuf> = listing
        .split('\0')
        .filter(|path| !path.is_empty())
        .map(PathBuf::from)
        .collect();
    // A tracked file that was just deleted is still listed.
    paths.retain(|path| path.exists());
    paths.sort();
    paths.into_iter().map(read).collect()
}

fn read(path: PathBuf) -> Result<Source, Failure> {
    match fs::read_to_string(&path) {
        Ok(text) => Ok(Source { path, text }),
        Err(error) => Err(Failure::Unreadable { path, error }),
    }
}
