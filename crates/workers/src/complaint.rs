//! What is said of a program that failed.

use muster_worker_kit::process::ProcessEnd;

/// Names the program and no word more, for the others may be secret, with the end of what it complained of.
pub(crate) fn complaint(argv: &[String], code: i32, end: &ProcessEnd) -> String {
    let said = String::from_utf8_lossy(&end.stderr);
    let said = said.trim();
    let skipped = said.chars().count().saturating_sub(CHARS_MAX);
    let last: String = said.chars().skip(skipped).collect();
    format!("{} ended with {code}: {last}", name(argv)).trim_end_matches(": ").to_owned()
}

/// What a program is called.
pub(crate) fn name(argv: &[String]) -> &str {
    argv.first().map_or("", String::as_str)
}

/// Enough to see what went wrong.
const CHARS_MAX: usize = 2_000;
