//! Why a chore did not end well.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::process::{ExitCode, ExitStatus};

/// What stopped a command.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The command line makes no sense.
    Usage(String),
    /// The tree breaks a rule of the house; the text says where.
    Refused(String),
    /// A program that was called ended badly.
    Ended { line: String, status: ExitStatus },
    /// A program could not be called at all.
    Unstarted { line: String, error: io::Error },
    /// A source file could not be read.
    Unreadable { path: PathBuf, error: io::Error },
    /// The root of the repository could not be entered.
    Workspace(io::Error),
}

impl Failure {
    /// Tells a mistyped call (2) from work that failed (1).
    pub(crate) fn exit_code(&self) -> ExitCode {
        match self {
            Failure::Usage(_) => ExitCode::from(2),
            Failure::Refused(_)
            | Failure::Ended { .. }
            | Failure::Unstarted { .. }
            | Failure::Unreadable { .. }
            | Failure::Workspace(_) => ExitCode::from(1),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Usage(text) | Failure::Refused(text) => out.write_str(text),
            Failure::Ended { line, status } => write!(out, "`{line}` failed ({status})"),
            Failure::Unstarted { line, error } => write!(out, "cannot run `{line}`: {error}"),
            Failure::Unreadable { path, error } => write!(out, "cannot read {}: {error}", path.display()),
            Failure::Workspace(error) => write!(out, "cannot enter the repository's root: {error}"),
        }
    }
}
