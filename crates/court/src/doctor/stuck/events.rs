//! Events that wait, and events whose task is lost.

use super::{Findings, NO_KING, PATIENCE, START_KING, Stuck, Suspect, Visit};
use crate::{Document, Fault, Id, Kind, Place, file::Priority, roles::chamberlain::Colour};

impl Visit<'_> {
    pub(super) fn events(&self, findings: &mut Findings) -> Result<(), Fault> {
        for place in [Place::EventsPending, Place::EventsDispatched] {
            for (id, since) in self.suspects(place, PATIENCE)? {
                let suspect = Suspect { what: "event", place, id: &id, since };
                let Some(event) = self.read(&suspect, findings) else { continue };
                let misplaced = self.misplaced(&suspect, &event);
                let lost = || match place {
                    Place::EventsPending => Some(self.waiting(&suspect, &event)),
                    _ => self.unfinished(&suspect, &event),
                };
                findings.stuck.extend(misplaced.or_else(lost));
            }
        }
        findings.notes.extend(self.held_back()?);
        Ok(())
    }

    /// How many events wait for the host alone: whoever has just handed one in wants to know at once.
    fn held_back(&self) -> Result<Option<String>, Fault> {
        if self.colour == Colour::Green {
            return Ok(None);
        }
        let pending = self.folder.listed(Place::EventsPending)?.into_iter();
        let events = pending.filter_map(|id| self.folder.read(Place::EventsPending, &id).ok());
        let waiting = events.filter(|event| !is_begun(event) && !self.colour.accepts(Priority::of(event)));
        let count = waiting.count();
        Ok((count > 0).then(|| {
            let word = self.colour.word();
            format!("{count} events wait because the host's health is {word}; {LIMITS}")
        }))
    }

    /// Why an event still waits for the king.
    fn waiting(&self, suspect: &Suspect<'_>, event: &Document) -> Stuck {
        let priority = Priority::of(event);
        if !self.is_running("king") {
            return suspect.stuck(NO_KING, START_KING);
        }
        if is_begun(event) || self.colour.accepts(priority) {
            return suspect
                .stuck("the king has not taken it up", "look into the king's log, and start it again");
        }
        if !self.is_running("chamberlain") && self.colour == Colour::Orange {
            let why = "nobody has looked at the host for two minutes, so nothing is taken up";
            return suspect.stuck(why, "start `muster court chamberlain`, or `muster court run`");
        }
        let why = format!(
            "the host's health is {}, so events of {} priority wait",
            self.colour.word(),
            priority.word()
        );
        suspect.stuck(why, format!("see state/resources.json for what is scarce; {LIMITS}"))
    }

    /// Why an event that was dispatched can never be completed, if so; that its task takes long is the task's matter.
    fn unfinished(&self, suspect: &Suspect<'_>, event: &Document) -> Option<Stuck> {
        let restart =
            if self.is_running("king") { "start the king again: it finishes this first" } else { START_KING };
        if event.has("outcome") {
            return Some(suspect.stuck("it is over, but was not moved to completed", restart));
        }
        let task = event.object("dispatch").and_then(|plan| plan.text("task_id"));
        let Some(task) = task.and_then(|task| Id::parse(&task).ok()) else {
            return Some(suspect.stuck("it names no task", BACK_TO_PENDING));
        };
        match self.folder.find(Kind::Task, &task) {
            None => Some(suspect.stuck(format!("its task {task} is nowhere"), BACK_TO_PENDING)),
            Some(Place::TasksCompleted) if self.folder.has(Place::EventsDispatched, suspect.id) => {
                Some(suspect.stuck(format!("its task {task} is over, but the event is not"), restart))
            }
            Some(_) => None,
        }
    }
}

/// What was begun is finished, and answers of people are taken up, whatever the host's health.
pub(in crate::doctor) fn is_begun(event: &Document) -> bool {
    let is_reply = event.text("type").as_deref() == Some("slack.thread.reply");
    event.has("dispatch") || event.has("outcome") || is_reply
}

const LIMITS: &str =
    "the limits are in [chamberlain] of court.toml, and without obey_health in [king] no event waits";
const BACK_TO_PENDING: &str = "move the file back to queue/events/pending: the king then makes its task";
