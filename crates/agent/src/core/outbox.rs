//! N9 to N14, N19: events, how they leave the spool, and what becomes of them.
//!
//! Events of different tasks leave side by side; those of one task one after the other, and those that speak of a run
//! as a whole after everything before them and before everything after them of that run. A backend that takes several
//! events at once (N25) gets them in one request after the other, each in the order of the spool.

use super::{Action, Answer, Core, Event, EventKind, Refusal};
use crate::Text;
use muster_model::{Millis, Timestamp};
use muster_worker_kit::Backoff;
use std::collections::{BTreeMap, BTreeSet};

/// Events in the spool, by their number there.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    entries: BTreeMap<u64, Entry>,
    in_flight: usize,
}

#[derive(Debug)]
struct Entry {
    run: Text,
    task: Option<(Text, u32)>,
    is_durable: bool,
    sent_at: Option<Timestamp>,
    tries: u32,
    /// Number of responses that put it off.
    put_off: u32,
    not_before: Timestamp,
}

/// An event that left the outbox.
pub(super) struct Left {
    /// The task and attempt that it spoke of.
    pub(super) task: Option<(Text, u32)>,
}

impl Outbox {
    pub(super) fn push(&mut self, number: u64, event: &Event, is_durable: bool) {
        let task = event.kind.attempt().map(|attempt| (attempt.task.clone(), attempt.number));
        let run = event.kind.run().clone();
        let not_before = Timestamp::default();
        let entry = Entry { run, task, is_durable, sent_at: None, tries: 0, put_off: 0, not_before };
        self.entries.insert(number, entry);
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// The oldest event that should be taken soon: neither put off again and again nor kept back by one that is.
    pub(super) fn oldest_expected(&self) -> Option<u64> {
        let mut queue = Queue::default();
        let is_expected = |entry: &Entry| entry.put_off < PUT_OFF_MAX;
        let mut expected =
            self.entries.iter().filter(|(_, entry)| queue.lets_through(entry, is_expected(entry)));
        expected.next().map(|(number, _)| *number)
    }

    pub(super) fn newest(&self) -> Option<u64> {
        self.entries.last_key_value().map(|(number, _)| *number)
    }

    pub(super) fn holds(&self, number: u64) -> bool {
        self.entries.contains_key(&number)
    }

    /// Everything up to a number is on disk.
    pub(super) fn durable(&mut self, up_to: u64) {
        let fresh = self.entries.range_mut(..=up_to).rev();
        fresh.take_while(|(_, entry)| !entry.is_durable).for_each(|(_, entry)| entry.is_durable = true);
    }

    /// Takes an event out that was answered for good.
    pub(super) fn remove(&mut self, number: u64) -> Option<Left> {
        let entry = self.entries.remove(&number)?;
        self.in_flight -= usize::from(entry.sent_at.is_some());
        Some(Left { task: entry.task })
    }

    /// An event was not taken, though the backend is there or because it is away; says when it had left.
    pub(super) fn failed(&mut self, number: u64, is_put_off: bool, now: Timestamp) -> Option<Timestamp> {
        let entry = self.entries.get_mut(&number)?;
        let sent_at = entry.sent_at.take()?;
        self.in_flight -= 1;
        entry.tries += 1;
        entry.put_off += u32::from(is_put_off);
        entry.not_before = now + BACKOFF.delay(entry.tries);
        Some(sent_at)
    }

    /// The backend was away and is back: all of them may be tried again now, and none is held against it.
    pub(super) fn look_again(&mut self) {
        for entry in self.entries.values_mut() {
            (entry.not_before, entry.put_off) = (Timestamp::default(), 0);
        }
    }

    /// An event was not sent after all; nothing is held against it.
    pub(super) fn unsent(&mut self, number: u64) {
        if let Some(entry) = self.entries.get_mut(&number) {
            self.in_flight -= usize::from(entry.sent_at.take().is_some());
        }
    }

    /// Chooses what leaves now, request by request, and marks it sent.
    pub(super) fn choose(&mut self, flow: Flow, now: Timestamp) -> Vec<Vec<u64>> {
        let room = flow.room(self.in_flight);
        if room == 0 {
            return Vec::new();
        }
        let requests = match flow {
            Flow::Single(_) => self.choose_single(room, now),
            Flow::Together(_) => match self.choose_together(room, now) {
                together if together.is_empty() => self.choose_single(1, now),
                together => vec![together],
            },
        };
        for number in requests.iter().flatten() {
            if let Some(entry) = self.entries.get_mut(number) {
                entry.sent_at = Some(now);
                self.in_flight += 1;
            }
        }
        requests
    }

    fn choose_single(&self, room: usize, now: Timestamp) -> Vec<Vec<u64>> {
        let ready = |number: &u64| self.entries[number].not_before <= now;
        let mut candidates: Vec<u64> = self.first_in_line().filter(ready).collect();
        // An event that no backend takes must not hold the others back for ever.
        candidates.sort_by_key(|number| self.entries[number].put_off >= PUT_OFF_MAX);
        candidates.truncate(room);
        candidates.into_iter().map(|number| vec![number]).collect()
    }

    /// The oldest events, with all that follow them of their tasks; without those that no backend takes, which leave
    /// alone.
    fn choose_together(&self, room: usize, now: Timestamp) -> Vec<u64> {
        let mut queue = Queue::default();
        let may_leave =
            |entry: &Entry| entry.sent_at.is_none() && entry.not_before <= now && entry.put_off < PUT_OFF_MAX;
        let chosen = self.durable_entries().filter(|(_, entry)| queue.lets_through(entry, may_leave(entry)));
        chosen.take(room).map(|(number, _)| *number).collect()
    }

    /// When the next event could leave, if only time keeps it back.
    pub(super) fn ready_at(&self, flow: Flow) -> Option<Timestamp> {
        let has_room = flow.room(self.in_flight) > 0;
        self.first_in_line().filter(|_| has_room).map(|number| self.entries[&number].not_before).min()
    }

    /// Events that no other keeps back.
    fn first_in_line(&self) -> impl Iterator<Item = u64> {
        let mut queue = Queue::default();
        let first = self.durable_entries().filter(move |(_, entry)| {
            let is_first = !queue.keeps_back(entry);
            // Whatever comes first of a task keeps the later ones of it back, sent or not.
            queue.push(entry);
            is_first
        });
        first.filter(|(_, entry)| entry.sent_at.is_none()).map(|(number, _)| *number)
    }

    fn durable_entries(&self) -> impl Iterator<Item = (&u64, &Entry)> {
        self.entries.iter().take(LOOKAHEAD).take_while(|(_, entry)| entry.is_durable)
    }
}

/// Number of events that may be on their way.
#[derive(Clone, Copy, Debug)]
pub(super) enum Flow {
    /// So many, each in a request of its own.
    Single(usize),
    /// So many in one request, and only one request at a time (N25).
    Together(usize),
}

impl Flow {
    const fn room(self, in_flight: usize) -> usize {
        match self {
            Self::Single(at_once) => at_once.saturating_sub(in_flight),
            Self::Together(_) if in_flight > 0 => 0,
            Self::Together(at_once) => at_once,
        }
    }
}

/// Events that stay, oldest first, and by which later ones are kept back.
#[derive(Default)]
struct Queue<'e> {
    tasks: BTreeSet<&'e str>,
    runs: BTreeSet<&'e str>,
    /// Runs of which an event about the run as a whole stays.
    whole_runs: BTreeSet<&'e str>,
}

