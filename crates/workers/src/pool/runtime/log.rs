//! What the log says of a worker's life.

use super::super::core::{Note, Submitted};

/// Writes a line for people.
pub(super) fn write(note: &Note) {
    match note {
        Note::Away => tracing::warn!("the server does not answer; results are kept, and it is tried again"),
        Note::Back => tracing::info!("the server answers again"),
        Note::Found { worker, last_seen } => {
            tracing::info!(worker, last_seen = last_seen.as_deref(), "the server knows this worker");
        }
        Note::Registered { worker } => tracing::info!(worker, "registered"),
        Note::OtherSlots { theirs } => tracing::warn!(
            theirs,
            "the worker was registered with another number of slots, and is given no more at once than those"
        ),
        Note::KeyReplaced => tracing::info!("the key is replaced"),
        Note::KeyNotReplaced { why } => {
            tracing::error!(%why, "the new key is not in its place; trying again")
        }
        Note::Resumed { assignments } => {
            tracing::info!(assignments, "what was started before and has no result is executed again");
        }
        Note::Unable { assignment, why } => tracing::error!(
            assignment, %why, "this machine cannot execute: nothing more is taken, and it is tried again"
        ),
        Note::Dropped { assignment } => {
            tracing::warn!(
                assignment,
                "the server has this no longer: cancelled, or decided by others; it is ended"
            );
        }
        Note::Refused(refusal) => {
            tracing::warn!(status = refusal.status, detail = %refusal.detail, "a call was refused");
        }
        Note::Taken { assignment, error, how } => taken(*assignment, error.as_deref(), *how),
        Note::SetAside { assignment, refusal } => tracing::error!(
            assignment, status = refusal.status, detail = %refusal.detail,
            "the server refused a result for good; it was set aside: see `muster pool-worker aside`"
        ),
    }
}

fn taken(assignment: u64, error: Option<&str>, how: Submitted) {
    match (how, error) {
        (Submitted::Now, None) => tracing::info!(assignment, "completed"),
        (Submitted::Now, Some(error)) => tracing::warn!(assignment, error = shortened(error), "failed"),
        (Submitted::Before, _) => tracing::info!(assignment, "the server had this result already"),
    }
}

/// One line with both ends of a text: what failed stands at the beginning, and why often at the end.
fn shortened(text: &str) -> String {
    let line: Vec<char> = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    match line.len() {
        0..=SHORT_CHARS_MAX => line.into_iter().collect(),
        length => {
            let (first, last) = (&line[..SHORT_CHARS_MAX / 2], &line[length - SHORT_CHARS_MAX / 2..]);
            first.iter().chain(&[' ', '…', ' ']).chain(last).collect()
        }
    }
}

const SHORT_CHARS_MAX: usize = 200;

#[cfg(test)]
mod tests {
    use super::*;

    /// P16: the log says why an assignment failed, in one line that is not too long.
    #[test]
    fn reasons_are_shortened() {
        assert_eq!(shortened("sh ended with 3:\nno\u{1b}[31m"), "sh ended with 3: no [31m");
        let long = shortened(&format!("sh ended with 3: {}out of memory", "ö".repeat(2_000)));
        assert!(long.starts_with("sh ended with 3: ö") && long.ends_with("öout of memory"), "{long}");
        assert_eq!(long.chars().count(), SHORT_CHARS_MAX + 3);
    }
}
