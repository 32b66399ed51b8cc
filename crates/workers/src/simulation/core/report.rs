//! S5, S5b: results, told until the master has them or says that it never will.

use super::{
    Action, Core, Loss, Note, Refusal, Report, Trouble,
    beat::GONE,
    held::{Outgoing, Phase},
    link::BACKOFF,
};
use muster_model::Timestamp;

impl Core {
    /// A result was answered, or was not.
    pub fn sent(&mut self, work: u64, answer: Result<(), Trouble>, now: Timestamp) {
        self.fence(now);
        let Some(held) = self.works.get_mut(&work) else { return self.settle(now) };
        let Phase::Reporting(outgoing) = &mut held.phase else { return self.settle(now) };
        outgoing.is_on_its_way = false;
        match answer {
            Ok(()) => {
                let report = outgoing.report.clone();
                self.drop_work(work);
                self.note(Note::Taken(report));
            }
            Err(Trouble::NoAnswer(asked)) => {
                outgoing.tries = outgoing.tries.saturating_add(1);
                outgoing.next_at = now + BACKOFF.patience(outgoing.tries, asked);
            }
            Err(Trouble::Unauthorized) => self.lose(Loss::Unknown, now),
            Err(Trouble::Refused(refusal)) if refusal.status == GONE => self.removed(refusal, now),
            Err(Trouble::Refused(refusal)) => self.refused(work, refusal, now),
        }
        self.settle(now);
    }

    /// Sends what is due. A failure waits for the progress before it, so that they arrive in this order.
    pub(super) fn hand_in(&mut self, now: Timestamp) {
        for (work, held) in &mut self.works {
            let waits = held.awaits_progress();
            let Phase::Reporting(outgoing) = &mut held.phase else { continue };
            if !waits && !outgoing.is_on_its_way && outgoing.next_at <= now {
                outgoing.is_on_its_way = true;
                self.actions.push_back(Action::Send { work: *work, report: outgoing.report.clone() });
            }
        }
    }

    /// A master that finds fault with a result still counts the task as held here: it is told that it failed.
    fn refused(&mut self, work: u64, refusal: Refusal, now: Timestamp) {
        let Some(held) = self.works.get_mut(&work) else { return };
        let Phase::Reporting(outgoing) = &mut held.phase else { return };
        let report = outgoing.report.clone();
        let is_fault = FAULTS.contains(&refusal.status) && matches!(report, Report::Complete { .. });
        if is_fault {
            let error = format!("the completion was refused: {} {}", refusal.status, refusal.detail);
            let (task, attempt) = (held.task.id.clone(), held.task.attempt);
            let report = Report::Fail { task, attempt, error: error.into() };
            *outgoing = Outgoing { report, tries: 0, next_at: now, is_on_its_way: false };
        } else {
            self.drop_work(work);
        }
        self.note(Note::GivenUp { report, refusal });
    }
}

/// Answers that say: not like this.
const FAULTS: [u16; 3] = [400, 413, 422];
