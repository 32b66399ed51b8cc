//! Failures and options of chores.

use std::{
    fmt, io,
    path::PathBuf,
    process::{ExitCode, ExitStatus},
};

/// Cause that stopped a command.
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

/// Reads `name N` or `name=N`, the only thing `arguments` may hold.
pub(crate) fn number(arguments: &[String], name: &str, default: u64) -> Result<u64, Failure> {
    let words: Vec<&str> = arguments.iter().flat_map(|argument| argument.splitn(2, '=')).collect();
    match words.as_slice() {
        [] => Ok(default),
        [option, value] if *option == name => {
            value.parse().map_err(|_| Failure::Usage(format!("{name} takes a number, not `{value}`")))
        }
        _ => Err(Failure::Usage(format!("expected `{name} N`, not `{}`", arguments.join(" ")))),
    }
}

/// Says whether the flag `name`, the only thing `arguments` may hold, is there.
pub(crate) fn flag(arguments: &[String], name: &str) -> Result<bool, Failure> {
    match arguments {
        [] => Ok(false),
        [only] if only == name => Ok(true),
        _ => Err(Failure::Usage(format!("expected nothing or `{name}`, not `{}`", arguments.join(" ")))),
    }
}

/// Refuses any argument.
pub(crate) fn none(arguments: &[String]) -> Result<(), Failure> {
    match arguments {
        [] => Ok(()),
        _ => Err(Failure::Usage(format!("unexpected `{}`", arguments.join(" ")))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split_whitespace().map(String::from).collect()
    }

    #[test]
    fn a_number_may_follow_a_space_or_an_equals_sign() {
        assert_eq!(number(&words("--times 7"), "--times", 200).unwrap(), 7);
        assert_eq!(number(&words("--times=7"), "--times", 200).unwrap(), 7);
        assert_eq!(number(&[], "--times", 200).unwrap(), 200);
    }

    #[test]
    fn what_is_not_understood_is_refused() {
        for line in ["--times", "--times x", "--seeds 7", "--times 7 8"] {
            assert!(number(&words(line), "--times", 200).is_err(), "{line}");
        }
        assert!(flag(&words("--verbos"), "--verbose").is_err());
        assert!(none(&words("now")).is_err());
    }
}
