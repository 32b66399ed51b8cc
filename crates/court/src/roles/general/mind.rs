//! Decides what a general does next (C16).

use super::attempts::{self, Attempts, Cause, Ending, Next, RESULT_FILE, Verdict};
use crate::{
    Document, Fault, Folder, Id, Place, Series,
    bridge::Fleet,
    clock::Pause,
    config::General,
    document::document,
    emit::say,
    file::{Priority, created_at},
    layout::ATTEMPTS,
    roles::Step,
};
use jiff::{SignedDuration, Timestamp};
use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    ops::Bound,
    path::PathBuf,
};

/// Decides for one general; holds nothing that is not in the files.
///
/// A step that the disk refuses is logged and tried again with the next call of [`Self::next`] or [`Self::claim`].
pub struct GeneralMind {
    general: General,
    channel: String,
    backlog: Backlog,
    /// There may be more in `pending/` than the backlog knows.
    is_stale: bool,
    held: BTreeMap<Id, HeldTask>,
    /// Tasks in progress that nobody has looked into yet.
    unread: BTreeSet<Id>,
    /// Updates that are recorded and not written yet, with their task.
    unsaid: Vec<Update>,
    /// Tasks that have a result; what their attempts left goes when the king has taken them.
    concluded: BTreeSet<Id>,
}

/// An attempt that is to begin now.
#[derive(Clone, Debug, PartialEq)]
pub struct Start {
    /// The task.
    pub task: Id,
    /// The number of the attempt.
    pub attempt: u64,
    /// The attempt's own directory.
    pub directory: PathBuf,
    /// The task's file.
    pub task_path: PathBuf,
    /// Path of the soldier's result.
    pub result_path: PathBuf,
    /// The task, as its file has it.
    pub document: Document,
    /// The id under which the coordinator has it already.
    pub remote: Option<String>,
}

impl Start {
    /// The first attempt after the last one that the coordinator is known to have: they all are handed in as one.
    ///
    /// A call without an answer may have arrived; the same key finds it again and never runs it twice.
    pub(crate) fn handed_in_as(&self) -> u64 {
        let attempts = self.document.objects("attempts");
        let known = attempts.iter().filter(|attempt| attempt.has(REMOTE));
        let earlier =
            known.filter_map(|attempt| attempt.number("attempt")).filter(|number| *number < self.attempt);
        earlier.max().unwrap_or(0) + 1
    }
}

/// An update about a task whose number is recorded in the task and that is not written yet.
struct Update {
    task: Id,
    cause: Cause,
    message: Id,
}

/// A task that this general has.
struct HeldTask {
    rank: Rank,
    state: State,
}

enum State {
    Ready,
    Running,
    Ended(Ending),
    Waiting(Pause),
}

impl GeneralMind {
    /// A mind that knows nothing yet; [`Self::recover`] comes first.
    #[must_use]
    pub fn new(general: General, channel: String) -> Self {
        let (backlog, held) = (Backlog::default(), BTreeMap::new());
        let (unread, unsaid, concluded) = (BTreeSet::new(), Vec::new(), BTreeSet::new());
        Self { general, channel, backlog, is_stale: true, held, unread, unsaid, concluded }
    }

    /// Takes up what an earlier life had; nothing of that life may run any more.
    pub fn recover(&mut self, folder: &Folder, now: Timestamp) -> Result<(), Fault> {
        self.unread = folder.ids(Place::TasksInProgress)?.into_iter().collect();
        self.take_up(folder, now);
        self.find_leftovers(folder)
    }

    /// Looks for tasks and begins as many as there are soldiers for.
    pub fn next(&mut self, folder: &Folder, now: Timestamp) -> Vec<Start> {
        self.is_stale = true;
        self.take_up(folder, now);
        self.tidy(folder);
        self.claim(folder, now)
    }

    /// Begins as many of the tasks it knows of as there are soldiers for.
    pub fn claim(&mut self, folder: &Folder, now: Timestamp) -> Vec<Start> {
        self.settle(Step { folder, now });
        self.look(folder);
        let mut starts = Vec::new();
        let mut seen: Option<Rank> = None;
        while self.running() < self.general.max_soldiers {
            let Some(rank) = self.candidate(seen.as_ref(), now) else { break };
            match self.take(folder, &rank.id).and_then(|()| self.begin(Step { folder, now }, &rank.id)) {
                Ok(start) => starts.extend(start),
                Err(fault) => {
                    tracing::warn!(task = %rank.id, %fault, "a task cannot be begun yet");
                    self.put_off(&rank.id, now);
                }
            }
            seen = Some(rank);
        }
        starts
    }

