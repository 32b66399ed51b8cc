//! What the log says of a worker's life.

use super::super::core::{Loss, Note, Report, Trouble};

/// Writes a line for people.
pub(super) fn write(note: &Note) {
    match note {
        Note::Registered { epoch } => tracing::info!(epoch, "registered"),
        Note::NotRegistered(trouble) => not_registered(trouble),
        Note::StaleMaster { epoch } => tracing::warn!(
            epoch,
            "a master of an older epoch answered and is not obeyed; if its store was replaced, start the worker anew"
        ),
        Note::Lost(loss) => {
            tracing::warn!("{}; what was held is stopped, and the worker registers anew", why(*loss))
        }
        Note::State(state) => tracing::info!(%state, "the master says how the worker stands"),
        Note::Paced(pace) => tracing::info!(factor = pace.value(), "the master sets the pace"),
        Note::NotTaken { task, why } => {
            tracing::warn!(task = task.as_deref().unwrap_or("-"), %why, "a task is not done here");
        }
        Note::Stopping { task } => {
            tracing::info!(%task, "the task is no longer this worker's: it is stopped")
        }
        Note::Taken(Report::Complete { task, .. }) => tracing::info!(%task, "completed"),
        Note::Taken(Report::Fail { task, error, .. }) => tracing::warn!(%task, %error, "failed"),
        Note::GivenUp { report, refusal } => {
            let (Report::Complete { task, .. } | Report::Fail { task, .. }) = report;
            tracing::warn!(%task, status = refusal.status, detail = %refusal.detail,
                "the master did not take the result; it is given up");
        }
    }
}

fn not_registered(trouble: &Trouble) {
    match trouble {
        Trouble::NoAnswer(_) => tracing::warn!("no answer to a registration; trying again"),
        Trouble::Unauthorized => tracing::warn!("the enrolment secret is not taken any more; trying again"),
        Trouble::Refused(refusal) => {
            tracing::warn!(status = refusal.status, detail = %refusal.detail, "registration refused; trying again");
        }
    }
}

const fn why(loss: Loss) -> &'static str {
    match loss {
        Loss::Unreachable => "the master does not answer",
        Loss::Stalled => "the worker was asleep for too long",
        Loss::Ordered => "the master gave the worker up",
        Loss::Unknown => "the master does not know the token: another worker of this name, or another store",
    }
}
