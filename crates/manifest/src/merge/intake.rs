//! Reads fragments one by one and refuses the bad ones by name (S25).

use super::{Progress, Warning};
use crate::{
    fragment::{Fragment, Refusal},
    name::{FragmentName, NameError},
    range::FrameRange,
    table::Table,
};
use muster_artifacts::ContentHash;
use serde::{Serialize, Serializer};
use std::{io, sync::Arc};

/// A file, or a line of a file, that was not merged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Refused {
    /// The name of the file.
    pub file: String,
    /// The reason.
    pub reason: FileRefusal,
}

/// The reason why a file was not merged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FileRefusal {
    /// The name is not a fragment's.
    #[error("its name is wrong: {0}")]
    Name(#[from] NameError),
    /// The file cannot be read.
    #[error(transparent)]
    Unreadable(#[from] Unreadable),
    /// The content is not a fragment.
    #[error(transparent)]
    Content(#[from] Refusal),
    /// Name and content name different chunks.
    #[error("its name says chunk {named}, its globalIdChunkId {found}")]
    Disagrees {
        /// The chunk in the name.
        named: u64,
        /// The chunk in the content.
        found: u64,
    },
    /// Several files claim one chunk.
    #[error("chunk {chunk} is claimed by {} files: {files}", files.split(' ').count())]
    ClaimedTwice {
        /// The chunk.
        chunk: u64,
        /// The names of all of them, separated by spaces.
        files: Arc<str>,
    },
    /// The fragment has frames that the session does not have.
    #[error("frameRange: {range} goes beyond the {total_frames} frames of the session")]
    BeyondEnd {
        /// The frames.
        range: FrameRange,
        /// The number of frames of the session.
        total_frames: u64,
    },
    /// The content of `session.json` is wrong.
    #[error("{0}")]
    Session(String),
    /// A line of `completions.jsonl` is wrong. The other lines count.
    #[error("line {number}: {problem}")]
    Line {
        /// The number of the line, from 1.
        number: u64,
        /// The fault.
        problem: String,
    },
}

/// The reason why a file cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    /// It is a link.
    #[error("it is a symbolic link, and links are not followed")]
    Link,
    /// It is a directory, a pipe or the like.
    #[error("it is not a regular file")]
    NotAFile,
    /// It is too large.
    #[error("it is larger than {limit_bytes} bytes")]
    TooLarge {
        /// The limit.
        limit_bytes: u64,
    },
    /// The system reports an error.
    #[error("it cannot be read: {0}")]
    Io(String),
}

impl From<io::Error> for Unreadable {
    fn from(error: io::Error) -> Self {
        Self::Io(error.to_string())
    }
}

impl Serialize for FileRefusal {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

/// The fragments that were read so far.
pub(super) struct Intake<'a> {
    total_frames: Option<u64>,
    progress: Option<&'a Progress<'a>>,
    count: u64,
    seen: u64,
    table: Table,
    refusals: Vec<Refused>,
    warnings: Vec<Warning>,
}

impl<'a> Intake<'a> {
    pub(super) fn new(count: usize, total_frames: Option<u64>, progress: Option<&'a Progress<'a>>) -> Self {
        let (table, refusals, warnings) = (Table::with_room_for(count), Vec::new(), Vec::new());
        Self { total_frames, progress, count: count as u64, seen: 0, table, refusals, warnings }
    }

    pub(super) fn take(&mut self, file: &str, bytes: Result<&[u8], Unreadable>) {
        if let Err(reason) = self.try_take(file, bytes) {
            self.refuse(file, reason);
        }
        self.seen += 1;
        if let Some(progress) = self.progress {
            progress(self.seen, self.count.max(self.seen));
        }
    }

    /// Refuses fragments that claim the same chunk, and sorts everything by file name.
    pub(super) fn settle(mut self) -> (Table, Vec<Refused>, Vec<Warning>) {
        let out = self.table.settle();
        for claims in out.chunk_by(|(_, one), (_, next)| one == next) {
            let mut names: Vec<&str> = claims.iter().map(|(file, _)| file.as_str()).collect();
            names.sort_unstable();
            let files: Arc<str> = names.join(" ").into();
            for (file, chunk) in claims {
                self.refuse(file, FileRefusal::ClaimedTwice { chunk: *chunk, files: Arc::clone(&files) });
            }
        }
        self.refusals.sort_unstable_by(|one, other| one.file.cmp(&other.file));
        self.warnings.sort_unstable();
        (self.table, self.refusals, self.warnings)
    }

    fn try_take(&mut self, file: &str, bytes: Result<&[u8], Unreadable>) -> Result<(), FileRefusal> {
        let Some(name) = FragmentName::parse(file) else { return Ok(()) };
        let (name, bytes) = (name?, bytes?);
        let fragment = Fragment::parse(bytes)?;
        self.check(&name, &fragment)?;
        self.look(file, &name, &fragment);
        self.table.add(&name, &fragment, ContentHash::of(bytes));
        Ok(())
    }

    fn check(&self, name: &FragmentName, fragment: &Fragment) -> Result<(), FileRefusal> {
        let (range, found) = (fragment.frame_range(), fragment.chunk());
        if let Some(named) = name.chunk().filter(|named| *named != found) {
            return Err(FileRefusal::Disagrees { named, found });
        }
        match self.total_frames {
            Some(total_frames) if range.end > total_frames => {
                Err(FileRefusal::BeyondEnd { range, total_frames })
            }
            _ => Ok(()),
        }
    }

    /// Warns about a fragment. The server writes the names and workers write the contents, so the name decides which
    /// worker it is.
    fn look(&mut self, file: &str, name: &FragmentName, fragment: &Fragment) {
        let mut warn = |warning: String| self.warnings.push(Warning { file: Some(file.to_owned()), warning });
        if let Some(worker) = fragment.worker().filter(|worker| *worker != name.worker()) {
            warn(format!("its workerId is {worker}; the one in its name is taken"));
        }
        if fragment.frames.is_disordered {
            warn("its timestamps go backwards; they were sorted".to_owned());
        }
    }

    fn refuse(&mut self, file: &str, reason: FileRefusal) {
        // A file name may contain control characters.
        self.refusals.push(Refused { file: file.escape_debug().to_string(), reason });
    }
}
