//! `muster checkpoint restore`: begins anew with what a checkpoint holds (S20).

use crate::{
    assembly,
    command::store_side::Place,
    config::StoreChoice,
    failure::{Exit, Failure},
    output,
};
use clap::Args;
use muster_coordinator::{Clock, SystemClock};
use muster_simulation::{CHECKPOINT_BYTES_MAX, Checkpoint, Restored};
use serde_json::{Value, json};
use std::{
    fs::File,
    io::{self, Read},
    path::{Path, PathBuf},
};

#[derive(Debug, Args)]
pub(super) struct Restore {
    /// A checkpoint: exported, or one of those in checkpoints/ of a data directory
    file: PathBuf,
    #[command(flatten)]
    place: Place,
}

impl Restore {
    pub(super) fn run(self, json: bool) -> Result<Exit, Failure> {
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
        let document = document(&restored, taken_at);
        if json {
            output::document(&document)
        } else {
            output::members(&document)
        }
        Ok(Exit::Fine)
    }
}

/// Reads all of it before anything is touched.
fn read(path: &Path) -> Result<Checkpoint, Failure> {
    let unreadable =
        |error: io::Error| Failure::Usage(format!("cannot read the checkpoint {}: {error}", path.display()));
    let mut bytes = Vec::new();
    // One byte more than may be, so that what is too large is seen to be.
    let most = CHECKPOINT_BYTES_MAX as u64 + 1;
    File::open(path).and_then(|file| file.take(most).read_to_end(&mut bytes)).map_err(unreadable)?;
    Checkpoint::read(&bytes).map_err(|error| Failure::Checkpoint { path: path.to_owned(), error })
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
