//! The files of a task, and the fragments that are accepted of them (S5, S21).

use super::{
    OutputError, OutputRoot, PathFault, TaskFiles,
    directory::{A_LINK, Directory},
    path::parts,
    quarantine::{Entry, checked_worker},
};
use muster_manifest::FragmentName;
use muster_model::Name;
use std::{fs::File, io::Read, path::PathBuf};

impl OutputRoot {
    /// The directory of a task's one attempt: absolute, whether it is there or not.
    #[must_use]
    pub fn task_directory(&self, task: TaskFiles<'_>) -> PathBuf {
        self.path().join(task.output).join(CHUNKS).join(task.chunk.to_string())
    }

    /// Makes the directory of a task's one attempt; gives its absolute path.
    ///
    /// # Errors
    /// When the session's directory is not allowed, the disk refuses, or something foreign is in the way.
    pub fn make_task_directory(&self, task: TaskFiles<'_>) -> Result<PathBuf, OutputError> {
        let chunks = self.make_session_directory(task.output, CHUNKS)?;
        chunks.make_soon(task.chunk.to_string())?;
        Ok(self.task_directory(task))
    }

    /// Reads the fragment that a worker left in its task's directory (S5 `manifestFragmentPath`).
    ///
    /// # Errors
    /// When the path leaves the directory or leads through a link, or the file is missing or too large.
    pub fn read_fragment(&self, task: TaskFiles<'_>, path: &str, limit: u64) -> Result<Vec<u8>, OutputError> {
        let missing = || OutputError::Missing { path: path.to_owned() };
        let (directory, name) = self.find(task, path)?.ok_or_else(missing)?;
        let file = directory.file(name).map_err(|error| as_fault(error, path))?.ok_or_else(missing)?;
        let mut bytes = Vec::new();
        let read = File::take(file, limit.saturating_add(1)).read_to_end(&mut bytes);
        read.map_err(|error| OutputError::disk("read", directory.path_of(name), error))?;
        if bytes.len() as u64 > limit {
            return Err(OutputError::TooLarge { path: path.to_owned(), limit });
        }
        Ok(bytes)
    }

    /// Checks that a file that a worker names lies in its task's directory (S5 `poseFiles`); it need not exist.
    ///
    /// # Errors
    /// When the path leaves the directory or leads through a link, or stands for something that is no file.
    pub fn check_file(&self, task: TaskFiles<'_>, path: &str) -> Result<(), OutputError> {
        match self.find(task, path)? {
            Some((directory, name)) => {
                directory.file(name).map(|_| ()).map_err(|error| as_fault(error, path))
            }
            None => Ok(()),
        }
    }

    /// Writes an accepted fragment to where the merge reads it; it is durable when this returns (S21).
    ///
    /// # Errors
    /// When the disk refuses, or something foreign is in the way.
    pub fn place_fragment(
        &self,
        task: TaskFiles<'_>,
        worker: &Name,
        bytes: &[u8],
    ) -> Result<(), OutputError> {
        let file = fragment_file(worker, task.chunk)?;
        let meta = self.make_session_directory(task.output, META)?;
        let mut part = self.parts().begin()?;
        part.write(bytes)?;
        part.replace(&meta, &file)
    }

    /// Moves a fragment that was written and then not accepted to `quarantine/dropped_chunks/<chunk>/`.
    ///
    /// # Errors
    /// When the disk refuses, or something foreign is in the way.
    pub fn withdraw_fragment(&self, task: TaskFiles<'_>, worker: &Name) -> Result<(), OutputError> {
        let entry = Entry::chunk(task.chunk, task.output, checked_worker(worker)?);
        let _turn = self.turn(&entry);
        self.take_in(&entry, fragment_file(worker, task.chunk)?)
    }

    /// The directory that a path of a worker's leads to, and the name there; none where a directory is missing.
    fn find<'a>(
        &self,
        task: TaskFiles<'_>,
        path: &'a str,
    ) -> Result<Option<(Directory, &'a str)>, OutputError> {
        let mut way = parts(path).map_err(|fault| OutputError::Path { path: path.to_owned(), fault })?;
        let name = way.pop().expect("a text has at least one part");
        let Some(chunks) = self.session_directory(task.output, CHUNKS)? else { return Ok(None) };
        let Some(own) = chunks.child(task.chunk.to_string())? else { return Ok(None) };
        let directory = own.descend(&way).map_err(|error| as_fault(error, path))?;
        Ok(directory.map(|directory| (directory, name)))
    }
}

/// The name of a fragment's file.
pub(super) fn fragment_file(worker: &Name, chunk: u64) -> Result<String, OutputError> {
    let name = FragmentName::new(worker.as_str(), chunk);
    name.map(|name| name.to_string()).map_err(|error| OutputError::Path {
        path: format!("{worker}_{chunk}"),
        fault: PathFault::Part(error.to_string()),
    })
}

/// Blames the worker for something in the way of its path.
pub(super) fn as_fault(error: OutputError, path: &str) -> OutputError {
    let OutputError::InTheWay { path: place, found, .. } = &error else { return error };
    let part = place.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let fault = if *found == A_LINK { PathFault::Link(part) } else { PathFault::NotPlain(part) };
    OutputError::Path { path: path.to_owned(), fault }
}

/// The directory where tasks write, one directory per attempt.
pub(super) const CHUNKS: &str = "chunks";
/// The directory of fragments and the manifest.
pub(super) const META: &str = "meta";
