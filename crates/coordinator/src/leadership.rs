//! Rules of leadership among servers (S18). Pure: time is handed in, from a clock that only runs
//! forward and is compared with no other.

use muster_model::{Millis, Timestamp};
use muster_store::Standing;

/// Leadership timeouts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeaseTimes {
    /// Silence after which a leader is taken for gone.
    pub lease: Millis,
}

impl Default for LeaseTimes {
    fn default() -> Self {
        Self { lease: Millis(3_000) }
    }
}

impl LeaseTimes {
    /// Interval of a leader's renewals: often enough that a slow store or a lost try makes no gap in
    /// [`crate::Lease::is_sole`].
    #[must_use]
    pub fn renew_every(self) -> Millis {
        Millis((self.lease.0 / 6).max(1))
    }

    /// Interval at which the others look. A leader that resigns is followed soon, however long a lease is.
    #[must_use]
    pub fn look_every(self) -> Millis {
        Millis((self.lease.0 / 12).clamp(1, 1_000))
    }

    /// Silence after which what is live is read ahead: two signs of life in a row did not come.
    #[must_use]
    pub fn alarm(self) -> Millis {
        Millis((self.lease.0 / 3).max(1))
    }

    /// Time for a leader whose connection is gone to come back with another.
    #[must_use]
    pub fn reconnect(self) -> Millis {
        Millis((self.lease.0 / 2).max(1))
    }
}

/// The leader, as far as this server knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lead {
    /// This server, and its memory is loaded.
    Here {
        /// Its term.
        epoch: u64,
    },
    /// Another one.
    There {
        /// Its address: `http://host:port`.
        address: String,
        /// Its term.
        epoch: u64,
    },
    /// No server, as far as this one knows.
    Nowhere,
}

/// Next step of a server that does not lead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Looks again after [`LeaseTimes::look_every`].
    Wait,
    /// Reads what is live ahead of time: the leader seems to be gone. Told once for each silence.
    Preload,
    /// Tries to lead, if things still stand as it saw them.
    Take,
}

/// Observations of the leader by a server that follows.
#[derive(Clone, Debug)]
pub struct Watch {
    times: LeaseTimes,
    /// Name of the server.
    node: Option<String>,
    seen: Option<Silence>,
    /// Until when it is known not to have stood still itself.
    awake_until: Option<Timestamp>,
}

/// Since when nothing changed.
#[derive(Clone, Debug)]
struct Silence {
    standing: Standing,
    since: Timestamp,
    /// Since when the leader's connection is gone.
    cut_since: Option<Timestamp>,
    is_alarming: bool,
}

impl Watch {
    /// Nothing seen yet.
    #[must_use]
    pub fn new(times: LeaseTimes) -> Self {
        Self { times, node: None, seen: None, awake_until: None }
    }

    /// Names the server that watches. While it does it leads no term, so one that goes by its name has ended.
    #[must_use]
    pub fn known_as(self, node: &str) -> Self {
        Self { node: Some(node.into()), ..self }
    }

    /// Next step after an answer of the store. `asked` is not after the request to it, `now` not before its answer.
    ///
    /// The store looked at an unknown moment in between. Silence begins when its first answer arrived and lasts until
    /// the last one was requested: a slow store makes it seem shorter than it is, never longer.
    ///
    /// A server that was suspended, as a sleeping machine is, may have been so together with the leader: its earlier
    /// observations prove nothing.
    pub fn saw(&mut self, standing: &Standing, asked: Timestamp, now: Timestamp) -> Step {
        let stood_still = self.awake_until.is_some_and(|until| asked - until > self.times.reconnect());
        if stood_still || now - asked > self.times.lease {
            self.blinded();
        }
        self.awake_until = Some(now);
        let silence = match self.seen.take() {
            Some(silence) if silence.is_of(standing) => silence,
            _ => Silence { standing: standing.clone(), since: now, cut_since: None, is_alarming: false },
        };
        let cut_since = if standing.connected { None } else { silence.cut_since.or(Some(now)) };
        let silence = self.seen.insert(Silence { cut_since, ..silence });
        let is_own = |node: &str| self.node.as_deref() == Some(node);
        let is_vacant = standing.leader.as_ref().is_none_or(|leader| is_own(&leader.node));
        if is_vacant { Step::Take } else { silence.step(self.times, asked) }
    }

    /// True if the leader seems to be gone: what was read ahead may be of use.
    #[must_use]
    pub fn is_alarmed(&self) -> bool {
        self.seen.as_ref().is_some_and(|silence| silence.is_alarming)
    }

    /// The server was busy with what followed from what it saw, and did not stand still.
    pub fn was_busy_until(&mut self, now: Timestamp) {
        self.awake_until = self.awake_until.max(Some(now));
    }

    /// The store could not be asked: the leader may have had as little luck in showing life, so its silence until now
    /// proves nothing.
    pub fn blinded(&mut self) {
        self.seen = None;
    }
}

impl Silence {
    fn is_of(&self, standing: &Standing) -> bool {
        (self.standing.epoch, self.standing.renewals) == (standing.epoch, standing.renewals)
    }