impl<'e> Queue<'e> {
    /// True if an event may leave and none before it stays that it must wait for; otherwise it stays as well.
    fn lets_through(&mut self, entry: &'e Entry, may_leave: bool) -> bool {
        let leaves = may_leave && !self.keeps_back(entry);
        if !leaves {
            self.push(entry);
        }
        leaves
    }

    fn keeps_back(&self, entry: &Entry) -> bool {
        match &entry.task {
            Some((task, _)) => self.tasks.contains(&**task) || self.whole_runs.contains(&*entry.run),
            None => self.runs.contains(&*entry.run),
        }
    }

    fn push(&mut self, entry: &'e Entry) {
        self.runs.insert(&entry.run);
        match &entry.task {
            Some((task, _)) => self.tasks.insert(task),
            None => self.whole_runs.insert(&entry.run),
        };
    }
}

/// Says in one line why an event was put aside.
pub(super) fn words(refusal: &Refusal) -> String {
    format!("the backend refused it with {}: {}", refusal.status, refusal.detail)
}

/// State of the way to the backend.
#[derive(Clone, Debug, Default)]
pub(super) struct Link {
    /// Failures since the last event that was answered.
    tries: u32,
    /// While in doubt: no event leaves before this.
    not_before: Timestamp,
    failed_at: Option<Timestamp>,
    /// The last event that must be taken before new work is: the backend hears first what it missed.
    recover_until: Option<u64>,
}