    /// Tells people of the attempts that began. Soldiers need not wait for it; a result does.
    pub fn announce(&mut self, folder: &Folder, now: Timestamp) {
        for update in std::mem::take(&mut self.unsaid) {
            if let Err(fault) = self.tell(Step { folder, now }, &update) {
                let Update { task, message, .. } = &update;
                tracing::warn!(%task, %message, %fault, "an update cannot be written yet");
                self.unsaid.push(update);
            }
        }
    }

    /// Takes in that an attempt has ended.
    pub fn ended(&mut self, step: Step<'_>, task: &Id, ending: Ending) {
        if let Some(held) = self.held.get_mut(task).filter(|held| matches!(held.state, State::Running)) {
            held.state = State::Ended(ending);
        }
        self.settle(step);
    }

    /// Takes in that an attempt was ended because the general ends: its next life begins another.
    pub fn interrupted(&mut self, folder: &Folder, task: &Id, now: Timestamp) -> Result<(), Fault> {
        let Some(held) = self.held.get_mut(task) else { return Ok(()) };
        held.state = State::Ready;
        if Fleet::of(self.general.executor).is_some() {
            // The fleet goes on; the next life follows the same attempt.
            return Ok(());
        }
        let Some(mut document) = folder.read_or_reject(Place::TasksInProgress, task)? else { return Ok(()) };
        let mut attempts = Attempts::of(&document);
        attempts.interrupt(now);
        attempts.write_to(&mut document);
        folder.write(Place::TasksInProgress, task, &document)
    }

    /// Records where the coordinator has the attempt that runs (C17).
    pub(crate) fn hand_over(folder: &Folder, task: &Id, fleet: Fleet, remote: &str) -> Result<(), Fault> {
        let Some(mut document) = folder.read_or_reject(Place::TasksInProgress, task)? else { return Ok(()) };
        let mut attempts = Attempts::of(&document);
        let Some(last) = attempts.last_mut() else { return Ok(()) };
        last.set(REMOTE, &document! {"kind": fleet.as_str(), "id": remote});
        attempts.write_to(&mut document);
        folder.write(Place::TasksInProgress, task, &document)
    }

