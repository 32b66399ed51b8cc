//! Once all is quiet: no ids are live, every file is where it belongs.

use super::{FrameBook, Verdict, ensure};
use muster_model::{EntryId, SessionStatus};
use std::collections::BTreeSet;

impl FrameBook {
    /// Whether no session is open, and nothing has to be moved.
    pub(crate) fn is_quiet(&self) -> bool {
        self.rows.sessions.values().all(|session| !session.open)
            && self.rows.quarantine.values().all(|entry| entry.moved)
    }

    /// The last look.
    pub(in crate::checker) fn at_rest(&self) -> Verdict {
        let live = self.rows.live.iter().next();
        ensure(live.is_none(), "live_ids_at_rest", || format!("{live:?}"))?;
        let missing = self.rows.quarantine.keys().find(|entry| !self.moved.contains(entry));
        ensure(missing.is_none(), "files_not_moved", || format!("{missing:?}"))?;
        for session in self.rows.sessions.values() {
            let replays: BTreeSet<u64> = self
                .rows
                .replays
                .values()
                .filter(|replay| replay.session == session.id)
                .map(|replay| replay.new)
                .collect();
            let written = self.written.get(&session.id);
            let is_due = session.status == SessionStatus::Completed;
            ensure(!is_due || written == Some(&replays), "session_unlike_its_file", || {
                format!("{session:?} has replays {replays:?}, its file {written:?}")
            })?;
            if is_due {
                self.check_manifest(session)?;
            }
        }
        Ok(())
    }

    /// What keeps the ledger from being quiet.
    pub(in crate::checker) fn unrest(&self) -> String {
        let open: Vec<_> = self.rows.sessions.values().filter(|session| session.open).collect();
        let tasks: Vec<_> = self.rows.tasks.values().filter(|task| !task.status.is_ended()).collect();
        let unmoved: Vec<&EntryId> =
            self.rows.quarantine.values().filter(|entry| !entry.moved).map(|entry| &entry.id).collect();
        let workers: Vec<_> = self.rows.renderers.values().map(|row| (&row.id, row.state)).collect();
        let farm = self.rows.farm;
        format!(
            "open sessions {open:?}, ranges {tasks:?}, not moved {unmoved:?}, workers {workers:?}, {farm:?}"
        )
    }
}
