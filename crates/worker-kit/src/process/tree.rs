//! Who descends from whom, as `/proc` tells it.

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use std::{collections::BTreeSet, fs, io};

/// A process at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Process {
    pub(super) pid: i32,
    pub(super) parent: i32,
    group: i32,
    /// It has ended and only waits to be reaped.
    pub(super) is_zombie: bool,
}

/// Lists everything that descends from a process, without itself.
///
/// Processes come and go while `/proc` is read, so whoever wants to end them all must look again.
pub(super) fn descendants(ancestor: Pid) -> io::Result<Vec<Process>> {
    let mut others = all()?;
    let mut family = BTreeSet::from([ancestor.as_raw_pid()]);
    let mut found = Vec::new();
    loop {
        let (children, rest): (Vec<_>, Vec<_>) =
            others.into_iter().partition(|process: &Process| family.contains(&process.parent));
        if children.is_empty() {
            return Ok(found);
        }
        family.extend(children.iter().map(|process| process.pid));
        found.extend(children);
        others = rest;
    }
}

/// Kills processes, and groups that one of them leads as a whole, so that none of a group forks away meanwhile.
pub(super) fn kill(processes: &[Process], program: Option<Pid>) {
    let mut leaders: BTreeSet<i32> = processes.iter().map(|process| process.pid).collect();
    leaders.extend(program.map(Pid::as_raw_pid));
    for process in processes {
        // A process may have joined a group of strangers, even the agent's: that one is not ours to kill.
        if let Some(group) = Pid::from_raw(process.group).filter(|_| leaders.contains(&process.group)) {
            let _ = kill_process_group(group, Signal::KILL);
        }
        if let Some(pid) = Pid::from_raw(process.pid) {
            let _ = kill_process(pid, Signal::KILL);
        }
    }
}

fn all() -> io::Result<Vec<Process>> {
    let entries = fs::read_dir("/proc")?.flatten();
    let numbered =
        entries.filter(|entry| entry.file_name().as_encoded_bytes().first().is_some_and(u8::is_ascii_digit));
    let stats = numbered.filter_map(|entry| fs::read_to_string(entry.path().join("stat")).ok());
    Ok(stats.filter_map(|stat| parse(&stat)).collect())
}

/// Reads `/proc/PID/stat`. The program's name stands in parentheses and may itself hold some, and spaces.
fn parse(stat: &str) -> Option<Process> {
    let (head, tail) = stat.rsplit_once(')')?;
    let pid = head.split_once(' ')?.0.parse().ok()?;
    let mut fields = tail.split_whitespace();
    let is_zombie = matches!(fields.next()?, "Z" | "X");
    let (parent, group) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
    Some(Process { pid, parent, group, is_zombie })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// N18: a program cannot hide behind its name.
    #[test]
    fn names_with_parentheses_are_read() {
        let process = Process { pid: 42, parent: 7, group: 40, is_zombie: false };
        assert_eq!(parse("42 (a) Z 1 (x)) S 7 40 40 0 -1 4194560 1 0"), Some(process));
        assert_eq!(parse("42 (a) Z 7 40 40 0"), Some(Process { is_zombie: true, ..process }));
        assert_eq!(parse("nonsense"), None);
        assert_eq!(parse("42 (cut) S 7"), None);
    }
}
