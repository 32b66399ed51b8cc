//! N14, N19, N20: what stands in a spool stays there until it is answered, and arrives in order; when an agent is degraded and
//! what it owes before it asks for more; a run is over at a node after its tasks, and its summary counts each once.

use super::{AgentBook, work::Works};
use crate::checker::{Verdict, broken, ensure};
use muster_agent::{
    Text,
    core::{Event, EventKind, Outcome},
};
use muster_model::{Millis, ReportId, RunSummary, Timestamp};
use muster_spool::{Recovered, Seq, SetAside};
use std::collections::{BTreeMap, BTreeSet};

/// Everything that was written down and can still be read back, or was answered.
#[derive(Default)]
pub(super) struct Log {
    pub(super) entries: BTreeMap<u64, Entry>,
    numbers: BTreeMap<Text, u64>,
    /// Everything up to here is on disk.
    pub(super) durable: u64,
    /// Events that have not reached the coordinator.
    unheard: BTreeSet<u64>,
    /// Events that were set aside for people.
    aside: BTreeSet<u64>,
    /// Events that were set aside before a crash and came back: people may find them or not.
    half_aside: BTreeSet<u64>,
}

/// One event.
pub(super) struct Entry {
    pub(super) event: Event,
    bytes: Vec<u8>,
    is_refused: bool,
    pub(super) is_answered: bool,
}

/// An event, and its bytes in the spool.
pub(crate) struct Written<'a> {
    pub(crate) event: &'a Event,
    pub(crate) bytes: Vec<u8>,
}

impl AgentBook {
    /// An event is written down, as the number that the core gave it and the one that the spool gave it.
    pub(crate) fn appended(&mut self, number: u64, seq: Seq, written: Written<'_>) -> Verdict {
        let Written { event, bytes } = written;
        let last = self.log.last();
        ensure(seq.0 == number && number == last + 1, "spool_numbers", || {
            format!("{number} became {seq:?} after {last}")
        })?;
        let known = self.log.numbers.insert(event.id.clone(), number);
        ensure(known.is_none(), "event_id_used_twice", || format!("{} is {known:?} and {number}", event.id))?;
        check_run_over(event, &self.log, &self.works)?;
        self.log.unheard.insert(number);
        let entry = Entry { event: event.clone(), bytes, is_refused: false, is_answered: false };
        self.log.entries.insert(number, entry);
        self.works.reported(event)
    }

    /// The number of the last event.
    pub(crate) fn last(&self) -> Seq {
        Seq(self.log.last())
    }

    /// The spool says that everything is on disk.
    pub(crate) fn synced(&mut self, up_to: Seq) -> Verdict {
        let last = self.log.last();
        ensure(up_to.0 == last, "sync_incomplete", || format!("up to {up_to:?}, {last} were appended"))?;
        self.log.durable = last;
        Ok(())
    }

    pub(crate) fn is_durable(&self, number: u64) -> bool {
        number <= self.log.durable && self.log.entries.get(&number).is_some_and(|entry| !entry.is_answered)
    }

    /// An event is read to be sent.
    pub(crate) fn reads(&self, number: u64, bytes: Option<&[u8]>) -> Verdict {
        ensure(number <= self.log.durable, "sent_before_durable", || format!("{number}"))?;
        let written = self.log.entries.get(&number).map(|entry| &*entry.bytes);
        ensure(bytes == written, "spool_alters", || format!("{number} is {bytes:?}, was {written:?}"))
    }

    /// An event is put aside for people: the coordinator must have refused it.
    pub(crate) fn sets_aside(&mut self, number: u64) -> Verdict {
        let is_refused = self.log.entries.get(&number).is_some_and(|entry| entry.is_refused);
        ensure(is_refused, "set_aside_without_reason", || format!("{number}"))?;
        self.log.aside.insert(number);
        self.log.answered(number);
        Ok(())
    }

