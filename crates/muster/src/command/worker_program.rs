//! The shared parts of the commands that run a worker: log, runtime, stop signal, live line, entries set aside; and
//! `muster guard`, which runs one program for a worker and ends all of it when the worker is gone.

use super::serve;
use crate::{
    config::LogFormat,
    failure::{Exit, Failure},
    logging, output,
};
use clap::Args;
use muster_spool::{Directory, set_aside_entries};
use serde_json::{Value, json};
use std::{
    ffi::OsString,
    io::{IsTerminal, Write},
    path::{Path, PathBuf},
    time::Duration,
};
use tokio::{
    signal::unix::{Signal, SignalKind, signal},
    sync::watch,
};
use tokio_util::sync::CancellationToken;

/// Runs a worker on one thread: it waits most of its time, and more threads would only cost memory. `file_threads` is
/// the number of threads that may wait for the disk. `work` is told whether to show a live line.
pub(super) fn run(
    format: LogFormat,
    file_threads: usize,
    work: impl AsyncFnOnce(bool) -> Result<Exit, Failure>,
) -> Result<Exit, Failure> {
    let shows_line = start_log(format);
    serve::raise_open_files();
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.max_blocking_threads(file_threads).enable_all().build()?;
    let worked = runtime.block_on(work(shows_line));
    runtime.shutdown_timeout(Duration::from_millis(500));
    worked
}

/// Starts the log; true if a live line belongs below it.
fn start_log(format: LogFormat) -> bool {
    let shows_line = std::io::stderr().is_terminal() && format == LogFormat::Text;
    if shows_line {
        logging::start_above_a_line("warn");
    } else {
        logging::start(format, "info");
    }
    shows_line
}

/// Returns a token that is cancelled when somebody asks to stop; `words` are logged then.
pub(super) fn leave_on_request(words: &'static str) -> Result<CancellationToken, Failure> {
    let leave = CancellationToken::new();
    let leaving = leave.clone();
    on_request(move || {
        tracing::info!("{words}");
        leaving.cancel();
    })?;
    Ok(leave)
}

/// Waits for a worker to end, with a live line of its status below the log if `shows_line`.
pub(super) async fn with_line<R: Send + Sync + 'static, T>(
    shows_line: bool,
    report: watch::Receiver<R>,
    line: fn(&R) -> String,
    running: impl Future<Output = T>,
) -> T {
    let line = shows_line.then(|| tokio::spawn(show(report, line)));
    let ended = running.await;
    if let Some(line) = line {
        line.abort();
    }
    ended
}

/// Lists the entries of a spool that a server refused for good. Each is a JSON object, shown as the member `name` of its
/// row; its member `key` has a column of its own.
pub(super) fn list_set_aside(spool: &Path, name: &str, key: &str, json: bool) -> Result<Exit, Failure> {
    let entries = set_aside_entries(&Directory::for_reading(spool))?;
    let row = |entry: &muster_spool::SetAside| {
        let body: Value = serde_json::from_slice(&entry.payload).unwrap_or(Value::Null);
        let why = String::from_utf8_lossy(&entry.note);
        json!({"number": entry.seq.0, "why": why, (key): body[key], (name): body})
    };
    let rows: Vec<Value> = entries.iter().map(row).collect();
    output::listing(&json!({"aside": rows}), "aside", &["number", key, "why"], json);
    Ok(Exit::Fine)
}

/// Draws the line whenever something changes, and again now and then: a log line may have wiped it.
async fn show<R>(mut report: watch::Receiver<R>, line: fn(&R) -> String) {
    loop {
        let text = line(&report.borrow_and_update());
        draw(&text);
        tokio::time::sleep(REDRAW).await;
        if let Ok(Err(_)) = tokio::time::timeout(REDRAW_ANYWAY, report.changed()).await {
            eprintln!();
            return;
        }
    }
}

/// Errors are ignored: without a terminal nobody misses the line.
fn draw(text: &str) {
    let mut stderr = std::io::stderr().lock();
    let _ = write!(stderr, "\r\x1b[2K{text}");
    let _ = stderr.flush();
}

/// The default of the runtime.
pub(super) const FILE_THREADS_MAX: usize = 512;
/// People read no faster.
const REDRAW: Duration = Duration::from_millis(200);
const REDRAW_ANYWAY: Duration = Duration::from_secs(1);

/// Does something when somebody asks to stop; whoever asks twice does not want to wait.
///
/// Only for programs for which any death is safe.
pub(super) fn on_request(first: impl FnOnce() + Send + 'static) -> Result<(), Failure> {
    let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    tokio::spawn(async move {
        either(&mut interrupt, &mut terminate).await;
        first();
        either(&mut interrupt, &mut terminate).await;
        std::process::exit(Exit::Failed as i32);
    });
    Ok(())
}

async fn either(interrupt: &mut Signal, terminate: &mut Signal) {
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
}

#[derive(Debug, Args)]
pub(crate) struct Guard {
    /// Locked while the program or any child of it lives
    #[arg(long, value_name = "FILE")]
    lock: PathBuf,
    /// The program and its arguments
    #[arg(last = true, required = true)]
    argv: Vec<OsString>,
}

impl Guard {
    /// Ends with the program's own code.
    pub(crate) fn run(&self) -> ! {
        // Undo the agent's setting for huge pages, because it need not suit the program.
        let _ = rustix::thread::disable_transparent_huge_pages(false);
        std::process::exit(muster_worker_kit::process::guard(&self.lock, &self.argv))
    }
}
