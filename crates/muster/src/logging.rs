//! The log: lines on standard error, for people or for machines.

use crate::config::LogFormat;
use std::io::IsTerminal;
use tracing_subscriber::{EnvFilter, fmt};

/// Starts the log. `MUSTER_LOG` chooses what is in it (`debug`, `muster_door=debug,info`, …); `level` else.
pub(crate) fn start(format: LogFormat, level: &str) {
    let filter = EnvFilter::builder()
        .with_env_var("MUSTER_LOG")
        .try_from_env()
        .unwrap_or_else(|_| EnvFilter::new(level));
    let lines = fmt().with_env_filter(filter).with_writer(std::io::stderr).with_ansi(is_colourful());
    match format {
        LogFormat::Text => lines.init(),
        LogFormat::Json => lines.json().flatten_event(true).init(),
    }
}

fn is_colourful() -> bool {
    std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}