    /// The spool was opened again: it must hold what was durable and not answered, and nothing that was never written.
    pub(crate) fn reopened(&mut self, recovered: &Recovered, last: Seq) -> Verdict {
        for (seq, bytes) in recovered.since.iter().chain(&recovered.pending) {
            let written = self.log.entries.get(&seq.0).map(|entry| &entry.bytes);
            ensure(written == Some(bytes), "spool_alters", || {
                format!("{seq:?}: {bytes:?}, was {written:?}")
            })?;
        }
        let pending: BTreeSet<u64> = recovered.pending.iter().map(|(seq, _)| seq.0).collect();
        let kept = recovered.since.iter().map(|(seq, _)| seq.0).max().unwrap_or(0).max(self.log.durable);
        ensure(last.0 == kept, "spool_forgets", || format!("goes on after {last:?}, {kept} was written"))?;
        let lost =
            self.log.entries.range(..=kept).find(|(seq, entry)| !entry.is_answered && !pending.contains(seq));
        ensure(lost.is_none(), "spool_loses", || {
            format!("{:?}", lost.map(|(seq, entry)| (seq, &entry.event)))
        })?;
        ensure(recovered.pending.is_sorted_by_key(|(seq, _)| *seq), "spool_order", || {
            format!("{pending:?}")
        })?;
        let half_aside: Vec<u64> = self.log.aside.intersection(&pending).copied().collect();
        self.log.aside.retain(|number| !pending.contains(number));
        self.log.half_aside.extend(half_aside);
        self.log.cut(kept);
        self.works.replay(&self.log);
        Ok(())
    }
}

impl Log {
    pub(super) fn last(&self) -> u64 {
        self.entries.last_key_value().map_or(0, |(number, _)| *number)
    }

    pub(super) fn id(&self, number: u64) -> Option<ReportId> {
        ReportId::new(&self.entries.get(&number)?.event.id).ok()
    }

    pub(super) fn answered(&mut self, number: u64) {
        if let Some(entry) = self.entries.get_mut(&number) {
            entry.is_answered = true;
        }
    }

    /// An event reaches the coordinator. At its first arrival everything that must come before it has arrived.
    pub(super) fn heard(&mut self, id: &str) -> Verdict {
        let Some(number) = self.numbers.get(id).copied() else {
            return broken("report_from_nobody", || id.to_owned());
        };
        if !self.unheard.remove(&number) {
            return Ok(());
        }
        let event = &self.entries[&number].event;
        let earlier = self.unheard.range(..number).map(|earlier| &self.entries[earlier].event);
        let overtaken = earlier.clone().find(|earlier| must_precede(earlier, event));
        ensure(overtaken.is_none(), "report_overtakes", || format!("{event:?} before {overtaken:?}"))
    }

    /// An event is refused; what is refused need not arrive.
    pub(super) fn refused(&mut self, id: &str) {
        let Some(number) = self.numbers.get(id) else {
            return;
        };
        self.unheard.remove(number);
        if let Some(entry) = self.entries.get_mut(number) {
            entry.is_refused = true;
        }
    }

    /// Removes the events that were never durable and may be lost.
    fn cut(&mut self, kept: u64) {
        for (number, entry) in self.entries.split_off(&(kept + 1)) {
            self.numbers.remove(&entry.event.id);
            self.unheard.remove(&number);
        }
        self.durable = kept;
    }

    /// Every event was answered, and people find what was refused.
    pub(super) fn at_rest(&self, aside: &[SetAside]) -> Verdict {
        let open = self.entries.values().find(|entry| !entry.is_answered);
        ensure(open.is_none(), "event_unanswered", || format!("{:?}", open.map(|entry| &entry.event)))?;
        let found: BTreeSet<u64> = aside.iter().map(|entry| entry.seq.0).collect();
        let is_right = found.is_superset(&self.aside)
            && found.iter().all(|number| self.aside.contains(number) || self.half_aside.contains(number));
        ensure(is_right, "set_aside_lost", || format!("{found:?} of {:?}", self.aside))?;
        let alien = aside.iter().find(|entry| self.entries[&entry.seq.0].bytes != entry.payload);
        ensure(alien.is_none(), "spool_alters", || format!("{alien:?}"))
    }
}

