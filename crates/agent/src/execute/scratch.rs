//! A directory for each task.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::{fs, sync::OnceCell};

/// Directories for tasks, below one that is the agent's alone.
///
/// What an earlier life of the agent left there is removed before the first directory is made, not sooner: until then
/// programs of that life may still write there.
#[derive(Debug)]
pub struct Scratch {
    root: PathBuf,
    last: AtomicU64,
    emptied: OnceCell<()>,
}

impl Scratch {
    /// Touches nothing yet.
    #[must_use]
    pub fn new(root: PathBuf) -> Self {
        Self { root, last: AtomicU64::new(0), emptied: OnceCell::new() }
    }

    /// Makes an empty directory. Its name is a number: nothing that a backend sent becomes part of a path.
    pub(super) async fn make(&self) -> io::Result<PathBuf> {
        self.emptied.get_or_try_init(|| empty(&self.root)).await?;
        let number = self.last.fetch_add(1, Ordering::Relaxed) + 1;
        let path = std::path::absolute(self.root.join(number.to_string()))?;
        fs::DirBuilder::new().mode(0o700).create(&path).await?;
        Ok(path)
    }

    pub(super) async fn remove(&self, path: &Path) {
        if let Err(error) = fs::remove_dir_all(path).await {
            tracing::warn!(path = %path.display(), %error, "a task's directory is left behind");
        }
    }
}

async fn empty(root: &Path) -> io::Result<()> {
    match fs::remove_dir_all(root).await {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => fs::DirBuilder::new().mode(0o700).recursive(true).create(root).await,
    }
}