    /// The next deadline: [`Self::claim`] has something to do then even if nothing happens.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Timestamp> {
        if self.running() >= self.general.max_soldiers {
            return None;
        }
        let waiting = self.held.values().filter_map(|held| match held.state {
            State::Waiting(pause) => Some(pause.until()),
            _ => None,
        });
        waiting.min()
    }

    /// The role's name among locks and heartbeats.
    #[must_use]
    pub fn role(&self) -> String {
        format!("general-{}", self.general.name)
    }

    /// Number of running attempts.
    #[must_use]
    pub fn running(&self) -> usize {
        self.held.values().filter(|held| matches!(held.state, State::Running)).count()
    }

    /// Takes up what an earlier life had and this one has not read yet; one that cannot be read waits alone.
    fn take_up(&mut self, folder: &Folder, now: Timestamp) {
        for id in std::mem::take(&mut self.unread) {
            match folder.read_or_reject(Place::TasksInProgress, &id) {
                Ok(Some(task)) => self.take_up_one(Step { folder, now }, id, &task),
                Ok(None) => {}
                Err(fault) => {
                    tracing::warn!(task = %id, %fault, "a task in progress cannot be read yet");
                    self.unread.insert(id);
                }
            }
        }
    }

    fn take_up_one(&mut self, step: Step<'_>, id: Id, task: &Document) {
        if !is_for(task, &self.general.name) {
            return;
        }
        if step.folder.has(Place::Results, &id) {
            self.concluded.insert(id);
            return;
        }
        let unsaid = attempts::recorded(task).into_iter();
        self.unsaid.extend(unsaid.map(|(cause, message)| Update { task: id.clone(), cause, message }));
        let state = self.state_found(task, step.now);
        self.held.insert(id.clone(), HeldTask { rank: Rank::of(&id, task), state });
    }

    /// Lets a task wait that could not be begun: it is due, and would be tried again without a pause.
    fn put_off(&mut self, id: &Id, now: Timestamp) {
        if let Some(held) = self.held.get_mut(id)
            && matches!(held.state, State::Ready | State::Waiting(_))
        {
            held.state = State::Waiting(Pause::of(PUT_OFF, now));
        }
    }

    /// Looks for tasks, unless all soldiers are busy: then the look waits for the first that is not.
    fn look(&mut self, folder: &Folder) {
        if !self.is_stale || self.running() >= self.general.max_soldiers {
            return;
        }
        match self.backlog.refresh(folder, &self.general.name) {
            Ok(()) => self.is_stale = false,
            Err(fault) => tracing::warn!(general = self.general.name, %fault, "cannot look for tasks"),
        }
    }

    fn state_found(&self, task: &Document, now: Timestamp) -> State {
        let attempts = Attempts::of(task);
        match attempts.next(&self.general) {
            Next::Retry(span) if !attempts.is_running() => State::Waiting(attempts.pause(span, now)),
            _ => State::Ready,
        }
    }

    /// The next task that could begin, after one that was looked at.
    fn candidate(&self, seen: Option<&Rank>, now: Timestamp) -> Option<Rank> {
        let is_due = |held: &&HeldTask| match held.state {
            State::Ready => true,
            State::Waiting(pause) => pause.is_over(now),
            State::Running | State::Ended(_) => false,
        };
        let ranks = self.held.values().filter(is_due).map(|held| &held.rank);
        let held = ranks.filter(|rank| seen.is_none_or(|seen| *rank > seen)).min();
        held.into_iter().chain(self.backlog.next(seen)).min().cloned()
    }

    fn tell(&self, step: Step<'_>, update: &Update) -> Result<(), Fault> {
        let Step { folder, now } = step;
        let Some(task) = folder.read_or_reject(Place::TasksInProgress, &update.task)? else { return Ok(()) };
        let message = attempts::message(&task, update.cause, &self.general, &self.channel);
        say(folder, &update.message, &message, now)
    }

    fn set_state(&mut self, id: &Id, state: State) {
        if let Some(held) = self.held.get_mut(id) {
            held.state = state;
        }
    }
}

fn directory_of(folder: &Folder, id: &Id) -> PathBuf {
    folder.path(ATTEMPTS).join(id.as_str())
}

/// Sort key of a task: priority, then age, then id.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Rank {
    priority: Priority,
    created_at: Timestamp,
    id: Id,
}

/// The tasks in `pending/`.
#[derive(Debug, Default)]
struct Backlog {
    /// Tasks that were read; `None` for those of other generals.
    read: HashMap<Id, Option<Rank>>,
    /// Our own, the next one first.
    own: BTreeSet<Rank>,
}

impl Rank {
    fn of(id: &Id, task: &Document) -> Self {
        Self { priority: Priority::of(task), created_at: created_at(task), id: id.clone() }
    }
}

impl Backlog {
    /// Reads what is new and forgets what is gone.
    fn refresh(&mut self, folder: &Folder, general: &str) -> Result<(), Fault> {
        let ids: HashSet<Id> = folder.ids(Place::TasksPending)?.into_iter().collect();
        let gone: Vec<Id> = self.read.keys().filter(|id| !ids.contains(*id)).cloned().collect();
        gone.iter().for_each(|id| self.forget(id));
        for id in ids {
            if !self.read.contains_key(&id)
                && let Some(task) = folder.read_or_wait(Place::TasksPending, &id)
            {
                let rank = is_for(&task, general).then(|| Rank::of(&id, &task));
                self.own.extend(rank.clone());
                self.read.insert(id, rank);
            }
        }
        Ok(())
    }

    /// The next of our own, or the next after one that was looked at.
    fn next(&self, after: Option<&Rank>) -> Option<&Rank> {
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        self.own.range((from, Bound::Unbounded)).next()
    }

    fn rank(&self, id: &Id) -> Option<Rank> {
        self.read.get(id).cloned().flatten()
    }

    fn forget(&mut self, id: &Id) {
        if let Some(Some(rank)) = self.read.remove(id) {
            self.own.remove(&rank);
        }
    }
}