/// Events of one task arrive in their order; a run's own after all before them and before all after them (N19).
fn must_precede(earlier: &Event, later: &Event) -> bool {
    let task = |event: &Event| event.kind.attempt().map(|attempt| attempt.task.clone());
    let is_same_run = earlier.kind.run() == later.kind.run();
    is_same_run && (task(earlier).is_none() || task(later).is_none() || task(earlier) == task(later))
}

/// Results of the sends in this life.
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
    /// Records the result of a send, and checks the state that the agent shows afterwards.
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

impl AgentBook {
    /// Summaries that were reported for finished runs.
    pub(crate) fn summaries(&self) -> impl Iterator<Item = RunSummary> {
        let events = self.log.entries.values().map(|entry| &entry.event.kind);
        events.filter_map(|kind| match kind {
            EventKind::RunFinished { summary, .. } => Some(*summary),
            _ => None,
        })
    }
}

/// Looks at an event that is about to be written down.
fn check_run_over(event: &Event, log: &Log, works: &Works) -> Verdict {
    let EventKind::RunFinished { run, summary } = &event.kind else {
        return Ok(());
    };
    ensure(!works.runs_of(run), "run_over_while_it_runs", || format!("{run}"))?;
    let count = Count::of(run, log);
    ensure(count.open.is_empty(), "run_over_with_open_tasks", || format!("{run}: {:?}", count.open))?;
    // The agent may have forgotten a run that it reported as finished a while ago.
    let is_long_over = count.over_at.is_some_and(|at| event.at - at > REMEMBERED);
    let is_right = Count::summary(&count.ends) == *summary
        || (is_long_over && Count::summary(&count.ends_since_over) == *summary);
    ensure(is_right, "summary_unlike_its_tasks", || format!("{run}: {summary:?} was told, {count:?} counted"))
}

/// Tasks of a run since it was last announced here.
#[derive(Debug, Default)]
struct Count {
    /// Tasks that were begun and have not ended.
    open: BTreeSet<Text>,
    ends: BTreeMap<Text, End>,
    /// When it was last told to be over, and what has ended since.
    over_at: Option<Timestamp>,
    ends_since_over: BTreeMap<Text, End>,
}

#[derive(Clone, Copy, Debug)]
struct End {
    is_good: bool,
    is_timeout: bool,
}

impl Count {
    fn of(run: &Text, log: &Log) -> Self {
        let mut count = Self::default();
        let events = log.entries.values().map(|entry| &entry.event);
        events.filter(|event| event.kind.run() == run).for_each(|event| count.add(event));
        count
    }

    fn add(&mut self, event: &Event) {
        match &event.kind {
            EventKind::RunStarted { .. } => {
                *self = Self { open: std::mem::take(&mut self.open), ..Self::default() }
            }
            EventKind::TaskStarted { attempt, .. } => drop(self.open.insert(attempt.task.clone())),
            EventKind::TaskFinished { attempt, outcome, .. } => {
                self.open.remove(&attempt.task);
                self.ends.insert(attempt.task.clone(), End::of(outcome));
                self.ends_since_over.insert(attempt.task.clone(), End::of(outcome));
            }
            EventKind::RunFinished { .. } => {
                self.over_at = Some(event.at);
                self.ends_since_over.clear();
            }
            EventKind::TaskProgress { .. } => {}
        }
    }

    fn summary(ends: &BTreeMap<Text, End>) -> RunSummary {
        let count = |wanted: fn(&End) -> bool| ends.values().filter(|end| wanted(end)).count() as u64;
        RunSummary {
            succeeded: count(|end| end.is_good),
            failed: count(|end| !end.is_good),
            timeout: count(|end| end.is_timeout),
        }
    }
}

impl End {
    fn of(outcome: &Outcome) -> Self {
        match outcome {
            Outcome::Succeeded { .. } => Self { is_good: true, is_timeout: false },
            Outcome::Failed { error, .. } => {
                Self { is_good: false, is_timeout: error.starts_with("timeout: ") }
            }
        }
    }
}

/// Time for which an agent surely remembers a run that it reported as finished.
const REMEMBERED: Millis = Millis(120_000);
