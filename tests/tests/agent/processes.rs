//! What of a task is in the process table.

use std::fs;

/// The command lines of everything that runs with the environment of an attempt of a task, its guard included.
///
/// A program may fork, `setsid` and change its name: its environment goes with it.
pub(crate) fn of_attempt(task: &str, attempt: u32) -> Vec<String> {
    let (task, attempt) = (format!("MUSTER_TASK_ID={task}"), format!("MUSTER_ATTEMPT={attempt}"));
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        // Whoever has ended meanwhile has no environment any more, and neither has one that is only not yet reaped.
        let environment = fs::read(entry.path().join("environ")).unwrap_or_default();
        let has =
            |variable: &str| environment.split(|byte| *byte == 0).any(|found| found == variable.as_bytes());
        if has(&task) && has(&attempt) {
            let command = fs::read(entry.path().join("cmdline")).unwrap_or_default();
            found.push(String::from_utf8_lossy(&command).replace('\0', " "));
        }
    }
    found
}
