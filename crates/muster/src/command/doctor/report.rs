//! What was found, and how it is told.

use crate::{failure::Exit, output};
use serde_json::{Value, json};

/// Everything that was looked at, in order.
#[derive(Debug, Default)]
pub(super) struct Report(Vec<Check>);

/// One thing that was looked at.
#[derive(Debug)]
struct Check {
    name: &'static str,
    verdict: Verdict,
    says: String,
    /// What to do about it; empty where nothing is to be done.
    todo: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Ok,
    Warn,
    Fail,
    /// Failed because nobody answers.
    Unreachable,
}

impl Verdict {
    const fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warn => "warn",
            Self::Fail | Self::Unreachable => "fail",
        }
    }

    const fn is_failure(self) -> bool {
        matches!(self, Self::Fail | Self::Unreachable)
    }
}

impl Report {
    pub(super) fn fine(&mut self, name: &'static str, says: String) {
        self.add(name, Verdict::Ok, (says, ""));
    }

    pub(super) fn doubtful(&mut self, name: &'static str, says: String, todo: &str) {
        self.add(name, Verdict::Warn, (says, todo));
    }

    pub(super) fn bad(&mut self, name: &'static str, says: String, todo: &str) {
        self.add(name, Verdict::Fail, (says, todo));
    }

    pub(super) fn unreachable(&mut self, name: &'static str, says: String, todo: &str) {
        self.add(name, Verdict::Unreachable, (says, todo));
    }

    fn add(&mut self, name: &'static str, verdict: Verdict, (says, todo): (String, &str)) {
        self.0.push(Check { name, verdict, says, todo: todo.to_owned() });
    }

    /// 0 unless something failed; 3 when that is only that nobody answers (I4).
    pub(super) fn exit(&self) -> Exit {
        let mut failures = self.0.iter().map(|check| check.verdict).filter(|verdict| verdict.is_failure());
        match failures.next() {
            None => Exit::Fine,
            Some(first)
                if [first].into_iter().chain(failures).all(|verdict| verdict == Verdict::Unreachable) =>
            {
                Exit::Unreachable
            }
            Some(_) => Exit::Failed,
        }
    }

    pub(super) fn print(&self, json: bool, is_quiet: bool) {
        if json {
            return output::document(&self.document());
        }
        for check in self.0.iter().filter(|check| !is_quiet || check.verdict != Verdict::Ok) {
            output::line(&check.line());
        }
    }

    fn document(&self) -> Value {
        let check = |check: &Check| {
            let todo = Some(&check.todo).filter(|todo| !todo.is_empty());
            json!({"check": check.name, "verdict": check.verdict.word(), "says": check.says, "todo": todo})
        };
        json!({"ok": self.exit() == Exit::Fine, "checks": self.0.iter().map(check).collect::<Vec<_>>()})
    }
}

impl Check {
    fn line(&self) -> String {
        let says = self.says.replace(char::is_control, " ");
        let todo = if self.todo.is_empty() {
            String::new()
        } else {
            format!("\n                       → {}", self.todo)
        };
        format!("{:<5} {:<16} {says}{todo}", self.verdict.word(), self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exit(fill: impl FnOnce(&mut Report)) -> Exit {
        let mut report = Report::default();
        report.fine("a", String::new());
        fill(&mut report);
        report.exit()
    }

    /// I4: 0 when nothing failed, 3 when only nobody answers, else 1.
    #[test]
    fn the_exit_code_is_that_of_the_worst() {
        assert_eq!(exit(|report| report.doubtful("b", String::new(), "")), Exit::Fine);
        assert_eq!(exit(|report| report.unreachable("b", String::new(), "")), Exit::Unreachable);
        assert_eq!(exit(|report| report.bad("b", String::new(), "")), Exit::Failed);
        let both = |report: &mut Report| {
            report.unreachable("b", String::new(), "");
            report.bad("c", String::new(), "");
        };
        assert_eq!(exit(both), Exit::Failed);
    }

    #[test]
    fn a_line_says_what_to_do() {
        let check = Check {
            name: "disk",
            verdict: Verdict::Warn,
            says: "1 GiB\u{1b} free".to_owned(),
            todo: "make room".to_owned(),
        };
        assert_eq!(check.line(), "warn  disk             1 GiB  free\n                       → make room");
    }
}
