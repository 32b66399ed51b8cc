//! Signs of life: one small file per role, for the chamberlain and the doctor (C19).

use crate::{Document, Folder, Id, file::instant, file::stamp, layout::HEARTBEATS};
use jiff::{SignedDuration, Timestamp};
use std::{collections::BTreeMap, fs, path::Path};

/// The last sign of life of a role.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heartbeat {
    /// The process that gave it.
    pub pid: u64,
    /// When.
    pub at: Timestamp,
}

impl Folder {
    /// Says that a role (`king`, `general-NAME`) is there: at its start and whenever it wakes, every ten seconds at least.
    ///
    /// Readers never see half of one (C4). But nothing here is durable, and what goes wrong is only logged: a lost heartbeat is followed by the next.
    pub fn beat(&self, role: &str, now: Timestamp) {
        let mut document = Document::new();
        document
            .set_text("role", role)
            .set_number("pid", u64::from(std::process::id()))
            .set_text("at", &stamp(now));
        let path = self.path(HEARTBEATS).join(role);
        let temporary = self.temporary(&path);
        let written = fs::write(&temporary, document.to_file()).and_then(|()| fs::rename(&temporary, &path));
        if let Err(error) = written {
            let _ = fs::remove_file(&temporary);
            tracing::warn!(role, %error, "a heartbeat was not written");
        }
    }

    /// The last heartbeat of every role that ever gave one; what cannot be read is left out.
    #[must_use]
    pub fn heartbeats(&self) -> BTreeMap<String, Heartbeat> {
        let entries = fs::read_dir(self.path(HEARTBEATS)).into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        let names = names.filter(|name| Id::parse(name).is_ok());
        names.filter_map(|name| self.heartbeat(&name).map(|beat| (name, beat))).collect()
    }

    fn heartbeat(&self, role: &str) -> Option<Heartbeat> {
        let bytes = self.bytes(&self.path(HEARTBEATS).join(role)).ok()?;
        let document = Document::parse(&bytes).ok()?;
        Some(Heartbeat { pid: document.number("pid")?, at: instant(&document.text("at")?)? })
    }
}

impl Heartbeat {
    /// How long ago it was; never negative, whatever the clock did.
    #[must_use]
    pub fn age(&self, now: Timestamp) -> SignedDuration {
        now.duration_since(self.at).max(SignedDuration::ZERO)
    }

    /// Whether the role can be taken to live: its process is there and not silent.
    #[must_use]
    pub fn is_alive(&self, now: Timestamp) -> bool {
        self.age(now) <= SILENCE_MAX && Path::new(&format!("/proc/{}", self.pid)).exists()
    }
}

/// Three heartbeats.
const SILENCE_MAX: SignedDuration = SignedDuration::from_secs(30);

#[cfg(test)]
mod tests {
    use super::*;

    /// C19: roles' heartbeats in `state/heartbeats/{role}`; a silent role or a dead process is not alive.
    #[test]
    fn a_role_lives_while_its_heart_beats() {
        let home = tempfile::tempdir().unwrap();
        let folder = Folder::open(home.path()).unwrap();
        let now: Timestamp = "2026-02-07T10:00:00Z".parse().unwrap();
        folder.beat("general-greet", now);
        fs::write(
            folder.path("state/heartbeats/king"),
            r#"{"role":"king","pid":4294967295,"at":"2026-02-07T10:00:00Z"}"#,
        )
        .unwrap();
        fs::write(folder.path("state/heartbeats/envoy"), "").unwrap();
        fs::write(folder.path("state/heartbeats/.tmp"), "{}").unwrap();

        assert_eq!(
            fs::read_dir(folder.path("state/heartbeats")).unwrap().count(),
            4,
            "nothing is left beside"
        );
        let beats = folder.heartbeats();
        assert_eq!(beats.keys().collect::<Vec<_>>(), ["general-greet", "king"]);
        let later = |seconds| now + SignedDuration::from_secs(seconds);
        assert!(beats["general-greet"].is_alive(later(30)));
        assert!(!beats["general-greet"].is_alive(later(31)));
        assert!(!beats["king"].is_alive(now));
        assert_eq!(beats["king"].age(later(-5)), SignedDuration::ZERO);
    }
}