/// True if a task is for this general.
fn is_for(task: &Document, general: &str) -> bool {
    task.text("target_general").as_deref() == Some(general)
}

/// A task in progress as it was read, and its attempts so far.
struct Claimed {
    task: Document,
    attempts: Attempts,
}

impl GeneralMind {
    /// Claims a task by one rename, unless this general has it already.
    fn take(&mut self, folder: &Folder, id: &Id) -> Result<(), Fault> {
        let Some(rank) = self.backlog.rank(id) else { return Ok(()) };
        if folder.has(Place::TasksInProgress, id) || folder.has(Place::TasksCompleted, id) {
            self.backlog.forget(id);
            return folder.reject_file(Place::TasksPending, id, "the task was taken before");
        }
        let claimed = folder.advance(id, Place::TasksPending, Place::TasksInProgress);
        // Whatever the disk complained of: where the file is decides, and a file that moved must not be forgotten.
        if folder.has(Place::TasksInProgress, id) {
            self.held.insert(id.clone(), HeldTask { rank, state: State::Ready });
        }
        self.backlog.forget(id);
        match claimed {
            Err(Fault::Gone(_)) => Ok(()),
            other => other,
        }
    }

    /// Begins the next attempt of a task, if it is to have one now.
    fn begin(&mut self, step: Step<'_>, id: &Id) -> Result<Option<Start>, Fault> {
        let Step { folder, now } = step;
        if !self.held.get(id).is_some_and(|held| matches!(held.state, State::Ready | State::Waiting(_))) {
            return Ok(None);
        }
        let Some(mut task) = folder.read_or_reject(Place::TasksInProgress, id)? else {
            self.held.remove(id);
            return Ok(None);
        };
        let mut attempts = Attempts::of(&task);
        if attempts.is_running() && Fleet::of(self.general.executor).is_some() {
            return self.start(folder, id, Claimed { task, attempts }).map(Some);
        }
        let was_running = attempts.is_running();
        if was_running {
            attempts.interrupt(now);
        }
        match attempts.next(&self.general) {
            Next::Over => {
                let verdict = Verdict::of_last(id, attempts.last());
                self.conclude(step, id, &verdict.result(&attempts)).map(|()| None)
            }
            Next::Retry(span) if was_running => {
                attempts.write_to(&mut task);
                folder.write(Place::TasksInProgress, id, &task)?;
                self.set_state(id, State::Waiting(Pause::of(span, now)));
                Ok(None)
            }
            Next::Begin | Next::Retry(_) => self.begin_another(step, id, Claimed { task, attempts }),
        }
    }

    fn begin_another(&mut self, step: Step<'_>, id: &Id, claimed: Claimed) -> Result<Option<Start>, Fault> {
        let Step { folder, now } = step;
        let Claimed { mut task, mut attempts } = claimed;
        let is_taken_up = attempts.last().is_some() && attempts.next(&self.general) == Next::Begin;
        let number = attempts.begin(now);
        let cause = if number == 1 { Cause::Start } else { Cause::Retry(number) };
        let update = if is_taken_up { None } else { Some(folder.next_id(Series::Message, now)?) };
        if let Some(message) = &update {
            attempts::record(&mut task, cause, message);
        }
        task.set("status", "in_progress");
        attempts.write_to(&mut task);
        match folder.write(Place::TasksInProgress, id, &task) {
            Err(Fault::Invalid(reason)) => {
                let verdict = Verdict::failed(id, &format!("the task cannot be begun: {reason}"));
                return self.conclude(step, id, &verdict.result(&attempts)).map(|()| None);
            }
            other => other?,
        }
        self.unsaid.extend(update.map(|message| Update { task: id.clone(), cause, message }));
        self.start(folder, id, Claimed { task, attempts }).map(Some)
    }

    fn start(&mut self, folder: &Folder, id: &Id, claimed: Claimed) -> Result<Start, Fault> {
        let Claimed { task: document, attempts } = claimed;
        let attempt = attempts.last_number();
        let directory = directory_of(folder, id).join(attempt.to_string());
        // Need not outlive a crash: the attempt does not either. So nobody waits for the disk.
        std::fs::create_dir_all(&directory).map_err(|error| Fault::Io(directory.clone(), error))?;
        self.set_state(id, State::Running);
        let remote = attempts.last().and_then(|last| last.object(REMOTE)?.text("id"));
        let (task_path, result_path) = (folder.file(Place::TasksInProgress, id), directory.join(RESULT_FILE));
        Ok(Start { task: id.clone(), attempt, directory, task_path, result_path, document, remote })
    }
}

