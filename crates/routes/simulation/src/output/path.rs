//! Paths from outside, relative and of names that a person can read; and what can go wrong with files.

use muster_model::Name;
use rustix::io::Errno;
use std::{io, path::PathBuf};

/// The parts of a path that stays in the directory it begins in.
pub(super) fn parts(path: &str) -> Result<Vec<&str>, PathFault> {
    if path.len() > PATH_BYTES_MAX {
        return Err(PathFault::TooLong);
    }
    if path.starts_with('/') {
        return Err(PathFault::Absolute);
    }
    let parts: Vec<&str> = path.split('/').collect();
    match parts.iter().find(|part| !is_plain(part)) {
        Some(&"..") => Err(PathFault::Leaves),
        Some(part) => Err(PathFault::Part((*part).to_owned())),
        None => Ok(parts),
    }
}

/// The parts of a path that a session may have for its directory (S26).
///
/// No part has a name of ours, in any case of letters: below a session's directory another session's would be moved
/// with the first one's files, and not every file system tells the cases apart.
pub(super) fn session_parts(path: &str) -> Result<Vec<&str>, PathFault> {
    let parts = parts(path)?;
    let is_reserved = |part: &&&str| RESERVED.iter().any(|name| name.eq_ignore_ascii_case(part));
    if let Some(part) = parts.iter().find(is_reserved) {
        return Err(PathFault::Reserved((*part).to_owned()));
    }
    match parts.iter().find(|part| part.starts_with('.')) {
        Some(part) => Err(PathFault::Part((*part).to_owned())),
        None => Ok(parts),
    }
}

/// Names that were checked for what cannot be seen and what could be a path of its own.
fn is_plain(part: &str) -> bool {
    part.len() <= PART_BYTES_MAX && Name::new(part).is_ok()
}

/// An error of the output.
#[derive(Debug, thiserror::Error)]
pub enum OutputError {
    /// A path from outside is not allowed.
    #[error("{path:?} {fault}")]
    Path {
        /// As it was given.
        path: String,
        /// The fault.
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
        /// The limit.
        limit: u64,
    },
    /// The directory holds another session's output.
    #[error("{path:?} is the directory of session {session}: choose another outputDirectory")]
    Taken {
        /// Relative to the output root.
        path: String,
        /// The session that has it.
        session: String,
    },
    /// Something stands where something of ours belongs.
    #[error("{path} is {found} where {wanted} belongs: move it away")]
    InTheWay {
        /// The path.
        path: PathBuf,
        /// The thing that is there.
        found: &'static str,
        /// The thing that belongs there.
        wanted: &'static str,
    },
    /// The disk or the system refused.
    #[error("cannot {doing} {path}: {error}{advice}", advice = advice(error))]
    Disk {
        /// The failed operation.
        doing: &'static str,
        /// Of which file or directory.
        path: PathBuf,
        /// The system's error.
        #[source]
        error: io::Error,
    },
    /// The fragments that were accepted do not make a whole manifest.
    #[error("the manifest in {path} cannot be completed: {reason}")]
    Incomplete {
        /// The directory of the fragments.
        path: PathBuf,
        /// The fault.
        reason: String,
    },
}

/// The fault of a path from outside.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PathFault {
    /// It begins at the root of the file system.
    #[error("is absolute: it must be relative")]
    Absolute,
    /// A part of it leads upwards.
    #[error("leaves its directory: `..` is not allowed")]
    Leaves,
    /// It is too long.
    #[error("has more than {max} bytes", max = PATH_BYTES_MAX)]
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
    /// Returns true if the caller can mend it, not the operator of this server.
    #[must_use]
    pub const fn is_callers(&self) -> bool {
        matches!(self, Self::Path { .. } | Self::Missing { .. } | Self::TooLarge { .. } | Self::Taken { .. })
    }

    /// Makes an error of what the system said.
    pub(super) fn disk(doing: &'static str, path: impl Into<PathBuf>, error: impl Into<io::Error>) -> Self {
        Self::Disk { doing, path: path.into(), error: error.into() }
    }

    /// A text that is the same for errors that need not be logged twice.
    pub(crate) fn kind(&self) -> String {
        match self {
            Self::Disk { doing, error, .. } => format!("{doing}: {}", error.kind()),
            Self::InTheWay { path, .. } | Self::Incomplete { path, .. } => path.display().to_string(),
            _ => self.to_string(),
        }
    }
}

/// The advice for the operator of the server.
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

/// The longest path from outside.
pub(super) const PATH_BYTES_MAX: usize = 1024;
/// The longest name that file systems take.
const PART_BYTES_MAX: usize = 255;
const RESERVED: [&str; 4] = ["quarantine", "chunks", "meta", "workers"];

#[cfg(test)]
mod tests {
    use super::*;

    /// S5, S26: what could leave the directory, or hide from who reads a log, is no path.
    #[test]
    fn hostile_paths_are_no_paths() {
        let long = "x".repeat(256);
        let longer = ["y"; 600].join("/");
        for (path, fault) in [
            ("/etc/passwd", PathFault::Absolute),
            ("//x", PathFault::Absolute),
            ("..", PathFault::Leaves),
            ("a/../../b", PathFault::Leaves),
            ("", PathFault::Part(String::new())),
            ("a//b", PathFault::Part(String::new())),
            ("a/", PathFault::Part(String::new())),
            ("./a", PathFault::Part(".".into())),
            ("a\\..\\b", PathFault::Part("a\\..\\b".into())),
            ("a\0b", PathFault::Part("a\0b".into())),
            ("x/a\nb", PathFault::Part("a\nb".into())),
            ("x/gpj.\u{202e}exe", PathFault::Part("gpj.\u{202e}exe".into())),
            ("a\u{200b}", PathFault::Part("a\u{200b}".into())),
            (" a", PathFault::Part(" a".into())),
            (&long, PathFault::Part(long.clone())),
            (&longer, PathFault::TooLong),
        ] {
            assert_eq!(parts(path), Err(fault), "{path:?}");
        }
        assert_eq!(parts("poses/카메라 1.json"), Ok(vec!["poses", "카메라 1.json"]));
    }

    /// S26: a session's directory is not one of ours, nor inside another's.
    #[test]
    fn names_of_ours_are_kept() {
        for bad in ["quarantine", "Quarantine/x", "a/chunks/7", "a/meta", "workers"] {
            assert!(matches!(session_parts(bad), Err(PathFault::Reserved(_))), "{bad}");
        }
        assert_eq!(session_parts(".muster"), Err(PathFault::Part(".muster".into())));
        assert_eq!(session_parts("2026/night.run"), Ok(vec!["2026", "night.run"]));
    }
}
