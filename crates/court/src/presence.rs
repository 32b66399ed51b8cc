//! Presence of roles: one lock per role for as long as its holder lives (C5), and its heartbeats (C19).

use crate::{
    Document, Folder, Id,
    document::document,
    file::{instant, stamp},
    layout::{HEARTBEATS, LOCKS},
};
use jiff::{SignedDuration, Timestamp};
use std::{
    collections::BTreeMap,
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, Read, Seek, Write},
    path::Path,
    time::Duration,
};

/// The right to be one role; it ends with the process, however that ends.
#[derive(Debug)]
pub struct RoleLock {
    role: String,
    /// The lock is the open file's; closing it lets go.
    _file: File,
}

/// The reason why a role cannot be taken.
#[derive(Debug, thiserror::Error)]
pub enum RoleLockError {
    /// Another process has it.
    #[error("the {role} of this court is running already{holder}; end it first, or choose another --home")]
    Held {
        /// The role.
        role: String,
        /// The holder, if known.
        holder: String,
    },
    /// The system refused.
    #[error("cannot lock the role {role}: {error}")]
    Io {
        /// The role.
        role: String,
        /// The reason.
        error: io::Error,
    },
}

impl RoleLock {
    /// Takes a role: `king`, `envoy`, `general-NAME`.
    pub fn take(folder: &Folder, role: &str) -> Result<Self, RoleLockError> {
        let failed = |error| RoleLockError::Io { role: role.to_owned(), error };
        let path = folder.path(LOCKS).join(format!("{role}.lock"));
        let mut options = OpenOptions::new();
        let mut file =
            options.read(true).write(true).create(true).truncate(false).open(path).map_err(failed)?;
        match lock(&file, || std::thread::sleep(BETWEEN_TRIES)) {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(held(role, file)),
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
        sign(&mut file).map_err(failed)?;
        Ok(Self { role: role.to_owned(), _file: file })
    }

    /// Says whether somebody has a role right now.
    pub fn is_held(folder: &Folder, role: &str) -> bool {
        let Ok(file) = File::open(folder.path(LOCKS).join(format!("{role}.lock"))) else { return false };
        // Shared, so that two who only ask do not see each other as the holder.
        matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock))
    }

    /// The role.
    #[must_use]
    pub fn role(&self) -> &str {
        &self.role
    }
}

/// Locks it, in several tries: whoever only asks holds it for a moment as well.
fn lock(file: &File, mut pause: impl FnMut()) -> Result<(), TryLockError> {
    for _ in 0..TRIES {
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => pause(),
            locked => return locked,
        }
    }
    file.try_lock()
}

/// Writes down who has it: for people, nothing relies on it.
fn sign(file: &mut File) -> io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    writeln!(file, "{}", std::process::id())
}

fn held(role: &str, mut file: File) -> RoleLockError {
    let mut text = String::new();
    let _ = file.read_to_string(&mut text);
    let pid: Option<u32> = text.trim().parse().ok();
    let holder = pid.map(|pid| format!(", as process {pid}")).unwrap_or_default();
    RoleLockError::Held { role: role.to_owned(), holder }
}

/// The last sign of life of a role.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heartbeat {
    /// The process that gave it.
    pub pid: u64,
    /// The time.
    pub at: Timestamp,
}

impl Folder {
    /// Says that a role (`king`, `general-NAME`) is there: at its start and whenever it wakes, every ten seconds at least.
    ///
    /// Readers never see half of one (C4). But nothing here is durable, and what goes wrong is only logged: a lost heartbeat is followed by the next.
    pub fn beat(&self, role: &str, now: Timestamp) {
        let document = document! {"role": role, "pid": std::process::id(), "at": stamp(now)};
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
    /// Its age; never negative, whatever the clock did.
    #[must_use]
    pub fn age(&self, now: Timestamp) -> SignedDuration {
        now.duration_since(self.at).max(SignedDuration::ZERO)
    }

    /// True if the role counts as alive: its process exists and is not silent.
    #[must_use]
    pub fn is_alive(&self, now: Timestamp) -> bool {
        self.age(now) <= SILENCE_MAX && Path::new(&format!("/proc/{}", self.pid)).exists()
    }
}

/// Half a second: pages and doctors ask again and again, many at once.
const TRIES: u32 = 25;
const BETWEEN_TRIES: Duration = Duration::from_millis(20);
/// Three heartbeats.
const SILENCE_MAX: SignedDuration = SignedDuration::from_secs(30);

#[cfg(test)]
mod tests {
    use super::*;

    /// C5: one holder at a time, who is named to the next; asking takes nothing away; letting go is enough.
    #[test]
    fn a_role_is_held_once() {
        let home = tempfile::tempdir().unwrap();
        let folder = Folder::open(home.path()).unwrap();
        let king = RoleLock::take(&folder, "king").unwrap();
        assert!(RoleLock::is_held(&folder, "king") && !RoleLock::is_held(&folder, "envoy"));
        let refused = RoleLock::take(&folder, "king").unwrap_err().to_string();
        assert!(refused.contains("king") && refused.contains(&std::process::id().to_string()), "{refused}");
        drop(RoleLock::take(&folder, "envoy").unwrap());
        drop(king);
        // A program that another test starts has all files of this process until it becomes itself.
        for _ in 0..500 {
            if !RoleLock::is_held(&folder, "king") {
                RoleLock::take(&folder, "king").unwrap();
                return;
            }
            std::thread::sleep(BETWEEN_TRIES);
        }
        panic!("the role is held ten seconds after its holder let go");
    }

    /// C5: many who ask, one after the other, keep nobody from a role.
    #[test]
    fn asking_keeps_nobody_from_a_role() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let open = || File::open(file.path()).unwrap();
        let asking = open();
        asking.lock_shared().unwrap();
        let mut tries = 0;
        let locked = lock(&open(), || {
            tries += 1;
            if tries == 20 {
                asking.unlock().unwrap();
            }
        });
        assert!(locked.is_ok());
    }

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
