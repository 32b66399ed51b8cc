//! The court, in one line.

use super::{
    super::{court::Court, paint::Paint},
    KILLED,
};

/// How far the events are, and whether the court is down.
pub(super) fn court_line(paint: Paint, court: &Court) -> String {
    let line = format!("{}  {}", paint.strong("court "), court_words(court));
    match court.down_since() {
        Some(_) => format!("{line}  {}", paint.bad(KILLED)),
        None => line,
    }
}

/// How far the events are, or how long they took.
pub(super) fn court_words(court: &Court) -> String {
    let words = format!("{:>3}/{} events done", court.done(), court.errands().len());
    match court.took() {
        Some(took) => format!("{words}, all over in {:.1} s", took.as_secs_f64()),
        None => words,
    }
}
