//! Tasks that nobody does, and tasks that take longer than they may.

use super::{Findings, NO_KING, PATIENCE, START_KING, Stuck, Suspect, Visit, general_role, written};
use crate::{
    Document, Fault, Id, Place,
    config::{General, seconds},
    file::instant,
    layout::ATTEMPTS,
};
use jiff::{SignedDuration, Timestamp};
use std::collections::BTreeMap;

/// Number of running tasks by general.
pub(in crate::doctor) type Busy = BTreeMap<String, usize>;

impl Visit<'_> {
    pub(super) fn tasks(&self, findings: &mut Findings) -> Result<(), Fault> {
        let busy = self.in_progress(findings)?;
        self.pending(&busy, findings)
    }

    fn pending(&self, busy: &Busy, findings: &mut Findings) -> Result<(), Fault> {
        let mut in_line: Busy = Busy::new();
        for (id, since) in self.suspects(Place::TasksPending, PATIENCE)? {
            let suspect = Suspect { what: "task", place: Place::TasksPending, id: &id, since };
            let Some(task) = self.read(&suspect, findings) else { continue };
            let misplaced = self.misplaced(&suspect, &task);
            if let Some(stuck) = misplaced.or_else(|| self.without_general(&suspect, &task)) {
                findings.stuck.push(stuck);
                continue;
            }
            let name = task.text("target_general").unwrap_or_default();
            if self.has_free_soldier(&name, busy) {
                let why = format!("the general {name} has a soldier free and has not taken it");
                findings.stuck.push(suspect.stuck(why, "look into the general's log, and start it again"));
            } else {
                *in_line.entry(name).or_default() += 1;
            }
        }
        let note = |(name, count): (String, usize)| {
            format!("{count} tasks wait until the general {name} has a soldier free")
        };
        findings.notes.extend(in_line.into_iter().map(note));
        Ok(())
    }

    pub(in crate::doctor) fn in_progress(&self, findings: &mut Findings) -> Result<Busy, Fault> {
        let (mut busy, mut resting) = (Busy::new(), Vec::new());
        for (id, since) in self.suspects(Place::TasksInProgress, SignedDuration::MIN)? {
            let suspect = Suspect { what: "task", place: Place::TasksInProgress, id: &id, since };
            let Some(task) = self.read(&suspect, findings) else { continue };
            findings.stuck.extend(self.overdue(&suspect, &task));
            let name = task.text("target_general").unwrap_or_default();
            match Stage::of(&task, self.folder.has(Place::Results, &id)) {
                Stage::Running => *busy.entry(name).or_default() += 1,
                Stage::Resting => resting.push((id, since, task)),
                Stage::Ended => findings.stuck.extend(self.unclosed(&suspect)),
            }
        }
        for (id, since, task) in resting {
            let suspect = Suspect { what: "task", place: Place::TasksInProgress, id: &id, since };
            findings.stuck.extend(self.not_taken_up(&suspect, &task, &busy));
        }
        Ok(busy)
    }

    /// A task that ended, and that the king has not heard of.
    fn unclosed(&self, suspect: &Suspect<'_>) -> Option<Stuck> {
        let since = written(&self.folder.file(Place::Results, suspect.id));
        if !self.is_late(since, PATIENCE) || !self.folder.has(Place::TasksInProgress, suspect.id) {
            return None;
        }
        let suspect = Suspect { since, ..*suspect };
        Some(if self.is_running("king") {
            suspect.stuck(
                "its result is there, and the king has not closed it",
                "look into the king's log, and start it again",
            )
        } else {
            suspect.stuck(format!("its result is there, and {NO_KING}"), START_KING)
        })
    }

    /// A task under way that has no general any more, or has shown no sign of life for longer than it may.
    fn overdue(&self, suspect: &Suspect<'_>, task: &Document) -> Option<Stuck> {
        if self.folder.has(Place::Results, suspect.id) || !self.is_late(suspect.since, PATIENCE) {
            return None;
        }
        let faulty = self.misplaced(suspect, task).or_else(|| self.without_general(suspect, task));
        faulty.or_else(|| {
            let general = self.court.generals.get(&task.text("target_general")?)?;
            let sign = self.silent_since(suspect.id, &running(task)?, general)?;
            let why =
                format!("its soldier has shown no sign of life for longer than {} s", general.limit_s());
            let suspect = Suspect { since: Some(sign), ..*suspect };
            Some(suspect.stuck(why, "start its general again: the task is then taken up anew"))
        })
    }

    /// Since when the soldier of an attempt has been silent, if that is longer than it may be.
    pub(in crate::doctor) fn silent_since(
        &self,
        id: &Id,
        attempt: &Document,
        general: &General,
    ) -> Option<Timestamp> {
        let sign = self.sign_of_life(id, attempt)?;
        let limit = span(general.limit_s()).saturating_add(PATIENCE);
        self.is_late(Some(sign), limit).then_some(sign)
    }

    /// A task between two attempts whose time for the next has come.
    fn not_taken_up(&self, suspect: &Suspect<'_>, task: &Document, busy: &Busy) -> Option<Stuck> {
        let name = task.text("target_general")?;
        let general = self.court.generals.get(&name)?;
        let since = task
            .objects("attempts")
            .last()
            .and_then(|last| instant(&last.text("ended_at")?))
            .or(suspect.since);
        let is_late = self.is_late(since, longest_pause(general, task).saturating_add(PATIENCE));
        if !is_late || !self.is_running(&general_role(&name)) || !self.has_free_soldier(&name, busy) {
            return None;
        }
        let why = "its next attempt is due, and its general has not begun it";
        Some(Suspect { since, ..*suspect }.stuck(why, "look into the general's log, and start it again"))
    }

    fn without_general(&self, suspect: &Suspect<'_>, task: &Document) -> Option<Stuck> {
        let name = task.text("target_general").unwrap_or_default();
        if !self.court.generals.contains_key(&name) {
            let next = format!(
                "write generals/{name}.toml and start the general; or remove the file, if nobody wants it done"
            );
            return Some(suspect.stuck(format!("this court has no general {name}"), next));
        }
        let next = format!("start `muster court general {name}`, or `muster court run`");
        let is_running = self.is_running(&general_role(&name));
        (!is_running).then(|| suspect.stuck(format!("the general {name} is not running"), next))
    }

    pub(in crate::doctor) fn has_free_soldier(&self, general: &str, busy: &Busy) -> bool {
        let soldiers = self.court.generals.get(general).map_or(0, |general| general.max_soldiers);
        busy.get(general).copied().unwrap_or(0) < soldiers
    }

    /// Time of the soldier's last sign of life; its start counts.
    fn sign_of_life(&self, id: &Id, attempt: &Document) -> Option<Timestamp> {
        let number = attempt.number("attempt").unwrap_or_default().to_string();
        let directory = self.folder.path(ATTEMPTS).join(id.as_str()).join(number);
        let begun = attempt.text("started_at").and_then(|text| instant(&text));
        let taken = written(&self.folder.file(Place::TasksInProgress, id));
        begun.max(written(&directory.join("heartbeat"))).max(taken)
    }
}

/// The stage of a task in progress.
enum Stage {
    Running,
    Resting,
    Ended,
}

impl Stage {
    fn of(task: &Document, has_result: bool) -> Self {
        match (has_result, running(task)) {
            (true, _) => Self::Ended,
            (false, Some(_)) => Self::Running,
            (false, None) => Self::Resting,
        }
    }
}

pub(in crate::doctor) fn running(task: &Document) -> Option<Document> {
    task.objects("attempts").pop().filter(|last| last.text("status").as_deref() == Some("running"))
}

/// Longer than any pause before a next attempt can be: it doubles with each.
fn longest_pause(general: &General, task: &Document) -> SignedDuration {
    let attempts = i32::try_from(task.objects("attempts").len()).unwrap_or(i32::MAX);
    span(general.retry_after_s * 2f64.powi(attempts))
}

fn span(length_s: f64) -> SignedDuration {
    SignedDuration::try_from(seconds(length_s)).unwrap_or(SignedDuration::MAX)
}
