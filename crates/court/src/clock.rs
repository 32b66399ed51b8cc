//! The wall clock, pauses measured by it, and the wait for the next file or moment (C20). Only runtimes read the clock; minds are handed the time.

use jiff::{SignedDuration, Timestamp};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    fs::inotify::{self, CreateFlags, WatchFlags},
};
use std::{
    io,
    os::fd::OwnedFd,
    path::Path,
    sync::{Arc, Weak},
    time::Duration,
};
use tokio::sync::Notify;

/// Tells the time.
#[derive(Clone, Copy, Debug, Default)]
pub struct Clock;

impl Clock {
    /// The time of day, on this machine.
    #[allow(clippy::disallowed_methods, reason = "the one place of the court that may")]
    #[must_use]
    pub fn now(self) -> Timestamp {
        Timestamp::now()
    }
}

/// Time to wait for a moment; never quite zero, so that a clock that stands still does not make a loop busy.
pub(crate) fn wait_until(at: Timestamp, now: Timestamp) -> Duration {
    Duration::try_from(at.duration_since(now)).unwrap_or_default().max(Duration::from_millis(10))
}

/// A span of time, from a moment to a later one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pause {
    from: Timestamp,
    until: Timestamp,
}

impl Pause {
    /// A span that begins at a moment; beyond the end of time it never ends.
    pub(crate) fn of(span: SignedDuration, from: Timestamp) -> Self {
        Self { from, until: from.checked_add(span).unwrap_or(Timestamp::MAX) }
    }

    /// True if it has ended. A clock that was set back before its start counts as the end.
    pub(crate) fn is_over(self, now: Timestamp) -> bool {
        now >= self.until || now < self.from
    }

    /// The end.
    pub(crate) const fn until(self) -> Timestamp {
        self.until
    }
}

/// Returns when something appears in one of some directories, or when it is time to look anyway.
///
/// It does not say which file appeared: the kernel drops notices when too many pile up, so a role that wakes looks for itself.
#[derive(Debug)]
pub struct Wake {
    noticed: Arc<Notify>,
    poll: Duration,
}

impl Wake {
    /// Watches directories.
    #[must_use]
    pub fn on(directories: &[&Path], poll: Duration) -> Self {
        let noticed = Arc::new(Notify::new());
        let watching = watch(directories).and_then(|notices| {
            let listener = Arc::downgrade(&noticed);
            std::thread::Builder::new().name("wake".to_owned()).spawn(move || listen(&notices, &listener))
        });
        if let Err(error) = watching {
            tracing::warn!(%error, "files are only looked for by polling");
        }
        Self { noticed, poll }
    }

    /// Waits for a file or for the time to poll; at most for `limit`, where one is given.
    pub async fn wait(&self, limit: Option<Duration>) {
        let poll = limit.map_or(self.poll, |limit| limit.min(self.poll));
        let _ = tokio::time::timeout(poll, self.noticed.notified()).await;
    }

    /// Something else that makes the role look.
    #[must_use]
    pub fn handle(&self) -> Arc<Notify> {
        Arc::clone(&self.noticed)
    }
}

fn watch(directories: &[&Path]) -> io::Result<OwnedFd> {
    let notices = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
    for directory in directories {
        inotify::add_watch(&notices, *directory, WatchFlags::MOVED_TO | WatchFlags::CLOSE_WRITE)?;
    }
    Ok(notices)
}

/// Passes notices on for as long as anybody waits for them.
fn listen(notices: &OwnedFd, listener: &Weak<Notify>) {
    while let Some(listener) = listener.upgrade() {
        let mut ready = [PollFd::new(notices, PollFlags::IN)];
        match poll(&mut ready, Some(&LOOK_AROUND)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => {}
            Ok(_) => {
                drain(notices);
                listener.notify_one();
            }
            Err(error) => return tracing::warn!(%error, "files are only looked for by polling from now on"),
        }
    }
}

fn drain(notices: &OwnedFd) {
    let mut buffer = [0; 4096];
    while rustix::io::read(notices, &mut buffer).is_ok_and(|count| count > 0) {}
}

/// The longest time that a listener outlives its owner.
const LOOK_AROUND: Timespec = Timespec { tv_sec: 1, tv_nsec: 0 };

#[cfg(test)]
mod tests {
    use super::*;

    /// C20: a file that is renamed into place wakes, though the poll is far away; without one the poll does.
    #[tokio::test]
    async fn a_file_wakes_before_the_poll() {
        let directory = tempfile::tempdir().unwrap();
        let wake = Wake::on(&[directory.path()], Duration::from_secs(3600));
        let elsewhere = tempfile::tempdir().unwrap();
        std::fs::write(elsewhere.path().join("a"), "x").unwrap();
        std::fs::rename(elsewhere.path().join("a"), directory.path().join("a.json")).unwrap();
        wake.wait(None).await;
        wake.wait(Some(Duration::from_millis(5))).await;
    }
}
