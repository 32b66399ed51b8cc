//! Everything that contract S knows, in one document that can be checked and restored (S20). The last few are kept on disk.

mod gather;
mod moment;
mod restore;

pub use restore::{BYTES_MAX, Checkpoint, ReadError, RestoreError, Restored};

use crate::{routes::refuse, simulation::Simulation};
use axum::{Extension, http::header, response::IntoResponse};
use gather::{Live, gather};
use muster_coordinator::Refusal;
use muster_http::{HttpState, Operator, Problem};
use muster_model::{FrameQuery, FrameView, Role};
use sha2::{Digest, Sha256};
use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
    time::Duration,
};
use tokio::time::MissedTickBehavior;
use utoipa_axum::{router::OpenApiRouter, routes};

impl Simulation {
    /// Takes a checkpoint: `{"checkpoint":{"distributed":{…}},"sha256":"…"}` in canonical JSON, so that whoever reads it
    /// can write `checkpoint` again in the same letters and compare the hash.
    ///
    /// # Errors
    /// When memory cannot be asked or the store cannot be read.
    pub async fn checkpoint(&self) -> Result<Vec<u8>, Refusal> {
        let _turn = self.0.checkpointing.acquire().await;
        let coordinator = &self.0.coordinator;
        let live = Live {
            status: match coordinator.frames(FrameQuery::Status).await? {
                FrameView::Status(status) => status,
                _ => return Err(Refusal::Unavailable),
            },
            renderers: match coordinator.frames(FrameQuery::AllRenderers).await? {
                FrameView::Renderers(renderers) => renderers,
                _ => return Err(Refusal::Unavailable),
            },
            epoch: coordinator.epoch(),
            at: coordinator.now(),
            chunk_size: coordinator.settings().frames.chunk_size,
        };
        let distributed = coordinator.read(move |reader| gather(reader, &live)).await?;
        Ok(seal(&distributed))
    }
}

/// Puts the hash beside what it is of.
fn seal(distributed: &str) -> Vec<u8> {
    let checkpoint = format!("{{\"distributed\":{distributed}}}");
    let hash = crate::output::hex(&Sha256::digest(checkpoint.as_bytes()));
    format!("{{\"checkpoint\":{checkpoint},\"sha256\":\"{hash}\"}}").into_bytes()
}

