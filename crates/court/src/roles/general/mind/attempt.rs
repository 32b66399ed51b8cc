//! One attempt: from a file in `pending/` to its start, and from its end to the next one or to the result (C16).

use super::{GeneralMind, HeldTask, REMOTE, Start, State, Update, directory_of, is_for};
use crate::{
    Document, Fault, Folder, Id, Place, Series,
    bridge::Fleet,
    clock::Pause,
    layout::ATTEMPTS,
    roles::Step,
    roles::general::{
        attempts::{self, Attempts, Cause, Next},
        verdict::{Ending, RESULT_FILE, Verdict},
    },
};

/// A task in progress as it was read, and its attempts so far.
struct Claimed {
    task: Document,
    attempts: Attempts,
}

impl GeneralMind {
    /// Claims a task by one rename, unless this general has it already.
    pub(super) fn take(&mut self, folder: &Folder, id: &Id) -> Result<(), Fault> {
        let Some(rank) = self.backlog.rank(id) else { return Ok(()) };
        if folder.has(Place::TasksInProgress, id) || folder.has(Place::TasksCompleted, id) {
            self.backlog.forget(id);
            return folder.reject(Place::TasksPending, id.file_name().as_ref(), "the task was taken before");
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
    pub(super) fn begin(&mut self, step: Step<'_>, id: &Id) -> Result<Option<Start>, Fault> {
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
        task.set_text("status", "in_progress");
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
    pub(super) fn settle(&mut self, step: Step<'_>) {
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
    pub(super) fn conclude(&mut self, step: Step<'_>, id: &Id, result: &Document) -> Result<(), Fault> {
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
    pub(super) fn tidy(&mut self, folder: &Folder) {
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
    pub(super) fn find_leftovers(&mut self, folder: &Folder) -> Result<(), Fault> {
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
