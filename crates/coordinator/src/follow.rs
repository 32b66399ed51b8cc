//! The seat of a server among others on one store: it follows whoever leads, and leads when it must (S18).

use crate::clock::instant_now;
use crate::{
    Lead, Lease, LeaseTimes, Step, Watch,
    backoff::{RETRY_TERM_AFTER, ReadAheadBackoff, TermBackoff},
    driver::{BegunTerm, TermSource, refuse_for},
    load::{Preloaded, load},
    renewal::LeaderLease,
    shared::Shared,
    term::End,
};
use muster_model::{Millis, Timestamp};
use muster_store::{Candidate, Election, Standing, StoreError};
use std::{sync::Arc, time::Duration};
use tokio::time::Instant;
use tracing::{info, warn};

pub(crate) struct Follower {
    election: Arc<dyn Election>,
    candidate: Candidate,
    times: LeaseTimes,
    watch: Watch,
    /// The largest that this process ever saw: a database that was set back must not give it again.
    epoch_seen: u64,
    /// State that was read ahead, and the term of the silent leader.
    ahead: Option<(Preloaded, u64)>,
    read_ahead: ReadAheadBackoff,
    backoff: TermBackoff,
    /// Before which no term is begun; who leads is looked at all the same.
    not_before: Option<Instant>,
    clash: AddressClash,
    /// Before the next look.
    pause: Duration,
    /// Since when the store does not answer.
    blind_since: Option<Timestamp>,
}

impl Follower {
    pub(crate) fn new(election: Arc<dyn Election>, candidate: Candidate, times: LeaseTimes) -> Self {
        let watch = Watch::new(times).known_as(&candidate.node);
        Self {
            election,
            candidate,
            times,
            watch,
            epoch_seen: 0,
            ahead: None,
            read_ahead: ReadAheadBackoff::default(),
            backoff: TermBackoff::default(),
            not_before: None,
            clash: AddressClash::default(),
            pause: Duration::ZERO,
            blind_since: None,
        }
    }

    /// Looks how things stand, and does what follows. However long that takes, this server did not stand still.
    fn look(&mut self, shared: &Shared) -> Result<Option<BegunTerm>, StoreError> {
        let done = self.look_and_act(shared);
        self.watch.was_busy_until(shared.time.local());
        done
    }

    fn look_and_act(&mut self, shared: &Shared) -> Result<Option<BegunTerm>, StoreError> {
        let asked = shared.time.local();
        let standing = self.election.look()?;
        let now = shared.time.local();
        shared.outage.answered(now);
        self.blind_since = None;
        self.epoch_seen = self.epoch_seen.max(standing.epoch);
        self.tell(&standing, shared, now);
        if self.clash.shows(&standing, &self.candidate) {
            let address = &self.candidate.address;
            warn!(
                address,
                "the leader says that it is reached at this server's own address; give each its own --advertise"
            );
        }
        match self.watch.saw(&standing, asked, now) {
            Step::Wait if !self.watch.is_alarmed() => self.let_go(shared, now),
            // While the alarm lasts it is asked again: what was refused when it began may be allowed by now.
            Step::Wait if self.ahead.is_some() => {}
            Step::Wait | Step::Preload => self.read_ahead(&standing, shared, now),
            Step::Take if self.not_before.is_some_and(|not_before| instant_now() < not_before) => {}
            Step::Take => return Ok(self.take(&standing, shared)),
        }
        Ok(None)
    }

    /// Makes known who leads.
    fn tell(&mut self, standing: &Standing, shared: &Shared, now: Timestamp) {
        let lead = match &standing.leader {
            // A leader at this server's own address was this server before it restarted: no server leads there now.
            Some(leader) if leader.address != self.candidate.address => {
                Lead::There { address: leader.address.clone(), epoch: standing.epoch }
            }
            _ => Lead::Nowhere,
        };
        if matches!(lead, Lead::There { .. }) {
            shared.outage.is_led();
            self.backoff.saw_other(standing.epoch, now);
        }
        if shared.tell_lead(lead.clone())
            && let Lead::There { address, epoch } = lead
        {
            info!(leader = address, epoch, "follows");
        }
    }

    /// Tries to lead. If that fails the silence was seen all the same: it is tried again at the next look.
    fn take(&mut self, standing: &Standing, shared: &Shared) -> Option<BegunTerm> {
        shared.tell_lead(Lead::Nowhere);
        let sent = shared.time.local();
        let taken = self.election.take(standing, &self.candidate, self.epoch_seen);
        if let Err(error) = &taken
            && shared.outage.could_not_lead(error, shared.time.local())
        {
            warn!(%error, "nobody leads, and this server could not; it is tried again");
        }
        let term = taken.ok().flatten()?;
        shared.outage.could_lead();
        self.epoch_seen = self.epoch_seen.max(term.epoch);
        let lease = Lease::taken(self.times, sent);
        let office = Some(LeaderLease { election: Arc::clone(&self.election), lease });
        // Compares epochs, because after a database was set back another term may have made just as many commits.
        let ahead = self.ahead.take().filter(|(_, epoch)| *epoch == standing.epoch);
        Some(BegunTerm { term, office, ahead: ahead.map(|(ahead, _)| ahead) })
    }

