//! What a master hands to a worker (S3).

use muster_model::{FrameRange, IdRange};
use muster_worker_kit::Text;
use std::path::{Component, Path};

/// One attempt at a range of frames.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// Which.
    pub id: Text,
    /// Of which session.
    pub session: Text,
    /// What to render, as JSON; nothing here looks into it but the renderer.
    pub scenario: Text,
    /// The session's cameras, as JSON, where it has some.
    pub cameras: Option<Text>,
    /// Which frames.
    pub frames: FrameRange,
    /// The ids that this attempt may give to persons.
    pub ids: IdRange,
    /// The nth try.
    pub attempt: u32,
    /// The term of the master that gave it.
    pub epoch: u64,
    /// Where the files go: absolute, without `..`.
    pub directory: Text,
    /// Whether the range was given to somebody before.
    pub replay: bool,
}

/// Why something cannot be a task.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TaskError {
    /// A name is empty, long or holds what no name does.
    #[error("{field} is no name of 1 to {NAME_CHARS_MAX} visible characters")]
    Name {
        /// Which.
        field: &'static str,
    },
    /// A range ends before it begins, or where.
    #[error("{field} [{start}, {end}) is empty")]
    EmptyRange {
        /// Which.
        field: &'static str,
        /// Where it begins.
        start: u64,
        /// Where it ends.
        end: u64,
    },
    /// Frames beyond the end of any session.
    #[error("frameRange ends at {0}; a session has {FRAMES_MAX} frames at most")]
    TooManyFrames(u64),
    /// The directory could be anywhere.
    #[error("outputDirectory {0:?} is not absolute, or leads through `..`")]
    Directory(Text),
    /// The directory is not where this worker may write.
    #[error("outputDirectory {0:?} is outside of this worker's --output-root")]
    OutsideRoot(Text),
}

impl Task {
    /// Whether another is the very same assignment.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        self.id == other.id && self.attempt == other.attempt && self.ids.chunk == other.ids.chunk
    }

    /// Checks what is not to be trusted, without looking at the disk.
    ///
    /// # Errors
    /// A field makes no sense; which one is said.
    pub fn check(&self) -> Result<(), TaskError> {
        check_name("taskId", &self.id)?;
        check_name("sessionId", &self.session)?;
        check_range("frameRange", self.frames.start, self.frames.end)?;
        check_range("globalIdChunk.range", self.ids.start, self.ids.end)?;
        if self.frames.end > FRAMES_MAX {
            return Err(TaskError::TooManyFrames(self.frames.end));
        }
        if !is_direct(Path::new(&*self.directory)) {
            return Err(TaskError::Directory(self.directory.clone()));
        }
        Ok(())
    }

    /// Checks that the files would go below a directory, as far as names tell.
    ///
    /// # Errors
    /// They would not.
    pub fn check_below(&self, root: Option<&Path>) -> Result<(), TaskError> {
        match root {
            Some(root) if !Path::new(&*self.directory).starts_with(root) => {
                Err(TaskError::OutsideRoot(self.directory.clone()))
            }
            _ => Ok(()),
        }
    }
}

fn check_name(field: &'static str, name: &str) -> Result<(), TaskError> {
    let is_name =
        (1..=NAME_CHARS_MAX).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_graphic());
    if is_name { Ok(()) } else { Err(TaskError::Name { field }) }
}

const fn check_range(field: &'static str, start: u64, end: u64) -> Result<(), TaskError> {
    if start < end { Ok(()) } else { Err(TaskError::EmptyRange { field, start, end }) }
}

/// Whether a path begins at the root and only goes down.
fn is_direct(path: &Path) -> bool {
    let goes_down = |part: Component<'_>| matches!(part, Component::RootDir | Component::Normal(_));
    path.is_absolute()
        && path.components().all(goes_down)
        && !path.as_os_str().as_encoded_bytes().contains(&0)
}

const NAME_CHARS_MAX: usize = 256;
/// Far more than the contract's 10,000,000, and far less than what numbers can hold.
const FRAMES_MAX: u64 = 1 << 40;

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A task that is in order.
    pub(in super::super) fn example() -> Task {
        Task {
            id: "demo.00000000".into(),
            session: "demo".into(),
            scenario: "{}".into(),
            cameras: None,
            frames: FrameRange { start: 0, end: 10 },
            ids: IdRange { chunk: 5, start: 4_000_000, end: 5_000_000 },
            attempt: 1,
            epoch: 1,
            directory: "/out/session_demo/chunks/5".into(),
            replay: false,
        }
    }

    /// S27: a task that could write anywhere, or of which no sense can be made, is refused by name.
    #[test]
    fn nonsense_is_refused_by_name() {
        assert_eq!(example().check(), Ok(()));
        for directory in ["chunks/5", "", "/out/../etc", "/out/chunks/..", "/out/\0"] {
            let task = Task { directory: directory.into(), ..example() };
            assert_eq!(task.check(), Err(TaskError::Directory(directory.into())), "{directory:?}");
        }
        let wrong = |task: Task, word: &str| {
            let error = task.check().unwrap_err().to_string();
            assert!(error.starts_with(word), "{error}");
        };
        wrong(Task { id: "".into(), ..example() }, "taskId");
        wrong(Task { session: "a b".into(), ..example() }, "sessionId");
        wrong(Task { frames: FrameRange { start: 3, end: 3 }, ..example() }, "frameRange");
        wrong(Task { frames: FrameRange { start: 0, end: u64::MAX }, ..example() }, "frameRange");
        wrong(Task { ids: IdRange { chunk: 1, start: 9, end: 2 }, ..example() }, "globalIdChunk");
    }

    /// S27: `--output-root` keeps a worker below a directory.
    #[test]
    fn a_root_is_a_fence() {
        let below = |root: &str| example().check_below(Some(Path::new(root))).is_ok();
        assert!(below("/out") && below("/out/session_demo/") && below("/"));
        assert!(!below("/ou") && !below("/elsewhere"));
        assert!(example().check_below(None).is_ok());
    }
}
