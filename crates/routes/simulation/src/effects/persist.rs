//! Tries again until it works: an effect is never lost while the process lives, and a broken disk fills no log.

use super::Runner;
use crate::output::{OutputError, OutputRoot};
use muster_coordinator::{Lead, Refusal};
use std::{
    collections::{BTreeSet, HashSet},
    sync::{Mutex, PoisonError},
    time::Duration,
};

/// Why something was not done.
#[derive(Debug, thiserror::Error)]
pub(super) enum Trouble {
    /// The term ended: the next one asks for it again.
    #[error("the term is over")]
    TermOver,
    /// Whoever stood still for a while does not know yet whether it leads.
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
    /// What tells troubles apart that need not be told twice.
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
        while self.coordinator.lead() == (Lead::Here { epoch }) {
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
        if !matches!(self.coordinator.lead(), Lead::Here { .. }) {
            return Err(Trouble::TermOver);
        }
        let (root, coordinator) = (self.root.clone(), self.coordinator.clone());
        let done = tokio::task::spawn_blocking(move || coordinator.is_ready().then(|| run(&root))).await;
        let done = done.map_err(|error| Trouble::BrokeOff(error.to_string()))?;
        Ok(done.ok_or(Trouble::MayBeOver)??)
    }
}

/// What was complained about and has not been mended.
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

const PAUSE_MIN: Duration = Duration::from_secs(1);
const PAUSE_MAX: Duration = Duration::from_secs(60);