    /// Reads what is live while the leader is silent: should it stay so, nothing is left to read.
    fn read_ahead(&mut self, standing: &Standing, shared: &Shared, now: Timestamp) {
        if !self.read_ahead.allows(standing.epoch, now) {
            return;
        }
        // One of an earlier silence need not stay while it is read anew.
        self.ahead = None;
        let read = load(shared, |sink| self.election.preload(sink));
        match read {
            Ok((restoring, commits)) => self.ahead = Some((Preloaded { restoring, commits }, standing.epoch)),
            // The term reads it then.
            Err(error) => {
                warn!(%error, "the leader is silent; what is live could not be read ahead");
                self.read_ahead.was_in_vain(self.times.lease, now);
            }
        }
    }

    /// A leader that lives after all has gone on since.
    fn let_go(&mut self, shared: &Shared, now: Timestamp) {
        if !self.watch.is_alarmed() && self.ahead.take().is_some() {
            self.read_ahead.was_in_vain(self.times.lease, now);
            shared.forget();
        }
    }

    fn blinded(&mut self, error: &StoreError, shared: &Shared) {
        self.watch.blinded();
        let now = shared.time.local();
        shared.outage.failed(error, now);
        let since = *self.blind_since.get_or_insert(now);
        if now - since >= self.times.lease {
            // The last known leader may have been replaced long ago.
            shared.tell_lead(Lead::Nowhere);
        }
    }
}

impl TermSource for Follower {
    fn next_term(&mut self, shared: &Shared) -> Option<BegunTerm> {
        loop {
            if refuse_for(self.pause, shared) {
                return None;
            }
            self.pause = duration(self.times.look_every());
            match self.look(shared) {
                Ok(Some(taken)) => return Some(taken),
                Ok(None) => {}
                Err(error) => self.blinded(&error, shared),
            }
        }
    }

    /// A term that was not lost to another is given back, so that others need not wait for silence; they come first.
    fn leave(&mut self, epoch: u64, end: &End, was_of_use: bool) {
        self.watch.blinded();
        self.pause = Duration::ZERO;
        if matches!(end, End::Failed(StoreError::Superseded)) {
            return;
        }
        self.pause = RETRY_TERM_AFTER;
        self.not_before = Some(instant_now() + self.backoff.after(was_of_use));
        if let Err(error) = self.election.resign(epoch) {
            warn!(epoch, %error, "leadership could not be given back; others take it when they see the silence");
        }
    }
}

fn duration(span: Millis) -> Duration {
    Duration::from_millis(span.0.max(0).unsigned_abs())
}

/// Watches for another leader at this server's own address. Neither can be told from the other there: what is sent to one may
/// reach the other.
#[derive(Default)]
pub(crate) struct AddressClash {
    /// Epoch and renewals.
    seen: Option<(u64, u64)>,
    /// The epoch in which it was told of.
    told: Option<u64>,
}

impl AddressClash {
    /// True if it is news that such a server leads. A former life of this server stands there too, but shows no life.
    pub(crate) fn shows(&mut self, standing: &Standing, own: &Candidate) -> bool {
        let is_twin = |leader: &&Candidate| leader.address == own.address && leader.node != own.node;
        let twin = standing.leader.as_ref().filter(is_twin).map(|_| (standing.epoch, standing.renewals));
        let before = std::mem::replace(&mut self.seen, twin);
        let (Some((epoch, renewals)), Some((epoch_before, renewals_before))) = (twin, before) else {
            return false;
        };
        let lives = epoch == epoch_before && renewals != renewals_before;
        lives && self.told.replace(epoch) != Some(epoch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// S18: two servers with one address are told of, once a term; a former life is not.
    #[test]
    fn one_address_for_two_is_told_of() {
        let candidate = |node: &str, address: &str| Candidate { node: node.into(), address: address.into() };
        let own = candidate("b", "http://x:1");
        let mut clash = AddressClash::default();
        let mut shows = |node: &str, address: &str, renewals| {
            let leader = Some(candidate(node, address));
            clash.shows(&Standing { epoch: 1, renewals, leader, connected: true }, &own)
        };
        assert!(!shows("a", "http://y:1", 1) && !shows("a", "http://y:1", 2), "another address");
        assert!(!shows("b", "http://x:1", 3) && !shows("b", "http://x:1", 4), "itself");
        assert!(!shows("a", "http://x:1", 5) && !shows("a", "http://x:1", 5), "a former life");
        assert!(shows("a", "http://x:1", 6));
        assert!(!shows("a", "http://x:1", 7), "once is enough");
    }
}
