//! Compares what the court's files say with the events that were handed in, with what people got to read, and with what the
//! server was asked to do: each event once, however often the court died.

use super::{
    super::{
        court::{CourtLoss, CourtRest, Errand, TaskFile},
        paint::grouped,
    },
    Finding, bad, counted, good,
};
use std::collections::{BTreeMap, BTreeSet};

/// What is compared.
#[derive(Clone)]
pub(in super::super) struct CourtEvidence<'a> {
    pub(in super::super) errands: &'a [Errand],
    pub(in super::super) losses: &'a [CourtLoss],
    /// The demo was asked to stop before it could kill the court.
    pub(in super::super) was_spared: bool,
    pub(in super::super) rest: &'a CourtRest,
    /// What the server was handed by others than the demo: the kind, and the id.
    pub(in super::super) others: BTreeSet<(String, String)>,
}

impl CourtEvidence<'_> {
    pub(super) fn findings(&self) -> Vec<Finding> {
        let checks = [
            self.events_done_once(),
            self.ends_told_once(),
            self.handed_over_once(),
            self.death_made_good(),
            self.at_rest(),
        ];
        checks.into_iter().map(|check| check.map_or_else(bad, good)).collect()
    }

    /// How many things of a kind the server was to be handed.
    pub(in super::super) fn count_of(&self, executor: &str) -> usize {
        self.errands.iter().filter(|errand| errand.general.executor == executor).count()
    }

    /// C8, C13: each event became one task, which ended once and well.
    fn events_done_once(&self) -> Result<String, String> {
        let record = &self.rest.record;
        for errand in self.errands {
            let id = errand.id();
            let tasks: Vec<&TaskFile> = record.tasks.iter().filter(|task| task.event == id).collect();
            let [task] = tasks.as_slice() else {
                return Err(format!("the event {id} has {} tasks that are over, not one", tasks.len()));
            };
            let result = record.results.get(&task.id).map_or("missing", String::as_str);
            if (task.status.as_str(), result) != ("completed", "success") {
                return Err(format!(
                    "the result of {} for {id} is {result}, its task {}",
                    task.id, task.status
                ));
            }
            if !record.events.contains(&id) {
                return Err(format!("the event {id} is not over"));
            }
        }
        let counts = [record.events.len(), record.tasks.len(), record.results.len()];
        if counts.iter().any(|count| *count != self.errands.len()) {
            return Err(format!(
                "{} events, and {counts:?} events, tasks and results kept",
                self.errands.len()
            ));
        }
        Ok(format!(
            "{} of the court: one task, one result and success each",
            counted(self.errands.len() as u64, "event", "events")
        ))
    }

    /// C14, C18: the end of each task was told by one message, and every message was posted. Of those that were posted when
    /// the court died, one may have been posted again.
    fn ends_told_once(&self) -> Result<String, String> {
        let CourtRest { record, posts, .. } = self.rest;
        for task in &record.tasks {
            let told = record.sent.values().filter(|about| about.as_ref() == Some(&task.id)).count();
            if told != 1 {
                return Err(format!("people were told {told} times that {} is over", task.id));
            }
        }
        let mut posted: BTreeMap<&str, usize> = BTreeMap::new();
        posts.iter().for_each(|id| *posted.entry(id).or_default() += 1);
        if let Some(lost) = record.sent.keys().find(|id| !posted.contains_key(id.as_str())) {
            return Err(format!("the message {lost} counts as sent, and nobody got it"));
        }
        let repeats = posts.len() - posted.len();
        if posted.len() != record.sent.len() || repeats > self.losses.len() {
            return Err(format!("{} messages were posted {} times", record.sent.len(), posts.len()));
        }
        Ok(format!(
            "{} messages of the court were posted, {} of them the ends of its tasks, {repeats} repeated by the kill",
            grouped(record.sent.len() as u64),
            record.tasks.len()
        ))
    }

    /// C17: each task of a fleet is one run, one session or one job of the server.
    fn handed_over_once(&self) -> Result<String, String> {
        let mut known: BTreeSet<&(String, String)> = BTreeSet::new();
        for task in &self.rest.record.tasks {
            for remote in &task.remote {
                if task.remote.len() > 1 || !known.insert(remote) {
                    return Err(format!("{} is {:?} at the server", task.id, task.remote));
                }
            }
        }
        let strangers: Vec<_> = self.others.iter().filter(|other| !known.contains(other)).collect();
        if !strangers.is_empty() || known.len() != self.others.len() {
            return Err(format!(
                "the court knows of {} of the {} things that the server was handed for it; unknown: {strangers:?}",
                known.len(),
                self.others.len()
            ));
        }
        let counts = ["run", "session", "job"].map(|kind| self.count_of(kind));
        if counts.iter().sum::<usize>() != known.len() {
            return Err(format!(
                "{counts:?} runs, sessions and jobs were to be handed over, {} were",
                known.len()
            ));
        }
        let [runs, sessions, jobs] = counts.map(|count| count as u64);
        Ok(format!(
            "the court's tasks are {}, {} and {} of the server, each handed over once",
            counted(runs, "run", "runs"),
            counted(sessions, "session", "sessions"),
            counted(jobs, "job", "jobs")
        ))
    }

    /// C6, C16: what was under way when the court died was taken up by its next life.
    fn death_made_good(&self) -> Result<String, String> {
        let interrupted: usize = self.rest.record.tasks.iter().map(|task| task.interrupted).sum();
        match self.losses.iter().find(|loss| loss.held > 0) {
            Some(loss) => Ok(format!(
                "the court was killed with {} under way (kill -9): its next life took them up, {} began anew",
                counted(loss.held as u64, "task", "tasks"),
                counted(interrupted as u64, "soldier", "soldiers")
            )),
            None if self.errands.is_empty() || self.was_spared => {
                Ok("the court was not killed this time".to_owned())
            }
            None => Err("the court was not killed at work".to_owned()),
        }
    }

    /// C2, C12: nothing is left under way, nothing was given up or refused.
    fn at_rest(&self) -> Result<String, String> {
        match (&self.rest.unwell, self.rest.record.leftovers.first()) {
            (Some(unwell), _) => Err(unwell.clone()),
            (None, Some(first)) => Err(format!("the court left {first}")),
            (None, None) => Ok("the court ended on request, nothing under way, nothing refused".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests;