/// The reason why a checkpoint was not written.
#[derive(Debug, thiserror::Error)]
pub enum KeepError {
    /// The disk refused.
    #[error("cannot write {}: {error}", path.display())]
    Disk {
        /// The file.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// Memory or the store could not be read.
    #[error(transparent)]
    Refused(#[from] muster_coordinator::Refusal),
}

/// Writes a checkpoint into a directory every so often, for as long as it is polled. Where nothing became durable since
/// the last one there is nothing to write.
pub async fn keep_checkpoints(simulation: Simulation, directory: PathBuf, every: Duration) {
    let mut ticks = tokio::time::interval(every);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut written = None;
    loop {
        ticks.tick().await;
        let newest = simulation.0.coordinator.feed().newest().ok();
        if !simulation.0.coordinator.is_ready() || newest.is_none() || written == newest {
            continue;
        }
        match keep(&simulation, &directory).await {
            Ok(()) => written = newest,
            Err(error) => tracing::warn!(%error, "no checkpoint was written; it is tried again"),
        }
    }
}

async fn keep(simulation: &Simulation, directory: &Path) -> Result<(), KeepError> {
    let checkpoint = simulation.checkpoint().await?;
    let path = directory.join(file_name(simulation.0.coordinator.now().0));
    let written = tokio::task::spawn_blocking(move || write(&path, &checkpoint)).await;
    written.unwrap_or_else(|_| Err(muster_coordinator::Refusal::Unavailable.into()))
}

/// Writes a file whole or not at all, and lets go of all but the last few of its kind.
fn write(path: &Path, bytes: &[u8]) -> Result<(), KeepError> {
    let failed = |error| KeepError::Disk { path: path.to_owned(), error };
    let directory = path.parent().unwrap_or(Path::new("."));
    // Hashes of tokens are in it, and what sessions simulate: for the owner only.
    fs::DirBuilder::new().recursive(true).mode(0o700).create(directory).map_err(failed)?;
    let part = directory.join(PART);
    let mut file =
        OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&part).map_err(failed)?;
    file.write_all(bytes).and_then(|()| file.sync_all()).map_err(failed)?;
    fs::rename(&part, path).map_err(failed)?;
    File::open(directory).and_then(|directory| directory.sync_all()).map_err(failed)?;
    prune(directory).map_err(failed)
}

fn prune(directory: &Path) -> io::Result<()> {
    let mut names: Vec<String> = Vec::new();
    for entry in fs::read_dir(directory)? {
        names.extend(entry?.file_name().into_string().ok().filter(|name| is_ours(name)));
    }
    names.sort_unstable();
    let surplus = names.len().saturating_sub(KEPT);
    names.iter().take(surplus).try_for_each(|name| fs::remove_file(directory.join(name)))
}

/// Names sort by the time that they tell.
fn file_name(at: i64) -> String {
    format!("{PREFIX}{at:015}{SUFFIX}")
}

fn is_ours(name: &str) -> bool {
    let digits = name.strip_prefix(PREFIX).and_then(|name| name.strip_suffix(SUFFIX));
    digits.is_some_and(|digits| digits.len() == 15 && digits.bytes().all(|byte| byte.is_ascii_digit()))
}

pub(crate) fn routes() -> OpenApiRouter<HttpState> {
    OpenApiRouter::default().routes(routes!(checkpoint))
}

/// Shows everything this contract knows, with its hash.
///
/// `{"checkpoint": {"distributed": {…}}, "sha256": "…"}` in canonical JSON; the hash is that of `checkpoint`. It holds
/// hashes of tokens, never tokens.
#[utoipa::path(
    get, path = "/api/v1/checkpoint", operation_id = "checkpoint", tag = "simulation", security(("operator" = [])),
    responses((status = 200, description = "The checkpoint", body = Object, content_type = "application/json"))
)]
async fn checkpoint(
    operator: Operator,
    Extension(simulation): Extension<Simulation>,
) -> Result<impl IntoResponse, Problem> {
    // With the hash of a worker's token pushes to it can be signed: nothing for who only looks on.
    operator.demand(Role::Operator)?;
    let document = simulation.checkpoint().await.map_err(refuse)?;
    Ok(([(header::CONTENT_TYPE, "application/json")], document))
}

const KEPT: usize = 3;
const PREFIX: &str = "checkpoint-";
const SUFFIX: &str = ".json";
const PART: &str = ".checkpoint.part";

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;
    use std::os::unix::fs::PermissionsExt;

    /// S20: the hash is that of the canonical form of what stands beside it.
    #[test]
    fn the_hash_is_of_the_checkpoint() {
        let sealed = seal(r#"{"epoch":1,"tasks":[]}"#);
        let document: Value = serde_json::from_slice(&sealed).unwrap();
        let checkpoint = document["checkpoint"].to_string();
        assert_eq!(checkpoint, r#"{"distributed":{"epoch":1,"tasks":[]}}"#);
        assert_eq!(document["sha256"], crate::output::hex(&Sha256::digest(checkpoint.as_bytes())));
        assert_eq!(sealed, document.to_string().into_bytes());
    }

    /// S20: the last three are kept, whole, for their owner; what is not ours is left alone.
    #[test]
    fn the_last_three_are_kept() {
        let data = tempfile::tempdir().unwrap();
        let directory = data.path().join("checkpoints");
        for at in 1..=5 {
            write(&directory.join(file_name(at)), format!("{at}").as_bytes()).unwrap();
            fs::write(directory.join("notes.json"), "mine").unwrap();
        }
        let mut names: Vec<String> = fs::read_dir(&directory)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        assert_eq!(names, [file_name(3), file_name(4), file_name(5), "notes.json".to_owned()]);
        let newest = directory.join(file_name(5));
        assert_eq!(fs::read_to_string(&newest).unwrap(), "5");
        assert_eq!(newest.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    }
}