impl Link {
    /// True if one event at a time is tried, until one is answered.
    pub(super) const fn is_in_doubt(&self) -> bool {
        self.tries > 0
    }

    pub(super) const fn is_degraded(&self) -> bool {
        self.tries >= TRIES_UNTIL_DEGRADED
    }

    pub(super) const fn is_recovering(&self) -> bool {
        self.recover_until.is_some()
    }

    /// When the next event may leave.
    pub(super) const fn opens_at(&self) -> Timestamp {
        self.not_before
    }

    /// An event was answered; `last` is the newest one in the spool.
    pub(super) fn answered(&mut self, last: u64) {
        if self.is_degraded() {
            self.recover_until = Some(last);
        }
        self.tries = 0;
        self.failed_at = None;
        self.not_before = Timestamp::default();
    }

    /// An event that left at `sent_at` was not answered. Those that left together fail together: that is one failure.
    pub(super) fn failed(&mut self, sent_at: Timestamp, retry_after: Option<Millis>, now: Timestamp) {
        if self.failed_at.is_some_and(|failed_at| sent_at < failed_at) {
            return;
        }
        self.tries = self.tries.saturating_add(1);
        self.failed_at = Some(now);
        self.not_before = now + BACKOFF.patience(self.tries, retry_after);
    }

    /// The backend answers pulls again: an event is tried at once.
    pub(super) fn look_again(&mut self, now: Timestamp) {
        self.not_before = self.not_before.min(now);
    }

    /// The oldest event in the spool is now this one, or there is none.
    pub(super) fn drained_to(&mut self, oldest: Option<u64>) {
        self.recover_until = self.recover_until.filter(|last| oldest.is_some_and(|oldest| oldest <= *last));
    }
}

impl Core {
    /// Handles the answers to the events of one request.
    pub fn sent(&mut self, answers: impl IntoIterator<Item = (u64, Answer)>, now: Timestamp) {
        for (number, answer) in answers {
            self.take_sent(number, answer, now);
        }
        self.settle(now);
    }

    fn take_sent(&mut self, number: u64, answer: Answer, now: Timestamp) {
        match answer {
            Answer::Taken => {
                if self.answered(number, now).is_some() {
                    self.actions.push_back(Action::Ack(number));
                }
            }
            Answer::Refused(refusal) => {
                if let Some(left) = self.answered(number, now) {
                    if let Some((task, attempt)) = left.task {
                        self.give_up(&task, attempt, words(&refusal));
                    }
                    self.actions.push_back(Action::SetAside(number, refusal));
                }
            }
            Answer::Later(retry_after) => self.put_off(number, Some(retry_after), now),
            Answer::None => self.put_off(number, None, now),
            Answer::Unsent => self.outbox.unsent(number),
            Answer::Separately => {
                self.outbox.unsent(number);
                self.together.refused(now);
            }
        }
    }

    /// Writes down what became true; it leaves once it is on disk.
    pub(super) fn report(&mut self, kind: EventKind, now: Timestamp) -> u64 {
        self.last_event += 1;
        let number = self.last_event;
        // The time comes first: ids that sort by time fall on the same few pages of the server's index.
        let id = format!("{:012x}/{}/{number}", now.0, self.spool_id);
        let event = Event { id: id.into(), at: now, kind };
        self.books.apply(number, &event);
        self.outbox.push(number, &event, false);
        self.actions.push_back(Action::Append(number, Box::new(event)));
        number
    }

    /// Sends what may leave.
    pub(super) fn pump(&mut self, now: Timestamp) {
        if self.link.opens_at() > now {
            return;
        }
        for numbers in self.outbox.choose(self.flow(), now) {
            self.actions.push_back(Action::Send(numbers));
        }
    }

    /// While nobody answers, one event at a time is enough to find out.
    pub(super) const fn flow(&self) -> Flow {
        match (self.link.is_in_doubt(), self.together.is_offered) {
            (true, _) => Flow::Single(1),
            (false, true) => Flow::Together(self.settings.batch),
            (false, false) => Flow::Single(self.settings.sends),
        }
    }

    #[cfg(test)]
    pub(super) const fn together_is_offered(&self) -> bool {
        self.together.is_offered
    }

