//! Calls to other programs, and how long they took.

use crate::failure::Failure;
use std::{
    env, fmt,
    path::PathBuf,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

/// Prepares a call of the cargo that called this program.
pub(crate) fn cargo(arguments: &[&str]) -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(arguments);
    command
}

/// Runs a program to its end; its output goes where ours goes.
pub(crate) fn run(command: &mut Command) -> Result<(), Failure> {
    // No chore asks anybody anything: a program that would must fail, not wait.
    let outcome = command.stdin(Stdio::null()).status();
    let status = outcome.map_err(|error| Failure::Unstarted { line: line_of(command), error })?;
    if status.success() { Ok(()) } else { Err(Failure::Ended { line: line_of(command), status }) }
}

/// Runs a program to its end and returns what it wrote to stdout.
pub(crate) fn output(command: &mut Command) -> Result<Vec<u8>, Failure> {
    let outcome = command.stdin(Stdio::null()).stderr(Stdio::inherit()).output();
    let output = outcome.map_err(|error| Failure::Unstarted { line: line_of(command), error })?;
    if output.status.success() {
        Ok(output.stdout)
    } else {
        Err(Failure::Ended { line: line_of(command), status: output.status })
    }
}

/// Says whether a program can be called, without a word on the terminal.
pub(crate) fn answers(command: &mut Command) -> bool {
    let silent = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    silent.status().is_ok_and(|status| status.success())
}

/// Finds the binary that a release build leaves, as a path that holds in any directory.
pub(crate) fn release_binary() -> Result<PathBuf, Failure> {
    Ok(target_directory()?.join("release/muster"))
}

/// Finds the directory that builds write to, as a path that holds in any directory.
pub(crate) fn target_directory() -> Result<PathBuf, Failure> {
    let target = env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
    let root = env::current_dir().map_err(Failure::Workspace)?;
    Ok(root.join(target))
}

fn line_of(command: &Command) -> String {
    let program = PathBuf::from(command.get_program());
    let name = program.file_name().unwrap_or(command.get_program()).to_string_lossy().into_owned();
    let arguments = command.get_args().map(|argument| argument.to_string_lossy().into_owned());
    std::iter::once(name).chain(arguments).collect::<Vec<_>>().join(" ")
}

/// A clock that was started.
pub(crate) struct Stopwatch(Instant);

impl Stopwatch {
    /// Starts counting.
    #[expect(clippy::disallowed_methods, reason = "chores show how long they took; nothing is decided by it")]
    pub(crate) fn start() -> Self {
        Self(Instant::now())
    }

    /// Says how long ago it was started.
    pub(crate) fn elapsed(&self) -> Elapsed {
        Elapsed(self.0.elapsed())
    }
}

/// A duration that prints as `1.2 s` or `3 m 05 s`.
pub(crate) struct Elapsed(Duration);

impl fmt::Display for Elapsed {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0.as_secs();
        if seconds < 60 {
            write!(out, "{:.1} s", self.0.as_secs_f64())
        } else {
            write!(out, "{} m {:02} s", seconds / 60, seconds % 60)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn minutes_appear_when_there_are_any() {
        assert_eq!(Elapsed(Duration::from_millis(1_240)).to_string(), "1.2 s");
        assert_eq!(Elapsed(Duration::from_secs(185)).to_string(), "3 m 05 s");
    }
}
