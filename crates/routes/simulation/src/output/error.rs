//! What can go wrong with files, said so that whoever reads it knows which file and what to do.

use rustix::io::Errno;
use std::{io, path::PathBuf};

/// Why something about the output could not be done.
#[derive(Debug, thiserror::Error)]
pub enum OutputError {
    /// A path from outside is not allowed.
    #[error("{path:?} {fault}")]
    Path {
        /// As it was given.
        path: String,
        /// What is wrong with it.
        fault: PathFault,
    },
    /// A file that was named from outside is not there.
    #[error("{path:?} is not there: write it into the task's outputDirectory before it is named")]
    Missing {
        /// As it was given.
        path: String,
    },
    /// A file that was named from outside is too large.
    #[error("{path:?} has more than {limit} bytes")]
    TooLarge {
        /// As it was given.
        path: String,
        /// What is allowed.
        limit: u64,
    },
    /// The directory holds another session's output.
    #[error("{path:?} is the directory of session {session}: choose another outputDirectory")]
    Taken {
        /// Relative to the output root.
        path: String,
        /// Whose it is.
        session: String,
    },
    /// Something stands where something of ours belongs.
    #[error("{path} is {found} where {wanted} belongs: move it away")]
    InTheWay {
        /// Where.
        path: PathBuf,
        /// What stands there.
        found: &'static str,
        /// What belongs there.
        wanted: &'static str,
    },
    /// The disk or the system refused.
    #[error("cannot {doing} {path}: {error}{advice}", advice = advice(error))]
    Disk {
        /// What was tried.
        doing: &'static str,
        /// Of which file or directory.
        path: PathBuf,
        /// What the system said.
        #[source]
        error: io::Error,
    },
    /// The fragments that were accepted do not make a whole manifest.
    #[error("the manifest in {path} cannot be completed: {reason}")]
    Incomplete {
        /// The directory of the fragments.
        path: PathBuf,
        /// What is missing or wrong.
        reason: String,
    },
}

/// What is wrong with a path from outside.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PathFault {
    /// It begins at the root of the file system.
    #[error("is absolute: it must be relative")]
    Absolute,
    /// A part of it leads upwards.
    #[error("leaves its directory: `..` is not allowed")]
    Leaves,
    /// It is too long.
    #[error("has more than {max} bytes", max = super::path::PATH_BYTES_MAX)]
    TooLong,
    /// A part of it is empty, too long, or holds what people cannot see.
    #[error("has a part that is not allowed: {0:?}")]
    Part(String),
    /// A part of it is a name that Muster uses itself.
    #[error("uses the name {0:?}, which is kept for Muster's own files")]
    Reserved(String),
    /// It already has frames of something else.
    #[error("already has numbered files in `frames`: choose another directory, or move them away")]
    HasFrames,
    /// It leads through a symbolic link.
    #[error("leads through the symbolic link {0:?}: links are not followed")]
    Link(String),
    /// It leads through something that is no directory, or to something that is no file.
    #[error("has a part that is neither directory nor plain file: {0:?}")]
    NotPlain(String),
}

impl OutputError {
    /// Whether it is for whoever asked to mend, not for whoever runs this server.
    #[must_use]
    pub const fn is_callers(&self) -> bool {
        matches!(self, Self::Path { .. } | Self::Missing { .. } | Self::TooLarge { .. } | Self::Taken { .. })
    }

    /// Makes an error of what the system said.
    pub(super) fn disk(doing: &'static str, path: impl Into<PathBuf>, error: impl Into<io::Error>) -> Self {
        Self::Disk { doing, path: path.into(), error: error.into() }
    }

    /// What tells errors apart that need not be told twice.
    pub(crate) fn kind(&self) -> String {
        match self {
            Self::Disk { doing, error, .. } => format!("{doing}: {}", error.kind()),
            Self::InTheWay { path, .. } | Self::Incomplete { path, .. } => path.display().to_string(),
            _ => self.to_string(),
        }
    }
}

/// What whoever runs the server can do about it.
fn advice(error: &io::Error) -> &'static str {
    match Errno::from_io_error(error) {
        Some(Errno::NOSPC | Errno::DQUOT) => "; make room on the disk of the output root",
        Some(Errno::ACCESS | Errno::PERM) => {
            "; let the user that runs the server read and write it (owner, mode, or a common group)"
        }
        Some(Errno::ROFS) => "; mount the output root for writing",
        Some(Errno::XDEV) => "; keep everything below the output root on one file system",
        Some(Errno::MFILE | Errno::NFILE) => "; allow more open files (ulimit -n)",
        _ => "",
    }
}
