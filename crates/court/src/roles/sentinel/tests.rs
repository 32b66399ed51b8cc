//! Sources as they behave, and as they should not.

mod github;
mod jira;
mod stand_in;
mod together;

use crate::{Document, Folder, Id, Place};
use muster_worker_kit::process::Guards;
use std::{path::Path, sync::Arc};
use tempfile::TempDir;

/// A court with nothing in it.
pub(super) struct Scene {
    pub(super) folder: Arc<Folder>,
    directory: TempDir,
}

impl Scene {
    pub(super) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        Self { folder: Arc::new(Folder::open(directory.path()).unwrap()), directory }
    }

    pub(super) fn path(&self) -> &Path {
        self.directory.path()
    }

    /// The ids of the events that wait for the king.
    pub(super) fn pending(&self) -> Vec<String> {
        let mut ids: Vec<String> =
            self.folder.ids(Place::EventsPending).unwrap().iter().map(Id::to_string).collect();
        ids.sort();
        ids
    }

    pub(super) fn event(&self, id: &str) -> Document {
        self.folder.read(Place::EventsPending, &Id::parse(id).unwrap()).unwrap()
    }

    /// What is kept of a source.
    pub(super) fn record(&self, source: &str) -> Option<Document> {
        self.folder.read(Place::Sources, &Id::parse(source).unwrap()).ok()
    }

    /// The names in `rejected/`.
    pub(super) fn rejected(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.path().join("rejected")).unwrap().flatten();
        let mut names: Vec<String> = entries.map(|entry| entry.file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

/// The guard that `cargo test` builds of `examples/court_guard.rs`.
pub(super) fn guards(scene: &Scene) -> Guards {
    let test = std::env::current_exe().unwrap();
    let program = test.parent().and_then(Path::parent).unwrap().join("examples/court_guard");
    assert!(program.exists(), "{} is built by `cargo build --examples`", program.display());
    Guards { program, args: Vec::new(), lock: scene.path().join("state/locks/sources.lock") }
}
