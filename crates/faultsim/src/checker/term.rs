//! S18, invariant 10: one writer to an epoch, none of an older one, and who may say what when.

use super::{Verdict, ensure};
use crate::{
    coordinator::{RATE_MAX, STORE_OFF_MAX},
    plan::BEGINNING,
};
use muster_coordinator::LeaseTimes;
use muster_model::{Millis, Timestamp};
use muster_store::Standing;
use std::collections::BTreeMap;

/// The ledger of terms.
#[derive(Default)]
pub(crate) struct Terms {
    /// Leadership timeouts, if there are several servers.
    times: Option<LeaseTimes>,
    newest: u64,
    offices: BTreeMap<u64, TermOwner>,
    /// The latest moment that is durable.
    moment: Timestamp,
    /// When the leader last showed that it lives.
    shown_at: Timestamp,
    /// Since when the store does not see its connection.
    cut_at: Option<Timestamp>,
    /// Until when nobody could see anything.
    blind_until: Timestamp,
}

/// Whose a term is.
struct TermOwner {
    life: u32,
    /// Batches that the store took.
    batches: u64,
}

/// A term begins at the store.
pub(crate) struct Takeover<'a> {
    pub(crate) epoch: u64,
    pub(crate) life: u32,
    pub(crate) now: Timestamp,
    /// State of the previous leader as the new one saw it; `None` if no other server can lead here.
    pub(crate) seen: Option<&'a Standing>,
    /// Time until which the new leader was last stalled.
    pub(crate) stalled_until: Timestamp,
}

impl Takeover<'_> {
    /// A term where nobody else can lead.
    pub(crate) fn unseen(epoch: u64, life: u32, now: Timestamp) -> Self {
        Self { epoch, life, now, seen: None, stalled_until: now }
    }
}

impl Terms {
    pub(super) fn new(times: Option<LeaseTimes>) -> Self {
        Self { times, ..Self::default() }
    }

    /// True if a term is the newest.
    pub(crate) fn leads(&self, epoch: u64) -> bool {
        epoch == self.newest
    }

    pub(crate) fn begins(&mut self, takeover: &Takeover<'_>) -> Verdict {
        let Takeover { epoch, life, now, .. } = *takeover;
        ensure(epoch > self.newest, "epoch_given_twice", || format!("{epoch} after {}", self.newest))?;
        self.check_silence(takeover)?;
        self.newest = epoch;
        self.offices.insert(epoch, TermOwner { life, batches: 0 });
        (self.shown_at, self.cut_at) = (now, None);
        Ok(())
    }

    /// A life begins, by a clock that shows this where the store's shows that: time goes on where it was. A server that
    /// led before does not undo what it knew then.
    pub(crate) fn opens(&self, clock: Timestamp, store: Timestamp) -> Verdict {
        let (durable, passed) = (self.moment, (store - BEGINNING).0);
        let latest = store.max(durable) + Millis(STORE_OFF_MAX * 2 + passed * RATE_MAX / 500_000);
        ensure(clock >= durable, "time_goes_back", || format!("to {clock:?}, {durable:?} is durable"))?;
        ensure(clock <= latest, "time_runs_ahead", || format!("to {clock:?}, it is {store:?}"))
    }

    /// The store took a batch, or said that this term is still the newest.
    pub(crate) fn writes(&mut self, epoch: u64, life: u32, moment: Option<Timestamp>) -> Verdict {
        ensure(self.leads(epoch), "older_term_writes", || {
            format!("one of {epoch} committed, {} has begun", self.newest)
        })?;
        let office = self.offices.get_mut(&epoch).filter(|office| office.life == life);
        ensure(office.is_some(), "two_writers_in_one_epoch", || format!("life {life} wrote in {epoch}"))?;
        office.into_iter().for_each(|office| office.batches += 1);
        self.moment = self.moment.max(moment.unwrap_or_default());
        Ok(())
    }

    /// Checks that only decisions of a batch that went to the store are answered.
    pub(crate) fn answers(&self, epoch: u64, batch: u64) -> Verdict {
        let taken = self.offices.get(&epoch).map_or(0, |office| office.batches);
        ensure(batch <= taken, "answer_without_commit", || {
            format!("batch {batch} of term {epoch}, the store took {taken}")
        })
    }

    /// Something is answered of which the store knows nothing: nobody else may have decided meanwhile.
    pub(crate) fn answers_alone(&self, epoch: u64) -> Verdict {
        ensure(self.leads(epoch), "answer_of_a_deposed_leader", || {
            format!("one of {epoch} answered from memory, {} has begun", self.newest)
        })
    }

    /// The leader shows that it lives.
    pub(crate) fn shown(&mut self, now: Timestamp) {
        (self.shown_at, self.cut_at) = (now, None);
    }

    /// The store does not see the leader's connection any more.
    pub(crate) fn cut(&mut self, now: Timestamp) {
        self.cut_at = self.cut_at.or(Some(now));
    }

    /// The store is away for so long that everybody must notice.
    pub(crate) fn blinds_until(&mut self, until: Timestamp) {
        self.blind_until = until;
    }

    /// Checks that no leader is replaced before it had time for a heartbeat. A candidate that was stalled cannot know
    /// of the troubles of others.
    fn check_silence(&self, takeover: &Takeover<'_>) -> Verdict {
        let (Some(times), Some(seen)) = (self.times, takeover.seen) else {
            return Ok(());
        };
        if seen.leader.is_none() || takeover.stalled_until >= self.shown_at {
            return Ok(());
        }
        let since = |at: Timestamp| takeover.now - at.max(self.blind_until);
        let is_silent = since(self.shown_at) >= at_least(times.lease);
        let is_cut = self.cut_at.is_some_and(|at| since(at) >= at_least(times.reconnect()));
        ensure(is_silent || is_cut, "replaced_without_silence", || {
            let (shown, blind) = (self.shown_at, self.blind_until);
            format!(
                "at {:?}; life shown at {shown:?}, cut {:?}, blind until {blind:?}",
                takeover.now, self.cut_at
            )
        })
    }
}

/// Least real time in which a clock that may run too fast measures this span.
fn at_least(span: Millis) -> Millis {
    Millis(span.0 - span.0 * RATE_MAX / 1_000_000 - 1)
}
