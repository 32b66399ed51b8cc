//! The log: lines on standard error, for people or for machines.

use crate::config::LogFormat;
use std::io::{self, IsTerminal, Write};
use tracing_subscriber::{EnvFilter, fmt};

/// Starts the log. `MUSTER_LOG` chooses what is in it (`debug`, `muster_door=debug,info`, …); `level` else.
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
    let chosen = EnvFilter::builder().with_env_var("MUSTER_LOG").try_from_env();
    let mut filter = chosen.unwrap_or_else(|_| EnvFilter::new(level));
    for library in TALKATIVE {
        filter = filter
            .add_directive(format!("{library}=info").parse().expect("a name and a level are a directive"));
    }
    filter
}

fn is_colourful() -> bool {
    std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// What tells at finer levels what must not be told: the database's client shows the parameters of every statement, and
/// secrets are among them.
const TALKATIVE: [&str; 2] = ["tokio_postgres", "postgres_protocol"];
