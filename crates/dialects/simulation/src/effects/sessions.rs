//! The files that tell of a session as a whole: read from the store, page by page, and written (S21).

use super::{Runner, Trouble, Wish};
use crate::{
    output::{SessionFiles, left_out},
    pages::pages,
};
use muster_model::{FrameCommand, FrameTaskStatus, Name, SessionId};
use muster_store::Reader;
use std::collections::HashMap;

/// What the store knows of a session.
struct Known {
    files: SessionFiles,
    /// All frames are done and it has not ended: its manifest is due.
    is_mergeable: bool,
}

/// What became of a merge that was wanted.
enum Merge {
    /// A range was given out anew, or the session has ended.
    NotDue,
    /// The manifest is there; what it had to leave out is said.
    Written { fault: Option<Box<str>> },
}

impl Runner {
    /// Writes what is wanted of a session's files, until nothing more is.
    pub(super) async fn tend(&self, session: SessionId, wish: Wish) {
        if !self.sessions.begin(&session, wish) {
            return;
        }
        while let Some(wish) = self.sessions.take(&session) {
            if wish.merge {
                let merged = self.persist("write a manifest", wish.epoch, || self.merge(&session)).await;
                let Some(Merge::Written { fault }) = merged else { continue };
                if self.sessions.is_wanted(&session) {
                    // Something may have been reopened since: this manifest is not the last, and one is still due.
                    self.sessions.begin(&session, wish);
                } else {
                    self.tell(FrameCommand::Merged { session: session.clone(), fault }).await;
                }
            } else {
                self.persist("write session.json", wish.epoch, || self.write_session(&session)).await;
            }
        }
    }

    async fn write_session(&self, session: &SessionId) -> Result<(), Trouble> {
        let _place = self.writers.acquire().await;
        match self.read_session(session).await? {
            Some(known) => self.on_disk(move |root| root.write_session(&known.files)).await,
            None => Ok(()),
        }
    }

    /// Writes the manifest.
    async fn merge(&self, session: &SessionId) -> Result<Merge, Trouble> {
        let _place = self.writers.acquire().await;
        let Some(known) = self.read_session(session).await?.filter(|known| known.is_mergeable) else {
            return Ok(Merge::NotDue);
        };
        let accepted = self.read_accepted(session).await?;
        let report = self.on_disk(move |root| root.merge(&known.files, &accepted)).await?;
        for warning in &report.warnings {
            tracing::warn!(%session, file = warning.file, "{}", warning.warning);
        }
        Ok(Merge::Written { fault: left_out(&report).map(Into::into) })
    }

    async fn read_session(&self, session: &SessionId) -> Result<Option<Known>, Trouble> {
        let id = session.clone();
        let read = move |reader: &dyn Reader| {
            let Some(record) = reader.session(&id)? else { return Ok(None) };
            let mut replays = Vec::new();
            pages(|page| reader.replays(&id, page), |replay| replays.push(replay))?;
            let is_mergeable = !record.status.is_ended() && record.completed_frames == record.total_frames;
            let (output, total_frames) = (record.output, record.total_frames);
            Ok(Some(Known {
                files: SessionFiles { session: id, output, total_frames, replays },
                is_mergeable,
            }))
        };
        Ok(self.coordinator.read(read).await?)
    }

    /// Whose fragment counts for each chunk.
    async fn read_accepted(&self, session: &SessionId) -> Result<HashMap<u64, Name>, Trouble> {
        let id = session.clone();
        let read = move |reader: &dyn Reader| {
            let mut accepted = HashMap::new();
            pages(
                |page| reader.frame_tasks(&id, page),
                |task| {
                    if task.status == FrameTaskStatus::Completed {
                        accepted.insert(task.ids.chunk, task.worker);
                    }
                },
            )?;
            Ok(accepted)
        };
        Ok(self.coordinator.read(read).await?)
    }
}
