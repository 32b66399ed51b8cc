//! What people read of tasks.

use crate::{
    Document, Id,
    file::{NewTask, Outcome, OutcomeStatus},
};

/// A task begins.
pub(super) fn begun(task: &NewTask, id: &Id, event: &Document) -> String {
    let about = event.text("repo").map(|repo| format!(" · {}", shortened(&repo))).unwrap_or_default();
    format!("📋 {id} · {}{about} → {}", shortened(&task.kind), task.general)
}

/// A task begins by the clock.
pub(super) fn begun_by_schedule(task: &NewTask, id: &Id) -> String {
    format!("⏰ {id} · {} ({}) → {}", shortened(&task.kind), task.event_id, task.general)
}

/// A task ended (C14).
pub(super) fn ended(id: &Id, outcome: &Outcome) -> String {
    let text =
        |key: &str| outcome.document.text(key).filter(|text| !text.is_empty()).map(|text| shortened(&text));
    let (sign, more) = match outcome.status {
        OutcomeStatus::Success => ("✅", None),
        OutcomeStatus::Failed | OutcomeStatus::Killed => ("❌", text("error")),
        OutcomeStatus::Skipped => ("⏭️", text("reason")),
        OutcomeStatus::NeedsHuman => ("❓", text("question")),
    };
    let parts = [text("summary"), more].into_iter().flatten();
    parts.fold(format!("{sign} {id}"), |line, part| format!("{line}\n{part}"))
}

/// As much of a text as people read.
pub(super) fn shortened(text: &str) -> String {
    match text.char_indices().nth(CHARS_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

const CHARS_MAX: usize = 3000;
