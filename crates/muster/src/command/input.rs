//! Values that users give to commands: JSON arguments, and passwords from standard input or a terminal that does not show
//! them, never from the command line (I6).

use crate::failure::Failure;
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use serde_json::Value;
use std::io::{self, BufRead, IsTerminal, Write};

/// Reads a password: a line of standard input, or typed unseen.
pub(super) fn read(from_stdin: bool, prompt: &str) -> Result<String, Failure> {
    if from_stdin {
        return line("standard input");
    }
    if !io::stdin().is_terminal() {
        return Err(Failure::Usage("no terminal to ask for a password: use --password-stdin".to_owned()));
    }
    let _unseen = Unseen::begin()?;
    eprint!("{prompt}: ");
    let password = line("the terminal");
    eprintln!();
    password
}

/// Reads a new password; typed unseen it is asked for twice.
pub(super) fn choose(from_stdin: bool) -> Result<String, Failure> {
    let password = read(from_stdin, "new password")?;
    if !from_stdin && read(false, "once more")? != password {
        return Err(Failure::Usage("the two passwords differ".to_owned()));
    }
    Ok(password)
}

/// Reads an answer that may be seen.
pub(super) fn ask(prompt: &str) -> Result<String, Failure> {
    eprint!("{prompt}: ");
    io::stderr().flush()?;
    line("the terminal")
}

fn line(origin: &str) -> Result<String, Failure> {
    let mut text = String::new();
    io::stdin().lock().read_line(&mut text)?;
    let text = text.strip_suffix('\n').unwrap_or(&text);
    let text = text.strip_suffix('\r').unwrap_or(text);
    if text.is_empty() {
        return Err(Failure::Usage(format!("{origin} held nothing")));
    }
    Ok(text.to_owned())
}

/// The terminal shows nothing that is typed while this lives.
struct Unseen(Termios);

impl Unseen {
    fn begin() -> io::Result<Self> {
        let before = tcgetattr(io::stdin())?;
        let mut unseen = before.clone();
        unseen.local_modes.remove(LocalModes::ECHO);
        tcsetattr(io::stdin(), OptionalActions::Flush, &unseen)?;
        Ok(Self(before))
    }
}

impl Drop for Unseen {
    fn drop(&mut self) {
        // A terminal that is gone needs nothing.
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &self.0);
    }
}

/// Reads JSON from an argument: the text itself, or `@FILE`.
pub(super) fn json_argument(flag: &str, argument: &str) -> Result<Value, Failure> {
    let text = text_argument(flag, argument)?;
    let value: Result<Value, _> = serde_json::from_str(&text);
    value.map_err(|error| Failure::Usage(format!("{flag} must be JSON (or @FILE): {error}")))
}

/// The text of an argument, or of the file that `@FILE` names.
pub(super) fn text_argument(flag: &str, argument: &str) -> Result<String, Failure> {
    let Some(path) = argument.strip_prefix('@') else {
        return Ok(argument.to_owned());
    };
    let text = std::fs::read_to_string(path);
    text.map_err(|error| Failure::Usage(format!("{flag}: {path} cannot be read: {error}")))
}