impl GeneralMind {
    /// Deals with the attempts that have ended.
    fn settle(&mut self, step: Step<'_>) {
        let ended = |(id, held): (&Id, &HeldTask)| match &held.state {
            State::Ended(ending) => Some((id.clone(), ending.clone())),
            _ => None,
        };
        let ended: Vec<(Id, Ending)> = self.held.iter().filter_map(ended).collect();
        for (id, ending) in ended {
            if let Err(fault) = self.judge(step, &id, &ending) {
                tracing::warn!(task = %id, %fault, "the end of an attempt cannot be recorded yet");
            }
        }
    }

    fn judge(&mut self, step: Step<'_>, id: &Id, ending: &Ending) -> Result<(), Fault> {
        let Step { folder, now } = step;
        let Some(mut task) = folder.read_or_reject(Place::TasksInProgress, id)? else {
            self.held.remove(id);
            return Ok(());
        };
        let mut attempts = Attempts::of(&task);
        let directory = directory_of(folder, id).join(attempts.last_number().to_string());
        let mut verdict = Verdict::of(folder, id, &directory, ending);
        attempts.end(verdict.outcome.status, verdict.error().as_deref(), now);
        if let (true, Next::Retry(span)) = (verdict.may_retry, attempts.next(&self.general)) {
            attempts.write_to(&mut task);
            match folder.write(Place::TasksInProgress, id, &task) {
                Ok(()) => {
                    self.set_state(id, State::Waiting(Pause::of(span, now)));
                    return Ok(());
                }
                Err(Fault::Invalid(reason)) => verdict = Verdict::failed(id, &reason),
                Err(other) => return Err(other),
            }
        }
        self.conclude(step, id, &verdict.result(&attempts))
    }

    /// Writes the result; from then on the task is the king's.
    fn conclude(&mut self, step: Step<'_>, id: &Id, result: &Document) -> Result<(), Fault> {
        let Step { folder, now } = step;
        self.announce(folder, now);
        if self.unsaid.iter().any(|update| update.task == *id) {
            return Err(Fault::Invalid("its updates are not written".to_owned()));
        }
        match folder.create(Place::Results, id, result) {
            Err(Fault::Invalid(reason)) => {
                let plain = Verdict::failed(id, &format!("the result cannot be kept: {reason}"));
                folder.create(Place::Results, id, &plain.outcome.document)?;
            }
            other => drop(other?),
        }
        self.held.remove(id);
        self.concluded.insert(id.clone());
        Ok(())
    }

    /// Removes what attempts left of tasks that the king has taken.
    fn tidy(&mut self, folder: &Folder) {
        let is_over = |id: &&Id| !folder.has(Place::TasksInProgress, id);
        let over: Vec<Id> = self.concluded.iter().filter(is_over).cloned().collect();
        for id in over {
            match folder.remove_tree(&directory_of(folder, &id)) {
                Ok(()) => drop(self.concluded.remove(&id)),
                Err(fault) => tracing::warn!(task = %id, %fault, "what an attempt left cannot be removed"),
            }
        }
    }

    /// Finds what attempts left of our tasks that ended while nobody was here.
    fn find_leftovers(&mut self, folder: &Folder) -> Result<(), Fault> {
        let path = folder.path(ATTEMPTS);
        let entries = std::fs::read_dir(&path).map_err(|error| Fault::Io(path.clone(), error))?;
        let names = entries.flatten().map(|entry| entry.file_name());
        for id in names.filter_map(|name| Id::parse(name.to_str()?).ok()) {
            let task = folder.read(Place::TasksCompleted, &id);
            if task.is_ok_and(|task| is_for(&task, &self.general.name)) {
                self.concluded.insert(id);
            }
        }
        Ok(())
    }
}

const REMOTE: &str = "remote";
/// As long as a task may lie before it is looked at (C20).
const PUT_OFF: SignedDuration = SignedDuration::from_secs(10);
