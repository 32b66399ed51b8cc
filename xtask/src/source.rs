//! The repository's Rust files.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::failure::Failure;
use crate::process;

/// A Rust file, by its path from the repository's root.
pub(crate) struct Source {
    pub(crate) path: PathBuf,
    pub(crate) text: String,
}

/// Reads every Rust file that git tracks or would track.
///
/// Without git, or if only the files were copied, it walks the directories instead.
pub(crate) fn rust_files() -> Result<Vec<Source>, Failure> {
    let mut paths = if process::answers(&mut git(&["rev-parse", "--git-dir"])) {
        listed_by_git()?
    } else {
        let mut found = Vec::new();
        walk(Path::new(""), &mut found)?;
        found
    };
    paths.sort();
    paths.dedup();
    paths.into_iter().map(read).collect()
}

fn listed_by_git() -> Result<Vec<PathBuf>, Failure> {
    let listing = process::output(git(&["ls-files", "-z", "--cached", "--others"]).args([
        "--exclude-standard",
        "--",
        "*.rs",
    ]))?;
    let listing = String::from_utf8_lossy(&listing);
    let paths = listing.split('\0').filter(|path| !path.is_empty()).map(PathBuf::from);
    // A tracked file that was just deleted is still listed.
    Ok(paths.filter(|path| path.exists()).collect())
}

/// Prepares a call of git that does not mind a checkout owned by somebody else, as on build machines.
fn git(arguments: &[&str]) -> Command {
    let mut command = Command::new("git");
    command.args(["-c", "safe.directory=*"]).args(arguments);
    command
}

fn walk(directory: &Path, found: &mut Vec<PathBuf>) -> Result<(), Failure> {
    let unreadable = |error| Failure::Unreadable { path: directory.into(), error };
    for entry in fs::read_dir(Path::new(".").join(directory)).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        let path = directory.join(entry.file_name());
        if entry.file_type().map_err(unreadable)?.is_dir() {
            if holds_sources(&path) {
                walk(&path, found)?;
            }
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    Ok(())
}

fn holds_sources(directory: &Path) -> bool {
    let name = directory.file_name().unwrap_or_default().to_string_lossy();
    !name.starts_with('.') && name != "target" && name != "node_modules"
}

fn read(path: PathBuf) -> Result<Source, Failure> {
    match fs::read_to_string(&path) {
        Ok(text) => Ok(Source { path, text }),
        Err(error) => Err(Failure::Unreadable { path, error }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_walk_finds_sources_and_leaves_out_what_is_built() {
        let mut found = Vec::new();
        walk(Path::new("src"), &mut found).unwrap();
        assert!(found.contains(&PathBuf::from("src/rules/scan.rs")));
        assert!(!holds_sources(Path::new("crates/target")));
        assert!(!holds_sources(Path::new(".git")));
        assert!(holds_sources(Path::new("crates/engine")));
    }
}
