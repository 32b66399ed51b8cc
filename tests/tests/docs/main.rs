//! The documentation, executed: what a page tells people to type is typed, and what it says they see is looked for.
//!
//! How a page is written so that it can be run stands in `docs/workers/README.md`; [`shell`] runs it.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod commands;
mod examples;
mod markdown;
mod pages;
mod settings;
mod shell;

use std::path::{Path, PathBuf};

/// The root of the repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// Every page of the repository, as paths from its root.
fn all_pages() -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut directories = vec![root()];
    while let Some(directory) = directories.pop() {
        for entry in directory.read_dir().unwrap().map(Result::unwrap) {
            let name = entry.file_name().into_string().unwrap();
            let is_ours = !name.starts_with('.') && !NOT_OURS.contains(&name.as_str());
            if is_ours && entry.file_type().unwrap().is_dir() {
                directories.push(entry.path());
            } else if is_ours && name.ends_with(".md") {
                found.push(entry.path().strip_prefix(root()).unwrap().to_owned());
            }
        }
    }
    found.sort();
    assert!(found.contains(&PathBuf::from("README.md")), "{found:?}");
    found
}

/// Directories that hold what others wrote, or what was built.
const NOT_OURS: [&str; 2] = ["target", "node_modules"];
