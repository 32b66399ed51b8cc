//! True if the store answers, and what is said about it while it does not.

use muster_model::{Millis, Timestamp};
use muster_store::StoreError;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tracing::{info, warn};

/// State of a store that does not answer.
#[derive(Default)]
pub(crate) struct Outage(Mutex<OutageState>);

#[derive(Default)]
struct OutageState {
    away: Option<OngoingOutage>,
    /// Reason why this server could not begin a term when nobody led, until somebody does.
    barred: Option<FailedTakeover>,
    /// Reason why the last term here ended, until somebody leads again.
    ended: Option<String>,
}

struct OngoingOutage {
    cause: String,
    since: Timestamp,
    told_at: Timestamp,
}

struct FailedTakeover {
    cause: String,
    told_at: Timestamp,
}

/// Events that are worth a line in the log: nobody reads the same one four times a second.
#[derive(Debug, PartialEq, Eq)]
enum News {
    Nothing,
    Away,
    StillAway,
    Back { after: Millis },
}

impl Outage {
    /// The store did not do what it was asked. What it refused on purpose is an answer too.
    pub(crate) fn failed(&self, error: &StoreError, now: Timestamp) {
        match self.note(Err(error), now) {
            News::Away => {
                warn!(%error, "the database does not answer; it is asked again until it does");
            }
            News::StillAway => warn!(%error, "the database still does not answer"),
            News::Nothing | News::Back { .. } => {}
        }
    }

    /// The store did what it was asked.
    pub(crate) fn answered(&self, now: Timestamp) {
        if let News::Back { after } = self.note(Ok(()), now) {
            info!(after_ms = after.0, "the database answers again");
        }
    }

    /// A term ended because of this.
    pub(crate) fn ended_term(&self, error: &StoreError) {
        self.lock().ended =
            (!matches!(error, StoreError::Superseded)).then(|| format!("the last term here ended: {error}"));
    }

    /// No server leads, and this one could not begin a term because of `error`; true if that is worth a log line.
    pub(crate) fn could_not_lead(&self, error: &StoreError, now: Timestamp) -> bool {
        let barred = &mut self.lock().barred;
        let told_at = barred.as_ref().map(|barred| barred.told_at).filter(|at| now - *at < TELL_EVERY);
        let cause = format!("nobody leads, and this server could not: {error}");
        *barred = Some(FailedTakeover { cause, told_at: told_at.unwrap_or(now) });
        told_at.is_none()
    }

    /// A term began here.
    pub(crate) fn could_lead(&self) {
        self.lock().barred = None;
    }

    /// A server leads.
    pub(crate) fn is_led(&self) {
        let mut known = self.lock();
        (known.ended, known.barred) = (None, None);
    }

    /// True if the last that the store was asked was answered.
    pub(crate) fn is_over(&self) -> bool {
        self.lock().away.is_none()
    }

    /// The obstacle to leading or following, in words for callers.
    pub(crate) fn cause(&self) -> Option<String> {
        let known = self.lock();
        let away = known.away.as_ref().map(|away| &away.cause);
        let barred = known.barred.as_ref().map(|barred| &barred.cause);
        away.or(barred).or(known.ended.as_ref()).cloned()
    }

    fn note(&self, answer: Result<(), &StoreError>, now: Timestamp) -> News {
        let known = &mut self.lock().away;
        match (answer, known.as_mut()) {
            (Err(StoreError::Superseded), _) => News::Nothing,
            (Err(error), None) => {
                *known = Some(OngoingOutage { cause: in_words(error), since: now, told_at: now });
                News::Away
            }
            (Err(error), Some(away)) => {
                away.cause = in_words(error);
                let is_due = now - away.told_at >= TELL_EVERY;
                away.told_at = if is_due { now } else { away.told_at };
                if is_due { News::StillAway } else { News::Nothing }
            }
            (Ok(()), Some(away)) => {
                let after = now - away.since;
                *known = None;
                News::Back { after }
            }
            (Ok(()), None) => News::Nothing,
        }
    }

    fn lock(&self) -> MutexGuard<'_, OutageState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn in_words(error: &StoreError) -> String {
    match error {
        StoreError::Backend(words) => format!("the database does not answer: {words}"),
        other => format!("the database does not answer: {other}"),
    }
}

const TELL_EVERY: Millis = Millis::from_secs(30);

#[cfg(test)]
mod tests {
    use super::*;

    /// S18, I8: an outage is told of when it begins, then every 30 s, and when it is over; its cause is known all the
    /// while, and what the store refuses on purpose is none.
    #[test]
    fn an_outage_is_told_of_now_and_then() {
        let outage = Outage::default();
        let refused = || StoreError::Backend("connection refused".to_owned());
        assert_eq!(outage.note(Err(&StoreError::Superseded), Timestamp(0)), News::Nothing);
        assert!(outage.is_over());
        let mut told = Vec::new();
        for now in (0..61_000).step_by(250) {
            match outage.note(Err(&refused()), Timestamp(now)) {
                News::Nothing => {}
                news => told.push((now, news)),
            }
            assert!(!outage.is_over());
            let cause = outage.cause().expect("there is one");
            assert!(cause.contains("the database does not answer") && cause.contains("connection refused"));
        }
        assert_eq!(told, [(0, News::Away), (30_000, News::StillAway), (60_000, News::StillAway)]);
        assert_eq!(outage.note(Ok(()), Timestamp(61_000)), News::Back { after: Millis(61_000) });
        assert_eq!(outage.note(Ok(()), Timestamp(61_001)), News::Nothing);
        assert_eq!(outage.cause(), None);
    }

    /// S18, I8: why nobody leads is told now and then, and known until somebody does.
    #[test]
    fn a_server_that_cannot_lead_says_why() {
        let outage = Outage::default();
        let refused = StoreError::Backend("somebody holds the row".to_owned());
        let told = (0..61_000).step_by(250).filter(|now| outage.could_not_lead(&refused, Timestamp(*now)));
        assert_eq!(told.collect::<Vec<_>>(), [0, 30_000, 60_000]);
        let knows = || outage.cause().is_some_and(|cause| cause.contains("somebody holds the row"));
        assert!(knows() && outage.is_over());
        outage.could_lead();
        assert!(!knows());
        assert!(outage.could_not_lead(&refused, Timestamp(61_001)) && knows());
        outage.is_led();
        assert!(!knows());
    }
}
