//! The log: lines on standard error, for people or for machines.

use crate::config::LogFormat;
use std::io::{self, IsTerminal, Write};
use tracing_subscriber::{EnvFilter, filter::LevelFilter, fmt};

/// Starts the log. `MUSTER_LOG` chooses what is in it (`debug`, `muster_http=debug,info`, …); `level` else.
pub(crate) fn start(format: LogFormat, level: &str) {
    let lines = fmt().with_env_filter(filter(level)).with_writer(std::io::stderr).with_ansi(is_colourful());
    match format {
        LogFormat::Text => lines.init(),
        LogFormat::Json => lines.json().flatten_event(true).init(),
    }
}

/// Starts a log for people whose lines appear above a live line at the bottom of the terminal.
pub(crate) fn start_above_a_line(level: &str) {
    let lines = fmt().with_env_filter(filter(level)).with_writer(|| AboveALine).with_ansi(is_colourful());
    lines.init();
}

/// Wipes the live line before each log line; its owner draws it again with the next change.
struct AboveALine;

impl Write for AboveALine {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut stderr = io::stderr().lock();
        stderr.write_all(b"\r\x1b[2K")?;
        stderr.write_all(bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}

fn filter(level: &str) -> EnvFilter {
    let chosen = std::env::var_os("MUSTER_LOG").filter(|text| !text.is_empty());
    let chosen = chosen.map(|text| parse(&text.to_string_lossy())).transpose();
    let chosen = chosen.unwrap_or_else(|why| {
        eprintln!("muster: MUSTER_LOG {why}; it is ignored, and the level is {level}");
        None
    });
    let mut filter = chosen.unwrap_or_else(|| EnvFilter::new(level));
    for library in TALKATIVE {
        filter = filter
            .add_directive(format!("{library}=info").parse().expect("a name and a level are a directive"));
    }
    filter
}

/// Reads what is to be logged. A word alone would be taken for a part of the program, and one that there is not would
/// silence all others.
fn parse(text: &str) -> Result<EnvFilter, String> {
    let words = text.split(',').map(str::trim).filter(|word| !word.contains(['=', '[']) && !word.is_empty());
    let mut unknown =
        words.filter(|word| word.parse::<LevelFilter>().is_err() && !word.starts_with("muster"));
    match unknown.next() {
        Some(word) => Err(format!(
            "says {word:?}, which is no level (off, error, warn, info, debug, trace) and no part of muster"
        )),
        None => EnvFilter::builder().parse(text).map_err(|error| format!("makes no sense: {error}")),
    }
}

fn is_colourful() -> bool {
    crate::output::is_colourful(std::io::stderr().is_terminal())
}

/// Crates that tell at finer levels what must not be told: the database's client shows the parameters of every statement, and
/// secrets are among them.
const TALKATIVE: [&str; 2] = ["tokio_postgres", "postgres_protocol"];

#[cfg(test)]
mod tests {
    use super::*;

    /// I4: a log that nobody asked for in words that mean something is not silently empty.
    #[test]
    fn nonsense_is_no_choice() {
        for fine in ["debug", "muster_http=debug,info", "warn,hyper=trace", "muster_coordinator", "OFF"] {
            assert!(parse(fine).is_ok(), "{fine}");
        }
        for nonsense in ["nonsense", "debgu", "info,verbose", "muster=loud", "=,="] {
            assert!(parse(nonsense).is_err(), "{nonsense}");
        }
    }
}
