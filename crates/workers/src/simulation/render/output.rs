//! The directory of a task: everything in it, nothing beside it.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

/// The directory of a task.
#[derive(Debug)]
pub(super) struct Output {
    directory: PathBuf,
}

/// Reason why something could not be written.
#[derive(Debug, thiserror::Error)]
pub(super) enum OutputError {
    #[error("{}: {error}", path.display())]
    Io { path: PathBuf, error: io::Error },
    #[error("{} leads to {}, outside of --output-root {}", directory.display(), real.display(), root.display())]
    Outside { directory: PathBuf, real: PathBuf, root: PathBuf },
}

impl Output {
    /// Makes the directory. Links in its path do not lead out of the root.
    ///
    /// This is the one time that it is made: where a master moves it away, because it gave the worker up, whatever is
    /// written afterwards fails instead of growing a second one.
    pub(super) fn prepare(directory: &Path, root: Option<&Path>) -> Result<Self, OutputError> {
        if let Some(root) = root {
            check_inside(directory, root)?;
        }
        fs::create_dir_all(directory).map_err(|error| OutputError::at(directory, error))?;
        Ok(Self { directory: directory.to_owned() })
    }

    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }

    /// Makes a directory in it.
    pub(super) fn make(&self, name: &str) -> Result<(), OutputError> {
        let path = self.directory.join(name);
        match fs::create_dir(&path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(OutputError::at(&path, error)),
            _ => Ok(()),
        }
    }

    /// Writes a file so that nobody ever sees half of it.
    pub(super) fn write(&self, name: &str, bytes: &[u8]) -> Result<(), OutputError> {
        let path = self.directory.join(name);
        let part = self.directory.join(format!("{name}.part"));
        let written = fs::write(&part, bytes).and_then(|()| fs::rename(&part, &path));
        written.map_err(|error| OutputError::at(&path, error))
    }

    /// Files in a directory of it, in order; what is no plain file is left out.
    pub(super) fn files(&self, name: &str) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.directory.join(name)) else { return Vec::new() };
        let plain = entries.flatten().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()));
        let names = plain.filter_map(|entry| entry.file_name().into_string().ok());
        let mut names: Vec<String> = names.map(|file| format!("{name}/{file}")).collect();
        names.sort_unstable();
        names
    }

    /// True if it holds a plain file of a name; a link could lead anywhere.
    pub(super) fn has(&self, name: &str) -> bool {
        self.directory.join(name).symlink_metadata().is_ok_and(|found| found.is_file())
    }

    /// Returns when all that was written is on disk, whoever wrote it.
    pub(super) fn sync(&self) -> Result<(), OutputError> {
        let synced = fs::File::open(&self.directory).and_then(|disk| Ok(rustix::fs::syncfs(disk)?));
        synced.map_err(|error| OutputError::at(&self.directory, error))
    }
}

impl OutputError {
    fn at(path: &Path, error: io::Error) -> Self {
        Self::Io { path: path.to_owned(), error }
    }
}

/// Follows what there is of a path, before anything is made.
fn check_inside(directory: &Path, root: &Path) -> Result<(), OutputError> {
    let real_root = root.canonicalize().map_err(|error| OutputError::at(root, error))?;
    let there = directory.ancestors().find(|path| path.symlink_metadata().is_ok()).unwrap_or(directory);
    let real = there.canonicalize().map_err(|error| OutputError::at(there, error))?;
    if real.starts_with(&real_root) {
        return Ok(());
    }
    Err(OutputError::Outside { directory: directory.to_owned(), real, root: root.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    /// S27: a link inside the root does not lead a task out of it, and nothing is made behind it.
    #[test]
    fn links_do_not_lead_out() {
        let place = tempfile::tempdir().unwrap();
        let (root, outside) = (place.path().join("root"), place.path().join("outside"));
        fs::create_dir(&root).unwrap();
        fs::create_dir(&outside).unwrap();
        symlink(&outside, root.join("link")).unwrap();
        symlink(place.path().join("nowhere"), root.join("dangling")).unwrap();
        for wrong in ["link", "link/chunks/5", "dangling/chunks/5"] {
            assert!(Output::prepare(&root.join(wrong), Some(&root)).is_err(), "{wrong}");
        }
        assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
        let output = Output::prepare(&root.join("session/chunks/5"), Some(&root)).unwrap();
        assert!(output.directory().is_dir());
        assert!(Output::prepare(&root.join("a"), Some(&place.path().join("missing"))).is_err());
    }

    /// S15: once the directory is moved away nothing grows in its place.
    #[test]
    fn a_moved_directory_stays_moved() {
        let place = tempfile::tempdir().unwrap();
        let directory = place.path().join("chunks/5");
        let output = Output::prepare(&directory, None).unwrap();
        output.make("frames").unwrap();
        output.make("frames").unwrap();
        output.write("frames/00000001.png", b"x").unwrap();
        assert_eq!(output.files("frames"), ["frames/00000001.png"]);
        fs::rename(&directory, place.path().join("quarantine")).unwrap();
        let error = output.write("frames/00000002.png", b"x").unwrap_err().to_string();
        assert!(error.contains("frames/00000002.png"), "{error}");
        output.make("meta").unwrap_err();
        output.sync().unwrap_err();
        assert!(!directory.exists());
    }

    /// S5: what is handed in are plain files, in order.
    #[test]
    fn only_plain_files_are_listed() {
        let place = tempfile::tempdir().unwrap();
        let output = Output::prepare(place.path(), None).unwrap();
        output.make("poses").unwrap();
        output.make("poses/inner").unwrap();
        for name in ["poses/2.json", "poses/1.json"] {
            output.write(name, b"{}").unwrap();
        }
        symlink("/etc/passwd", place.path().join("poses/3.json")).unwrap();
        assert_eq!(output.files("poses"), ["poses/1.json", "poses/2.json"]);
        assert!(output.has("poses/1.json") && !output.has("poses/3.json") && !output.has("poses/inner"));
        assert!(output.files("nothing").is_empty());
    }
}
