//! `muster checkpoint`: everything about sessions in one file, and back again (S20).

use super::{
    client_command::{Conversation, converse},
    store_copy::StoreLocation,
};
use crate::{
    assembly,
    client::Client,
    config::StoreChoice,
    failure::{Exit, Failure},
    output,
    reach::Reach,
};
use clap::{Args, Subcommand};
use muster_artifacts::ContentHash;
use muster_coordinator::{Clock, SystemClock};
use muster_simulation::{CHECKPOINT_BYTES_MAX, Checkpoint as CheckpointFile, Restored};
use serde_json::{Value, json};
use std::{
    fs::File,
    io::{self, IsTerminal, Read, Write},
    path::{Path, PathBuf},
};

#[derive(Debug, Args)]
pub(crate) struct Checkpoint {
    #[command(flatten)]
    reach: Reach,
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Fetch a checkpoint of everything about sessions
    Export {
        /// File to write [default: standard output]
        file: Option<PathBuf>,
        /// Replace the file if it is there
        #[arg(long)]
        force: bool,
    },
    /// Write a checkpoint into a store that knows of no sessions, while no server runs on it
    Restore(Restore),
}

impl Checkpoint {
    pub(crate) fn run(self) -> Result<Exit, Failure> {
        match self.action {
            Action::Export { file, force } => run(&self.reach, file, force),
            Action::Restore(restore) => restore.run(self.reach.json),
        }
    }
}

/// Fetches a checkpoint into a file, or into a pipe.
fn run(reach: &Reach, file: Option<PathBuf>, force: bool) -> Result<Exit, Failure> {
    if let Some(file) = file.as_ref().filter(|file| !force && file.symlink_metadata().is_ok()) {
        return Err(exists(file));
    }
    converse(reach, async |talk| match file {
        Some(file) => to_file(talk, &file, force).await,
        None if io::stdout().is_terminal() && !talk.json => {
            Err(Failure::Usage("a checkpoint does not belong on a terminal: name a file".to_owned()))
        }
        None => to_pipe(&talk.client).await,
    })
}

async fn to_pipe(client: &Client) -> Result<Exit, Failure> {
    let checkpoint = fetch(client).await?;
    let mut out = io::stdout().lock();
    out.write_all(&checkpoint)?;
    out.flush()?;
    Ok(Exit::Fine)
}

async fn to_file(talk: &Conversation, file: &Path, force: bool) -> Result<Exit, Failure> {
    let checkpoint = fetch(&talk.client).await?;
    // Beside its place first, so that half a file never has its name; and for its owner only, as it holds hashes of tokens.
    let directory = file.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut part = tempfile::NamedTempFile::new_in(directory)?;
    part.write_all(&checkpoint)?;
    part.as_file().sync_all()?;
    let kept = if force { part.persist(file) } else { part.persist_noclobber(file) };
    kept.map_err(|error| match error.error.kind() {
        io::ErrorKind::AlreadyExists => exists(file),
        _ => Failure::System(error.error),
    })?;
    let (file, size) = (file.display(), checkpoint.len());
    let document = json!({"file": file.to_string(), "size": size});
    Ok(talk.confirm(&document, format_args!("{size} bytes in {file}")))
}

/// The refusal to overwrite a file: it may be the only checkpoint of its time.
fn exists(file: &Path) -> Failure {
    Failure::Refused(format!(
        "{} is there already; name another file, or give --force to replace it",
        file.display()
    ))
}

/// Fetches a checkpoint and makes sure that it is whole: its hash is that of what stands before it.
async fn fetch(client: &Client) -> Result<Vec<u8>, Failure> {
    let mut checkpoint = Vec::new();
    let take = |piece: &[u8]| {
        checkpoint.extend_from_slice(piece);
        Ok(())
    };
    client.fetch(&["api", "v1", "checkpoint"], take).await?;
    if !is_whole(&checkpoint) {
        return Err(Failure::System(io::Error::other("the checkpoint came damaged; fetch it again")));
    }
    Ok(checkpoint)
}

fn is_whole(document: &[u8]) -> bool {
    let inner = document.strip_prefix(b"{\"checkpoint\":").and_then(|rest| rest.strip_suffix(b"\"}"));
    let parts = inner.and_then(|inner| inner.split_at_checked(inner.len().checked_sub(64)?));
    parts.is_some_and(|(checkpoint, hash)| {
        let checkpoint = checkpoint.strip_suffix(b",\"sha256\":\"");
        checkpoint.is_some_and(|text| ContentHash::of(text).to_string().as_bytes() == hash)
    })
}

#[derive(Debug, Args)]
struct Restore {
    /// A checkpoint: exported, or one of those in checkpoints/ of a data directory
    file: PathBuf,
    #[command(flatten)]
    place: StoreLocation,
}

impl Restore {
    fn run(self, json: bool) -> Result<Exit, Failure> {
        let config = self.place.settings()?;
        if config.store == StoreChoice::Memory {
            return Err(Failure::Usage(
                "server.store is memory: nothing restored there would last".to_owned(),
            ));
        }
        let checkpoint = read(&self.file)?.after(SystemClock::start().now());
        let taken_at = checkpoint.taken_at().0;
        let store = assembly::open_store(&config)?.store;
        let restored = checkpoint.restore(&*store, &config.simulation.output_root)?;
        output::object(&document(&restored, taken_at), json);
        Ok(Exit::Fine)
    }
}

/// Reads all of it before anything is touched.
fn read(path: &Path) -> Result<CheckpointFile, Failure> {
    let unreadable =
        |error: io::Error| Failure::Usage(format!("cannot read the checkpoint {}: {error}", path.display()));
    let mut bytes = Vec::new();
    // One byte more than may be, so that what is too large is seen to be.
    let most = CHECKPOINT_BYTES_MAX as u64 + 1;
    File::open(path).and_then(|file| file.take(most).read_to_end(&mut bytes)).map_err(unreadable)?;
    CheckpointFile::read(&bytes).map_err(|error| Failure::Checkpoint { path: path.to_owned(), error })
}

fn document(restored: &Restored, taken_at: i64) -> Value {
    json!({
        "takenAt": taken_at,
        "epoch": restored.epoch,
        "sessions": restored.sessions,
        "openSessions": restored.open_sessions,
        "tasks": restored.tasks,
        "completedTasks": restored.completed_tasks,
        "chunks": restored.chunks,
        "retiredChunks": restored.retired_chunks,
        "replays": restored.replays,
        "workers": restored.workers,
        "quarantine": restored.quarantine,
        "nextRangeStart": restored.farm.next_id,
        "nextChunkId": restored.farm.next_chunk,
        "skippedChunks": restored.skipped_chunks,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// S20: a checkpoint that lost or changed a byte is not taken for one.
    #[test]
    fn a_damaged_checkpoint_is_noticed() {
        let inner = "{\"distributed\":{}}";
        let hash = ContentHash::of(inner.as_bytes());
        let whole = format!("{{\"checkpoint\":{inner},\"sha256\":\"{hash}\"}}").into_bytes();
        assert!(is_whole(&whole));
        for at in 0..whole.len() {
            let mut other = whole.clone();
            other[at] ^= 1;
            assert!(!is_whole(&other), "{at}");
            assert!(!is_whole(&whole[..at]), "{at}");
        }
    }
}