    fn step(&mut self, times: LeaseTimes, asked: Timestamp) -> Step {
        let silent = asked - self.since;
        let is_cut = self.cut_since.is_some_and(|since| asked - since >= times.reconnect());
        if is_cut || silent >= times.lease {
            return Step::Take;
        }
        let suspicious = self.cut_since.is_some() || silent >= times.alarm();
        if suspicious && !self.is_alarming {
            self.is_alarming = true;
            return Step::Preload;
        }
        Step::Wait
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use muster_store::Candidate;

    fn standing(epoch: u64, renewals: u64) -> Standing {
        let leader = Candidate { node: "a".into(), address: "http://a:1".into() };
        Standing { epoch, renewals, leader: Some(leader), connected: true }
    }

    fn watch() -> Watch {
        Watch::new(LeaseTimes { lease: Millis(3_000) }).known_as("b")
    }

    /// Next step after an immediate answer, for a server that was not suspended before it.
    fn saw(watch: &mut Watch, standing: &Standing, now: i64) -> Step {
        watch.was_busy_until(Timestamp(now));
        watch.saw(standing, Timestamp(now), Timestamp(now))
    }

    /// S18: silence is counted from when it was first seen, by the watcher's own clock; half of it warns.
    #[test]
    fn a_silent_leader_is_replaced_after_its_lease() {
        let mut watch = watch();
        assert_eq!(saw(&mut watch, &standing(1, 7), 100_000), Step::Wait);
        assert_eq!(saw(&mut watch, &standing(1, 7), 100_999), Step::Wait);
        assert_eq!(saw(&mut watch, &standing(1, 7), 101_000), Step::Preload);
        assert_eq!(saw(&mut watch, &standing(1, 7), 102_999), Step::Wait);
        assert_eq!(saw(&mut watch, &standing(1, 7), 103_000), Step::Take);
    }

    /// S18: every sign of life counts, also one of a newer leader.
    #[test]
    fn a_sign_of_life_ends_the_silence() {
        let mut watch = watch();
        saw(&mut watch, &standing(1, 7), 0);
        assert_eq!(saw(&mut watch, &standing(1, 8), 2_999), Step::Wait);
        assert_eq!(saw(&mut watch, &standing(2, 8), 5_900), Step::Wait);
        assert_eq!(saw(&mut watch, &standing(2, 8), 8_900), Step::Take);
    }

    /// S18: a watcher that was itself stopped or blind for a while begins anew.
    #[test]
    fn what_could_not_be_seen_proves_nothing() {
        let mut watch = watch();
        saw(&mut watch, &standing(1, 7), 0);
        watch.blinded();
        assert_eq!(saw(&mut watch, &standing(1, 7), 9_000), Step::Wait);
        assert_eq!(saw(&mut watch, &standing(1, 8), 20_000), Step::Wait);
    }

    /// S18: a watcher that stood still, between two looks or in one, may have done so together with the leader.
    #[test]
    fn whoever_stood_still_deposes_nobody() {
        let look =
            |watch: &mut Watch, asked, now| watch.saw(&standing(1, 7), Timestamp(asked), Timestamp(now));
        for (asked, now) in [(1_501, 1_501), (9_000, 9_000), (250, 9_000)] {
            let mut watch = watch();
            assert_eq!(look(&mut watch, 0, 0), Step::Wait);
            assert_eq!(look(&mut watch, asked, now), Step::Wait, "{asked}..{now}");
            assert_eq!(look(&mut watch, now + 250, now + 250), Step::Wait, "{asked}..{now}");
            assert_eq!(look(&mut watch, now + 1_500, now + 1_500), Step::Preload);
            assert_eq!(look(&mut watch, now + 2_999, now + 2_999), Step::Wait);
            assert_eq!(look(&mut watch, now + 3_000, now + 3_000), Step::Take);
        }
    }

    /// S18: nobody waits for a leader that resigned, nor long for one whose process is gone.
    #[test]
    fn a_place_known_to_be_empty_is_taken_soon() {
        assert_eq!(saw(&mut watch(), &Standing { leader: None, ..standing(1, 7) }, 0), Step::Take);
        let (mut watch, cut) = (watch(), Standing { connected: false, ..standing(1, 7) });
        assert_eq!(saw(&mut watch, &cut, 0), Step::Preload);
        assert_eq!(saw(&mut watch, &cut, 999), Step::Wait);
        assert_eq!(saw(&mut watch, &standing(1, 7), 999), Step::Wait, "it came back");
        assert_eq!(saw(&mut watch, &cut, 1_200), Step::Wait, "it is read ahead once");
        assert_eq!(saw(&mut watch, &cut, 2_699), Step::Wait);
        assert_eq!(saw(&mut watch, &cut, 2_700), Step::Take);
    }

    /// S18: a server whose own term ended waits for nobody's silence to lead again.
    #[test]
    fn a_term_of_its_own_that_ended_is_nobody_s() {
        let leader = Some(Candidate { node: "b".into(), address: "http://b:1".into() });
        assert_eq!(saw(&mut watch(), &Standing { leader, ..standing(1, 7) }, 0), Step::Take);
    }

    /// S18: what was read ahead is kept for as long as the silence it was read in.
    #[test]
    fn a_sign_of_life_ends_the_alarm() {
        let mut watch = watch();
        saw(&mut watch, &standing(1, 7), 0);
        assert!(!watch.is_alarmed());
        saw(&mut watch, &standing(1, 7), 1_500);
        assert!(watch.is_alarmed());
        saw(&mut watch, &standing(1, 8), 1_600);
        assert!(!watch.is_alarmed());
    }

    /// S18: a store that is always slow to answer hides no silence for ever, and never makes it seem longer.
    #[test]
    fn a_slow_store_hides_no_silence() {
        let mut watch = watch();
        let mut look = |asked| watch.saw(&standing(1, 7), Timestamp(asked), Timestamp(asked + 2_000));
        assert_eq!(look(0), Step::Wait, "first seen at 2000");
        assert_eq!(look(2_250), Step::Wait);
        assert_eq!(look(4_500), Step::Preload);
        assert_eq!(look(4_999), Step::Wait, "the store may have looked before the lease was over");
        assert_eq!(look(5_000), Step::Take);
    }
}