    fn answered(&mut self, number: u64, now: Timestamp) -> Option<Left> {
        let left = self.outbox.remove(number)?;
        self.books.closing_taken(number, now);
        self.link.answered(self.outbox.newest().unwrap_or(0));
        self.link.drained_to(self.outbox.oldest_expected());
        Some(left)
    }

    fn put_off(&mut self, number: u64, answered: Option<Option<Millis>>, now: Timestamp) {
        // A backend that pulls do not reach either is away, even if a proxy answers in its place: the event is not at
        // fault.
        let is_put_off = answered.is_some() && self.pulls.is_reachable();
        if let Some(sent_at) = self.outbox.failed(number, is_put_off, now) {
            self.link.failed(sent_at, answered.flatten(), now);
            self.link.drained_to(self.outbox.oldest_expected());
        }
    }
}

/// Use of the endpoint for several events at once (N25).
#[derive(Debug, Default)]
pub(super) struct Together {
    /// The backend offers it, and did not refuse it lately.
    is_offered: bool,
    refused_at: Option<Timestamp>,
}

impl Together {
    /// A pull was answered: the backend says whether it has the endpoint. One that says so and does not is a mixture of
    /// versions, or something in between.
    pub(super) fn offered(&mut self, is_offered: bool, now: Timestamp) {
        let is_refused = self.refused_at.is_some_and(|at| now < at + TOGETHER_AGAIN);
        self.is_offered = is_offered && !is_refused;
    }

    const fn refused(&mut self, now: Timestamp) {
        self.is_offered = false;
        self.refused_at = Some(now);
    }
}

/// The contract's schedule.
pub(super) const BACKOFF: Backoff = Backoff {
    delays_ms: &[1_000, 1_000, 2_000, 5_000, 10_000],
    delay_ms_max: 30_000,
    retry_after_ms_max: 60_000,
};

