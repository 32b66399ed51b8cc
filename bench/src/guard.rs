//! Commands whose processes end with this one, however it ends.

use std::{process::Command, time::Duration};

/// The same command, killed by the kernel when the thread that starts it is gone. Its process id is the program's.
pub(crate) fn ended_with_this(command: &Command) -> Command {
    wrapped(command, &["setpriv", "--pdeathsig", "KILL", "--"])
}

/// The same command in a process group of its own, which is ended after a time, or when the thread that starts it is gone.
/// Its process is the leader of the group; the program is a child of it.
pub(crate) fn ended_after(command: &Command, limit: Duration) -> Command {
    wrapped(&limited(command, limit), &["setpriv", "--pdeathsig", "TERM", "--"])
}

/// The same command, ended after a time.
pub(crate) fn limited(command: &Command, limit: Duration) -> Command {
    wrapped(command, &["timeout", "--kill-after=5", &limit.as_secs().to_string()])
}

fn wrapped(command: &Command, words: &[&str]) -> Command {
    let mut wrapped = Command::new(words[0]);
    wrapped.args(&words[1..]).arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => wrapped.env(name, value),
            None => wrapped.env_remove(name),
        };
    }
    if let Some(directory) = command.get_current_dir() {
        wrapped.current_dir(directory);
    }
    wrapped
}
