//! A program that prints one event as JSON per line (C18, C23).

use super::{Notice, Reading, Source, SourceError};
use crate::{
    Clock, Document, Fault, Folder, Id,
    config::{self, bare_environment, seconds},
    folder::sentence,
};
use jiff::Timestamp;
use muster_proof::sha256_hex;
use muster_worker_kit::process::{Ending, Guards, ProcessEnd, Program, wait_for_earlier_guards};
use std::{io, pin::pin, sync::Arc, time::Duration};
use tokio_util::sync::CancellationToken;

/// A program, and what it is run with.
pub(super) struct Command {
    folder: Arc<Folder>,
    /// `command.NAME`: what its events have for a source where they name none.
    name: String,
    argv: Vec<String>,
    limit: Duration,
    guards: Guards,
    is_first: bool,
}

/// The end and the output of a program.
struct ProgramRun {
    end: ProcessEnd,
    printed: Vec<u8>,
    is_late: bool,
}

impl Command {
    pub(super) fn new(
        folder: Arc<Folder>,
        name: &str,
        settings: &config::CommandSource,
        guards: &Guards,
    ) -> Self {
        // One lock for each: who waits for the earlier life of one program does not wait for another program.
        let lock = guards.lock.with_file_name(format!("source-{name}.lock"));
        Self {
            folder,
            name: format!("command.{name}"),
            argv: settings.command.clone(),
            limit: seconds(settings.poll_s).clamp(LIMIT_MIN, LIMIT_MAX),
            guards: Guards { lock, ..guards.clone() },
            is_first: true,
        }
    }

    async fn run(&self, stop: &CancellationToken) -> io::Result<ProgramRun> {
        let program =
            Program { argv: &self.argv, directory: self.folder.home(), environment: bare_environment() };
        let cancel = stop.child_token();
        let mut printed = Vec::new();
        let mut hear = |bytes: &[u8]| {
            if printed.len() <= OUTPUT_BYTES_MAX {
                printed.extend_from_slice(bytes);
            } else {
                // Nothing that it could still print would be taken.
                cancel.cancel();
            }
        };
        let (end, is_late) = {
            let mut run = pin!(self.guards.run_heard(&program, &cancel, &mut hear));
            tokio::select! {
                end = &mut run => (end, false),
                () = tokio::time::sleep(self.limit) => {
                    cancel.cancel();
                    (run.await, true)
                }
            }
        };
        Ok(ProgramRun { end: end?, printed, is_late })
    }

    /// Takes in some lines; one that is no event is set apart and holds up no other.
    fn take(&self, lines: &[&[u8]], reading: &mut Reading, now: Timestamp) -> Result<(), Fault> {
        for line in lines {
            match reading.take_one(&self.folder, self.notice(line), now) {
                Err(Fault::Invalid(reason)) if reading.tally().refused <= KEPT_LINES_MAX => {
                    self.refuse(line, &reason)?;
                }
                Err(Fault::Invalid(_)) => {}
                other => other?,
            }
        }
        Ok(())
    }

    fn notice(&self, line: &[u8]) -> Notice {
        let mut event = Document::parse(line).map_err(|error| error.to_string())?;
        if !event.has("source") {
            event.set_text("source", &self.name);
        }
        Ok(event)
    }

    /// The name of what is kept of it: its own, or where that is too long its beginning and what tells it from others.
    fn record(&self) -> Id {
        let short = || format!("{}-{}", self.beginning(), &sha256_hex(self.name.as_bytes())[..HASH_CHARS]);
        Id::parse(&self.name).or_else(|_| Id::parse(&short())).expect("the parts of an id are one")
    }

    fn beginning(&self) -> &str {
        self.name.get(..NAME_BYTES_MAX).unwrap_or(&self.name)
    }

