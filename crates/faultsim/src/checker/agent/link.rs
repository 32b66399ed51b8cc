//! N20: when an agent is degraded, and what it owes before it asks for more.

use super::AgentBook;
use crate::checker::{Verdict, ensure};
use std::collections::BTreeMap;

/// What became of what was sent in this life.
#[derive(Default)]
pub(super) struct Link {
    /// Failures since an event was last answered, in all and of each event.
    failures: u32,
    failures_of: BTreeMap<u64, u32>,
    is_degraded: bool,
    /// Everything up to this event must be answered before new work is asked for.
    owed: Option<u64>,
}

impl AgentBook {
    /// What became of an event that was sent, and what the agent shows then.
    pub(crate) fn sent(&mut self, number: u64, is_answered: bool, is_degraded: bool) -> Verdict {
        let last = self.log.last();
        let link = &mut self.link;
        if is_answered {
            if link.is_degraded {
                link.owed = Some(last);
            }
            link.failures = 0;
            link.failures_of.clear();
            ensure(!is_degraded, "degraded_though_answered", || format!("{number}"))?;
        } else {
            link.failures += 1;
            *link.failures_of.entry(number).or_default() += 1;
        }
        link.is_degraded = is_degraded;
        link.check()
    }

    /// A pull leaves. Nothing new is asked for before the coordinator has heard what it missed.
    pub(crate) fn pulls(&mut self, max_jobs: u32) -> Verdict {
        let Some(owed) = self.link.owed else { return Ok(()) };
        let open = self.log.entries.range(..=owed).find(|(_, entry)| !entry.is_answered);
        let Some((open, _)) = open else {
            self.link.owed = None;
            return Ok(());
        };
        ensure(max_jobs == 0, "pulls_before_drained", || format!("{max_jobs} jobs, {open} is not taken"))
    }
}

impl Link {
    /// Degraded after the seventh try of one event in vain, and not without seven failures.
    fn check(&self) -> Verdict {
        let most = self.failures_of.values().max().copied().unwrap_or(0);
        ensure(self.is_degraded || most < TRIES_MAX, "degraded_not_shown", || {
            format!("{most} tries of one event")
        })?;
        ensure(!self.is_degraded || self.failures >= TRIES_MAX, "degraded_too_early", || {
            format!("{} failures", self.failures)
        })
    }
}

const TRIES_MAX: u32 = 7;
