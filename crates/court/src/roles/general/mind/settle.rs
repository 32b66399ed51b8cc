//! From the end of an attempt to the next one, or to the result (C16).

use super::{GeneralMind, Held, State, directory_of};
use crate::{
    Fault, Folder, Id, Place,
    layout::ATTEMPTS,
    roles::{
        general::{
            attempts::{Attempts, Next},
            backlog::is_for,
            verdict::{Ending, Verdict},
        },
        pause::Pause,
    },
};
use jiff::Timestamp;

impl GeneralMind {
    /// Deals with the attempts that have ended.
    pub(super) fn settle(&mut self, folder: &Folder, now: Timestamp) {
        let ended = |(id, held): (&Id, &Held)| match &held.state {
            State::Ended(ending) => Some((id.clone(), ending.clone())),
            _ => None,
        };
        let ended: Vec<(Id, Ending)> = self.held.iter().filter_map(ended).collect();
        for (id, ending) in ended {
            if let Err(fault) = self.judge(folder, (&id, &ending), now) {
                tracing::warn!(task = %id, %fault, "the end of an attempt cannot be recorded yet");
            }
        }
    }

    fn judge(&mut self, folder: &Folder, (id, ending): (&Id, &Ending), now: Timestamp) -> Result<(), Fault> {
        let Some(mut task) = folder.read_or_reject(Place::TasksInProgress, id)? else {
            self.held.remove(id);
            return Ok(());
        };
        let mut attempts = Attempts::of(&task);
        let directory = directory_of(folder, id).join(attempts.last_number().to_string());
        let mut verdict = Verdict::of(folder, id, (&directory, ending));
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
        self.conclude(folder, (id, &verdict, &attempts), now)
    }

    /// Writes the result; from then on the task is the king's.
    pub(super) fn conclude(
        &mut self,
        folder: &Folder,
        (id, verdict, attempts): (&Id, &Verdict, &Attempts),
        now: Timestamp,
    ) -> Result<(), Fault> {
        self.announce(folder, now);
        if self.unsaid.iter().any(|(task, ..)| task == id) {
            return Err(Fault::Invalid("its updates are not written".to_owned()));
        }
        let mut result = verdict.outcome.document.clone();
        attempts.write_to(&mut result);
        match folder.create(Place::Results, id, &result) {
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