/// Number of oldest events that are searched for ones that may leave.
const LOOKAHEAD: usize = 512;
const PUT_OFF_MAX: u32 = 7;
/// Time for which events leave alone after a request with several was refused as a whole.
const TOGETHER_AGAIN: Millis = Millis(60_000);
const TRIES_UNTIL_DEGRADED: u32 = 7;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::{Attempt, Outcome};
    use muster_model::RunSummary;

    fn outbox(script: &str) -> Outbox {
        let mut outbox = Outbox::default();
        for (number, word) in (1..).zip(script.split_whitespace()) {
            let (run, task) = word.split_once('/').unwrap_or((word, ""));
            let kind = if task.is_empty() {
                EventKind::RunFinished { run: run.into(), summary: RunSummary::default() }
            } else {
                let attempt = Attempt {
                    run: run.into(),
                    task: word.into(),
                    device: task.into(),
                    handle: task.into(),
                    number: 1,
                    token: None,
                };
                let outcome = Outcome::Succeeded { artifact: None };
                EventKind::TaskFinished { attempt, started_at: Timestamp(0), outcome }
            };
            outbox.push(number, &Event { id: "e".into(), at: Timestamp(0), kind }, true);
        }
        outbox
    }

    /// N19: no event overtakes one of its task; a run's own wait for all before them and keep all after them back.
    #[test]
    fn order_is_kept_where_it_matters() {
        let mut outbox = outbox("r r/a r/a r/b s/c r r/d");
        assert_eq!(outbox.choose(Flow::Single(9), Timestamp(0)), [[1], [5]]);
        outbox.remove(1);
        assert_eq!(outbox.choose(Flow::Single(9), Timestamp(0)), [[2], [4]]);
        outbox.remove(4);
        assert!(outbox.choose(Flow::Single(9), Timestamp(0)).is_empty());
        outbox.remove(2);
        assert_eq!(outbox.choose(Flow::Single(9), Timestamp(0)), [[3]]);
        outbox.remove(3);
        assert_eq!(outbox.choose(Flow::Single(9), Timestamp(0)), [[6]]);
        outbox.remove(6);
        assert_eq!(outbox.choose(Flow::Single(9), Timestamp(0)), [[7]]);
    }

    /// N19, N25: together, events leave in the order of the spool, one request at a time; what must wait keeps back all
    /// that follows of its task, and a run's own all that follows of its run.
    #[test]
    fn order_is_kept_within_a_request_and_between_requests() {
        let together = Flow::Together(4);
        let mut events = outbox("r r/a r/a r/b s/c r r/d");
        assert_eq!(events.choose(together, Timestamp(0)), [[1, 2, 3, 4]]);
        assert!(events.choose(together, Timestamp(0)).is_empty(), "one request at a time");
        for number in [1, 3] {
            events.remove(number);
        }
        events.failed(2, true, Timestamp(0));
        events.unsent(4);
        assert_eq!(events.choose(together, Timestamp(0)), [[4, 5]], "6 and 7 wait for 2");
        for number in [4, 5] {
            events.remove(number);
        }
        assert_eq!(events.ready_at(together), Some(Timestamp(1_000)));
        assert_eq!(events.choose(together, Timestamp(1_000)), [[2, 6, 7]]);
        let mut mixed = outbox("r/a r/b r/a");
        assert_eq!(mixed.choose(Flow::Single(1), Timestamp(0)), [[1]]);
        assert!(mixed.choose(together, Timestamp(0)).is_empty(), "one is on its way alone");
    }

    /// N19: nothing leaves before it is on disk.
    #[test]
    fn what_is_not_durable_stays() {
        let mut outbox = outbox("r/a");
        let event = Event {
            id: "e".into(),
            at: Timestamp(0),
            kind: EventKind::RunFinished { run: "s".into(), summary: RunSummary::default() },
        };
        outbox.push(2, &event, false);
        assert_eq!(outbox.choose(Flow::Single(9), Timestamp(0)), [[1]]);
        outbox.unsent(1);
        assert_eq!(outbox.choose(Flow::Together(9), Timestamp(0)), [[1]]);
        outbox.durable(2);
        assert_eq!(outbox.choose(Flow::Single(9), Timestamp(0)), [[2]]);
        assert!(outbox.choose(Flow::Single(9), Timestamp(0)).is_empty());
    }

    /// N19: an event that is put off seven times steps back; a task's own later ones still wait for it.
    #[test]
    fn one_that_nobody_takes_steps_back() {
        let mut outbox = outbox("r/a r/b r/a");
        let later = |n: i64| Timestamp(n * 60_000);
        for n in 0..7 {
            assert_eq!(outbox.oldest_expected(), Some(1));
            assert_eq!(outbox.choose(Flow::Single(1), later(n)), [[1]]);
            outbox.failed(1, true, later(n));
        }
        assert_eq!(outbox.oldest_expected(), Some(2));
        assert_eq!(outbox.choose(Flow::Together(9), later(7)), [[2]], "1 leaves alone, and 3 waits for it");
        outbox.unsent(2);
        assert_eq!(outbox.choose(Flow::Single(1), later(7)), [[2]]);
        outbox.remove(2);
        assert_eq!(outbox.oldest_expected(), None, "3 waits for 1");
        assert_eq!(outbox.choose(Flow::Together(9), later(7)), [[1]]);
        outbox.failed(1, true, later(7));
        outbox.look_again();
        let chosen = outbox.choose(Flow::Single(9), later(0));
        assert_eq!((outbox.oldest_expected(), chosen), (Some(1), vec![vec![1]]));
    }

    /// N20: 1, 2, 5, 10, 30, 30 seconds, for ever 30; degraded after the seventh try.
    #[test]
    fn the_schedule_is_the_contracts() {
        let mut link = Link::default();
        let mut now = Timestamp(0);
        let mut waits = Vec::new();
        for _ in 0..8 {
            assert_eq!(link.is_degraded(), waits.len() >= 7);
            link.failed(now, None, now);
            waits.push((link.opens_at() - now).0 / 1000);
            now = link.opens_at();
        }
        assert_eq!(waits, [1, 2, 5, 10, 30, 30, 30, 30]);
        assert!(link.is_degraded());
        link.answered(9);
        assert!(!link.is_degraded() && link.is_recovering());
        link.drained_to(Some(9));
        assert!(link.is_recovering());
        link.drained_to(Some(10));
        assert!(!link.is_recovering());
    }

    /// N20: events that left together and found nobody are one try.
    #[test]
    fn what_left_together_fails_together() {
        let mut link = Link::default();
        for _ in 0..20 {
            link.failed(Timestamp(0), None, Timestamp(50));
        }
        assert_eq!(link.tries, 1);
        link.look_again(Timestamp(60));
        assert_eq!(link.opens_at(), Timestamp(60));
    }
}
