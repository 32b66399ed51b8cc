//! Support for tests of real processes.

use std::path::{Path, PathBuf};
use std::{env, fs, process::Command};

/// A program that `cargo test` builds from a crate's `examples`.
pub(crate) fn example(name: &str) -> PathBuf {
    let test = env::current_exe().unwrap();
    let path = test.parent().and_then(Path::parent).unwrap().join("examples").join(name);
    assert!(path.exists(), "{} is built by `cargo build --examples`", path.display());
    path
}

/// Every process, zombies left out, in whose environment a text stands.
pub(crate) fn marked_processes(mark: &str) -> Vec<String> {
    let processes = fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
    let is_marked = |path: &PathBuf| {
        let environment = fs::read(path.join("environ")).unwrap_or_default();
        environment.windows(mark.len()).any(|window| window == mark.as_bytes())
    };
    let name =
        |path: PathBuf| fs::read_to_string(path.join("cmdline")).unwrap_or_default().replace('\0', " ");
    processes.filter(is_marked).map(name).collect()
}

/// A pipe with a name: whoever reads it waits until somebody wrote.
pub(crate) struct Bell(PathBuf);

impl Bell {
    pub(crate) fn hang(directory: &Path) -> Self {
        let path = directory.join("bell");
        assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
        Self(path)
    }

    /// Shell command that rings it; [`Self::rung`] returns `word`.
    pub(crate) fn ring(&self, word: &str) -> String {
        format!("echo {word} > '{}'", self.0.display())
    }

    /// Waits until it rang; gives what was written.
    pub(crate) async fn rung(&self) -> String {
        let path = self.0.clone();
        tokio::task::spawn_blocking(move || fs::read_to_string(path).unwrap().trim().to_owned())
            .await
            .unwrap()
    }
}
