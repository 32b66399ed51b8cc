//! The log: lines on standard error, for people or for machines.

use crate::config::LogFormat;
use std::io::{self, IsTerminal, Write};
use tracing_subscriber::{
    filter::{LevelFilter, Targets},
    fmt,
    layer::SubscriberExt,
    registry,
    util::SubscriberInitExt,
};

/// Starts the log. `MUSTER_LOG` chooses what is in it (`debug`, `muster_http=debug,info`, …); `level` else.
pub(crate) fn start(format: LogFormat, level: &str) {
    let lines = fmt::layer().with_writer(std::io::stderr).with_ansi(is_colourful()).log_internal_errors(true);
    let log = registry().with(filter(level));
    match format {
        LogFormat::Text => log.with(lines).init(),
        LogFormat::Json => log.with(lines.json().flatten_event(true)).init(),
    }
}

/// Starts a log for people whose lines appear above a live line at the bottom of the terminal.
pub(crate) fn start_above_a_line(level: &str) {
    let lines = fmt::layer().with_writer(|| AboveALine).with_ansi(is_colourful()).log_internal_errors(true);
    registry().with(filter(level)).with(lines).init();
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

fn filter(level: &str) -> Targets {
    let chosen = std::env::var_os("MUSTER_LOG").filter(|text| !text.is_empty());
    let chosen = chosen.map(|text| parse(&text.to_string_lossy())).transpose();
    let chosen = chosen.unwrap_or_else(|why| {
        eprintln!("muster: MUSTER_LOG {why}; it is ignored, and the level is {level}");
        None
    });
    let level = level.parse().unwrap_or(LevelFilter::INFO);
    let filter = chosen.unwrap_or_else(|| Targets::new().with_default(level));
    TALKATIVE.iter().fold(filter, |filter, library| filter.with_target(*library, LevelFilter::INFO))
}

/// Reads the value of `MUSTER_LOG`. A word alone is taken for a part of the program, and a part that does not exist
/// would silence all others, so such a word is refused.
fn parse(text: &str) -> Result<Targets, String> {
    let words: Vec<&str> = text.split(',').map(str::trim).filter(|word| !word.is_empty()).collect();
    for word in &words {
        match word.split_once('=').map(|(part, level)| (part.trim(), level.trim())) {
            _ if word.contains('[') => {
                return Err(format!("says {word:?}, but filters by span are not supported"));
            }
            Some(("", _) | (_, "")) => return Err(format!("says {word:?}; write PART=LEVEL")),
            None if word.parse::<LevelFilter>().is_err() && !word.starts_with("muster") => {
                return Err(format!(
                    "says {word:?}, which is no level (off, error, warn, info, debug, trace) and no part of muster"
                ));
            }
            Some(_) | None => {}
        }
    }
    words.join(",").replace(' ', "").parse().map_err(|error| format!("makes no sense: {error}"))
}

fn is_colourful() -> bool {
    crate::output::is_colourful(std::io::stderr().is_terminal())
}

/// Libraries whose finer levels must not be logged: the database's client shows the parameters of every statement, and
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
        for nonsense in ["nonsense", "debgu", "info,verbose", "muster=loud", "=,=", "muster_http[span]"] {
            assert!(parse(nonsense).is_err(), "{nonsense}");
        }
    }

    /// I4: spaces, and commas with nothing between them, change nothing.
    #[test]
    fn spaces_and_commas_are_ignored() {
        for (text, level) in [
            ("debug", LevelFilter::DEBUG),
            (" debug\n", LevelFilter::DEBUG),
            ("debug,", LevelFilter::DEBUG),
            ("info,,muster_http=debug", LevelFilter::INFO),
            ("muster_http = debug , info", LevelFilter::INFO),
        ] {
            let filter = parse(text).unwrap();
            assert_eq!(filter.default_level(), Some(level), "{text:?}");
            assert!(filter.would_enable("muster_http", &tracing::Level::DEBUG), "{text:?}");
        }
    }
}