    /// Sets a line apart under a name that is its own: one that is printed at every turn is there once.
    fn refuse(&self, line: &[u8], reason: &str) -> Result<(), Fault> {
        tracing::warn!(source = self.name, reason = sentence(reason), "a line of a program is no event");
        let (hash, kept) = (sha256_hex(line), line.get(..KEPT_BYTES_MAX).unwrap_or(line));
        let name = format!("{}-{}", self.beginning(), &hash[..HASH_CHARS]);
        let name = Id::parse(&name).expect("the parts of an id are one");
        let reason = format!("a line that {} printed is no event: {reason}", self.name);
        self.folder.reject_bytes(&name, kept, &reason)
    }

    /// Says what went wrong with a program, for whoever wrote it.
    fn complaint(&self, ran: &ProgramRun) -> Option<String> {
        let stderr = String::from_utf8_lossy(&ran.end.stderr);
        let tail: Vec<char> = stderr.trim_end().chars().rev().take(STDERR_CHARS_MAX).collect();
        let tail = sentence(&tail.into_iter().rev().collect::<String>());
        match ran.end.ending {
            _ if ran.is_late => {
                Some(format!("it took longer than {} s and was ended: {tail}", self.limit.as_secs()))
            }
            _ if ran.printed.len() > OUTPUT_BYTES_MAX => {
                Some(format!("it printed more than {OUTPUT_BYTES_MAX} bytes and was ended"))
            }
            Ending::Exited(0) | Ending::Cancelled => None,
            Ending::Exited(code) => Some(format!("it ended with {code}: {tail}")),
        }
    }
}

impl Source for Command {
    fn name(&self) -> &str {
        &self.name
    }

    async fn look(&mut self, stop: &CancellationToken) -> Result<Option<Duration>, SourceError> {
        let failed = |error: io::Error| SourceError::Failed(format!("it cannot be run: {error}"));
        if self.is_first {
            let waited = stop.run_until_cancelled(wait_for_earlier_guards(&self.guards.lock)).await;
            waited.unwrap_or(Ok(())).map_err(failed)?;
            self.is_first = false;
        }
        let ran = self.run(stop).await.map_err(failed)?;
        let mut reading = Reading::begin(&self.folder, &self.record())?;
        for some in ran.whole_lines().chunks(LINES_AT_ONCE) {
            self.take(some, &mut reading, Clock.now())?;
            // Others live in this thread too.
            tokio::task::yield_now().await;
        }
        if ran.end.ending != Ending::Exited(0) {
            reading.keep_known();
        }
        reading.end(&self.folder, Document::new())?;
        if let Some(complaint) = self.complaint(&ran) {
            tracing::warn!(source = self.name, "a program went wrong: {complaint}");
        }
        Ok(None)
    }
}

impl ProgramRun {
    /// The lines that were printed, without a last one that may have been cut short.
    fn whole_lines(&self) -> Vec<&[u8]> {
        let is_cut = self.printed.len() > OUTPUT_BYTES_MAX || self.end.ending == Ending::Cancelled;
        let last_end = || self.printed.iter().rposition(|byte| *byte == b'\n').unwrap_or(0);
        let whole = if is_cut { last_end() } else { self.printed.len() };
        let lines = self.printed.get(..whole).unwrap_or_default().split(|byte| *byte == b'\n');
        lines.filter(|line| !line.trim_ascii().is_empty()).collect()
    }
}

const LIMIT_MIN: Duration = Duration::from_secs(10);
const LIMIT_MAX: Duration = Duration::from_secs(60);
const OUTPUT_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Number of invalid lines kept per run: a program that prints only nonsense must not fill the disk.
const KEPT_LINES_MAX: u64 = 20;
const LINES_AT_ONCE: usize = 20;
const KEPT_BYTES_MAX: usize = 64 * 1024;
const NAME_BYTES_MAX: usize = 150;
const HASH_CHARS: usize = 16;
const STDERR_CHARS_MAX: usize = 400;

#[cfg(test)]
mod tests;
