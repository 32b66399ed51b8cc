//! When a source is looked at again (C18).

use crate::Fault;
use std::time::Duration;

/// Why a look came to nothing.
#[derive(Debug, thiserror::Error)]
pub(super) enum Trouble {
    /// The source says when to come again.
    #[error("it asks for patience ({why})")]
    Busy {
        /// How long.
        told: Duration,
        /// How it said so.
        why: String,
    },
    /// The source will not change its mind by itself.
    #[error("{0}")]
    Refused(String),
    /// It may work the next time.
    #[error("{0}")]
    Failed(String),
    /// What was read cannot be kept.
    #[error("{0}")]
    Disk(#[from] Fault),
}

/// How often a source is looked at.
#[derive(Clone, Debug)]
pub(super) struct Pace {
    poll: Duration,
    failures: u32,
}

impl Pace {
    pub(super) const fn new(poll: Duration) -> Self {
        Self { poll, failures: 0 }
    }

    /// How long to wait after a look.
    pub(super) fn after(&mut self, look: &Result<Option<Duration>, Trouble>) -> Duration {
        self.failures = match look {
            Err(Trouble::Failed(_) | Trouble::Disk(_)) => self.failures.saturating_add(1),
            _ => 0,
        };
        match look {
            // It may raise the interval, not lower it.
            Ok(asked) => asked.unwrap_or_default().min(TOLD_MAX).max(self.poll),
            Err(Trouble::Busy { told, .. }) => (*told).clamp(TOLD_MIN, TOLD_MAX),
            Err(Trouble::Refused(_)) => {
                self.poll.saturating_mul(REFUSED_TIMES).clamp(REFUSED_MIN, TOLD_MAX).max(self.poll)
            }
            Err(Trouble::Failed(_) | Trouble::Disk(_)) => self.backed_off(),
        }
    }

    /// Twice as long each time, within reason.
    fn backed_off(&self) -> Duration {
        let doublings = self.failures.saturating_sub(1).min(DOUBLINGS_MAX);
        self.poll.saturating_mul(1 << doublings).min(FAILED_MAX).max(self.poll)
    }
}

/// A source that says "at once" while it refuses would be asked without end.
const TOLD_MIN: Duration = Duration::from_secs(1);
/// A header must not silence a source for good.
const TOLD_MAX: Duration = Duration::from_secs(24 * 3600);
const REFUSED_TIMES: u32 = 10;
const REFUSED_MIN: Duration = Duration::from_secs(300);
const FAILED_MAX: Duration = Duration::from_secs(900);
const DOUBLINGS_MAX: u32 = 20;

#[cfg(test)]
mod tests {
    use super::*;

    const fn s(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    /// C18: the poll interval header raises the interval and never lowers it; patience is had as told, within a day.
    #[test]
    fn a_source_is_waited_for_as_it_asks() {
        let mut pace = Pace::new(s(60));
        assert_eq!(pace.after(&Ok(None)), s(60));
        assert_eq!(pace.after(&Ok(Some(s(300)))), s(300));
        assert_eq!(pace.after(&Ok(Some(s(1)))), s(60));
        assert_eq!(pace.after(&Ok(Some(Duration::MAX))), s(86_400));
        let busy = |told| Err(Trouble::Busy { told, why: String::new() });
        assert_eq!(pace.after(&busy(s(7))), s(7));
        assert_eq!(pace.after(&busy(s(0))), s(1));
        assert_eq!(pace.after(&busy(Duration::MAX)), s(86_400));
    }

    /// C18: failures are tried again ever later, refusals much later, and one good look makes up for all of them.
    #[test]
    fn trouble_slows_a_source_down() {
        let mut pace = Pace::new(s(60));
        let failed = || Err(Trouble::Failed("down".to_owned()));
        let pauses: Vec<Duration> = (0..6).map(|_| pace.after(&failed())).collect();
        assert_eq!(pauses, [s(60), s(120), s(240), s(480), s(900), s(900)]);
        assert_eq!(pace.after(&Ok(None)), s(60));
        assert_eq!(pace.after(&failed()), s(60));
        assert_eq!(pace.after(&Err(Trouble::Refused("no".to_owned()))), s(600));
        assert_eq!(Pace::new(s(1)).after(&Err(Trouble::Refused("no".to_owned()))), s(300));
        let mut slow = Pace::new(s(200_000));
        assert_eq!(slow.after(&Err(Trouble::Refused("no".to_owned()))), s(200_000));
        assert_eq!((0..100).map(|_| slow.after(&failed())).max(), Some(s(200_000)));
    }
}
