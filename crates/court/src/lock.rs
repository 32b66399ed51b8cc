//! One consumer per queue, as long as it lives (C5).

use crate::{Folder, layout::LOCKS};
use std::{
    fs::{File, OpenOptions, TryLockError},
    io::{self, Read, Seek, Write},
    time::Duration,
};

/// The right to be one role; it ends with the process, however that ends.
#[derive(Debug)]
pub struct RoleLock {
    role: String,
    /// The lock is the open file's; closing it lets go.
    _file: File,
}

/// Why a role cannot be taken.
#[derive(Debug, thiserror::Error)]
pub enum RoleLockError {
    /// Somebody has it.
    #[error("the {role} of this court is running already{holder}; end it first, or choose another --home")]
    Held {
        /// The role.
        role: String,
        /// Who has it, as far as it is known.
        holder: String,
    },
    /// The system refused.
    #[error("cannot lock the role {role}: {error}")]
    Io {
        /// The role.
        role: String,
        /// Why.
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

/// Half a second: pages and doctors ask again and again, many at once.
const TRIES: u32 = 25;
const BETWEEN_TRIES: Duration = Duration::from_millis(20);

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
}
