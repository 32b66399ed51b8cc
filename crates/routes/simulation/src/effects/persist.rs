//! Tries again until it works: an effect is never lost while the process lives, and a broken disk fills no log.
//!
//! Work about one thing is never done by two at once, and what is asked for again meanwhile is done once more, however
//! often it was asked for.

use super::Runner;
use crate::output::{OutputError, OutputRoot};
use muster_coordinator::{Lead, Refusal};
use std::{
    collections::{BTreeSet, HashMap, HashSet},
    hash::Hash,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

/// The reason why an effect was not carried out.
#[derive(Debug, thiserror::Error)]
pub(super) enum Trouble {
    /// The term ended: the next one asks for it again.
    #[error("the term is over")]
    TermOver,
    /// This server stood still for a while and does not know yet whether it leads.
    #[error("another server may lead by now")]
    MayBeOver,
    /// The disk refuses.
    #[error(transparent)]
    Output(#[from] OutputError),
    /// The coordinator or its store refuses.
    #[error(transparent)]
    Refused(Refusal),
    /// A fault of ours.
    #[error("it broke off: {0}")]
    BrokeOff(String),
}

impl From<Refusal> for Trouble {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Unavailable => Self::TermOver,
            other => Self::Refused(other),
        }
    }
}

impl Trouble {
    /// A text that is the same for troubles that need not be logged twice.
    fn kind(&self) -> String {
        match self {
            Self::Output(error) => error.kind(),
            other => other.to_string(),
        }
    }
}

impl Runner {
    /// Tries until it works, with growing pauses; none when the term is over before.
    pub(super) async fn persist<T, A: Future<Output = Result<T, Trouble>>>(
        &self,
        doing: &'static str,
        epoch: u64,
        mut attempt: impl FnMut() -> A,
    ) -> Option<T> {
        let (mut pause, mut raised) = (PAUSE_MIN, BTreeSet::new());
        // Asked before each try: another server may lead by now, and do the same.
        while self.coordinator().lead() == (Lead::Here { epoch }) {
            match attempt().await {
                Ok(done) => {
                    self.complaints.settle(doing, raised);
                    return Some(done);
                }
                Err(Trouble::TermOver) => return None,
                Err(trouble) => _ = raised.insert(self.complaints.raise(doing, &trouble)),
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(PAUSE_MAX);
        }
        None
    }

    /// Does something with files off the async threads; where this server leads no more, nothing. All servers share the
    /// files: what another wrote since must not be replaced by what was read before (S18).
    pub(super) async fn on_disk<T: Send + 'static>(
        &self,
        run: impl FnOnce(&OutputRoot) -> Result<T, OutputError> + Send + 'static,
    ) -> Result<T, Trouble> {
        if !matches!(self.coordinator().lead(), Lead::Here { .. }) {
            return Err(Trouble::TermOver);
        }
        let (root, coordinator) = (self.simulation.0.output.clone(), self.coordinator().clone());
        let done = tokio::task::spawn_blocking(move || coordinator.is_ready().then(|| run(&root))).await;
        let done = done.map_err(|error| Trouble::BrokeOff(error.to_string()))?;
        Ok(done.ok_or(Trouble::MayBeOver)??)
    }
}

/// Troubles that were logged and are not over.
#[derive(Debug, Default)]
pub(super) struct Complaints(Mutex<HashSet<(&'static str, String)>>);

impl Complaints {
    /// Logs a trouble, loudly the first time; gives its kind.
    fn raise(&self, doing: &'static str, trouble: &Trouble) -> String {
        let kind = trouble.kind();
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.insert((doing, kind.clone())) {
            tracing::warn!(error = %trouble, "cannot {doing}; it is tried again until it works");
        } else {
            tracing::debug!(error = %trouble, "still cannot {doing}");
        }
        kind
    }

    fn settle(&self, doing: &'static str, kinds: BTreeSet<String>) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for kind in kinds {
            if known.remove(&(doing, kind)) {
                tracing::info!("can {doing} again");
            }
        }
    }
}

/// The work that is wanted about one thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Wish {
    /// The newest term that wants it.
    pub(super) epoch: u64,
    /// The manifest, too: the newest mark that one was asked for with.
    pub(super) merge: Option<u64>,
}

/// Work under way. A key is there while somebody works on it; a wish of `None` means that nobody asked since.
#[derive(Debug)]
pub(super) struct Turns<K>(Mutex<HashMap<K, Option<Wish>>>);

impl<K: Clone + Eq + Hash> Turns<K> {
    /// Notes a wish; true for whoever must now do it, and go on until [`Self::take`] gives none.
    pub(super) fn begin(&self, key: &K, wish: Wish) -> bool {
        let mut wishes = self.lock();
        let earlier = wishes.get(key).copied();
        let open = earlier.flatten();
        let merge = wish.merge.max(open.and_then(|open| open.merge));
        let epoch = open.map_or(wish.epoch, |open| open.epoch.max(wish.epoch));
        wishes.insert(key.clone(), Some(Wish { epoch, merge }));
        earlier.is_none()
    }

    /// The work that is wanted now; with none, the next caller of [`Self::begin`] begins.
    pub(super) fn take(&self, key: &K) -> Option<Wish> {
        let mut wishes = self.lock();
        let wish = wishes.get_mut(key).and_then(Option::take);
        if wish.is_none() {
            wishes.remove(key);
        }
        wish
    }

    /// Returns true if somebody asked since the last [`Self::take`].
    pub(super) fn is_wanted(&self, key: &K) -> bool {
        self.lock().get(key).copied().flatten().is_some()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<K, Option<Wish>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K> Default for Turns<K> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

const PAUSE_MIN: Duration = Duration::from_secs(1);
const PAUSE_MAX: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests {
    use super::*;

    /// S21: what is asked for while it is done is done once more, with all that was wanted.
    #[test]
    fn wishes_are_gathered() {
        let turns = Turns::default();
        let wish = |epoch, merge| Wish { epoch, merge };
        assert!(turns.begin(&7, wish(1, None)) && turns.is_wanted(&7));
        assert_eq!(turns.take(&7), Some(wish(1, None)));
        assert!(!turns.is_wanted(&7));
        assert!(!turns.begin(&7, wish(1, Some(4))) && !turns.begin(&7, wish(2, None)), "somebody is at it");
        assert!(turns.begin(&8, wish(1, None)), "at another");
        assert_eq!(turns.take(&7), Some(wish(2, Some(4))));
        assert!(!turns.begin(&7, wish(3, None)) && !turns.begin(&7, wish(2, Some(4))), "a merge stays due");
        assert_eq!(turns.take(&7), Some(wish(3, Some(4))));
        assert_eq!(turns.take(&7), None);
        assert!(turns.begin(&7, wish(2, None)), "nobody is at it any more");
    }
}
