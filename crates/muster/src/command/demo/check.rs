//! Compares the server's tables with the plan and with what became of the agents: nothing lost, nothing doubled.

mod court;
mod cuts;
mod frames;
mod pool;
mod rows;
mod trail;

use super::{
    conductor::Performed,
    fleet::{Crash, Cut, Rest},
    ledger::{Ledger, TaskDevice},
    paint::grouped,
    plan::Plan,
};
pub(super) use court::CourtEvidence;
pub(super) use frames::FrameEvidence;
pub(super) use pool::PoolEvidence;
use rows::{Comparison, Trails};
use std::collections::BTreeMap;

/// One thing that was looked at.
#[derive(Debug)]
pub(super) struct Finding {
    pub(super) is_good: bool,
    pub(super) says: String,
}

/// What is compared.
pub(super) struct Evidence<'a> {
    pub(super) plan: Plan,
    pub(super) runs: &'a [Performed],
    pub(super) ledger: &'a Ledger,
    pub(super) crashes: &'a [Crash],
    pub(super) cuts: &'a [Cut],
    pub(super) rest: &'a Rest,
    pub(super) returned: &'a [String],
    pub(super) frames: FrameEvidence<'a>,
    pub(super) pool: PoolEvidence<'a>,
    pub(super) court: CourtEvidence<'a>,
}

impl Evidence<'_> {
    pub(super) fn findings(&self) -> Vec<Finding> {
        let trails = Trails::of(self.ledger);
        let mut findings = vec![
            self.rows_as_planned(&trails),
            self.runs_as_planned(),
            self.nothing_open(),
            self.attempts_ended_once(&trails),
            self.reported_in_order(&trails),
            self.reports_recorded_once(),
            self.interruptions_made_good(),
            self.cuts_made_good(),
            self.devices_back(),
            self.no_alert(),
            self.agents_at_rest(),
        ];
        findings.extend(self.frames.findings());
        findings.extend(self.pool.findings());
        findings.extend(self.court.findings());
        findings
    }

    /// Q1, Q5, Q10, Q11, N22b: each device of each finished run has one row, ended as planned after as many attempts.
    fn rows_as_planned(&self, trails: &Trails<'_>) -> Finding {
        let wrong: Vec<String> = self.compare(trails).flat_map(|run| run.wrong_rows()).collect();
        let rows: usize = self.ledger.rows.values().map(Vec::len).sum();
        match wrong.first() {
            None => good(format!(
                "{} rows: one for each device of each finished run, ended as planned",
                grouped(rows as u64)
            )),
            Some(first) => bad(format!("{} rows are not as planned; the first: {first}", wrong.len())),
        }
    }

    /// Q7: each run ended as it should.
    fn runs_as_planned(&self) -> Finding {
        let ended = |run: &Performed| self.ledger.runs.get(&run.id).map_or("missing", String::as_str);
        let wanted = |run: &Performed| if run.is_cancelled { "cancelled" } else { "success" };
        let wrong = self.runs.iter().find(|run| ended(run) != wanted(run));
        let cancelled = self.runs.iter().filter(|run| run.is_cancelled).count();
        match wrong {
            None if self.runs.len() + self.court.count_of("run") == self.ledger.runs.len() => good(format!(
                "{} runs: {} success, {cancelled} cancelled on request",
                self.runs.len(),
                self.runs.len() - cancelled
            )),
            None => bad(format!("{} runs submitted, {} kept", self.runs.len(), self.ledger.runs.len())),
            Some(run) => bad(format!("{} ended {}, not {}", run.plan.title, ended(run), wanted(run))),
        }
    }

    fn nothing_open(&self) -> Finding {
        let rows = self.ledger.rows.values().flatten();
        let open = rows.filter(|row| matches!(row.status.as_str(), "running" | "pending")).count();
        match (open, self.rest.is_idle) {
            (0, true) => good("no row running or pending, no agent with anything in hand".to_owned()),
            (0, false) => bad("an agent still waited for something when it was stopped".to_owned()),
            _ => bad(format!("{open} rows are still running or pending")),
        }
    }

    /// Q12: every attempt that was sent was executed once, and its end taken once.
    fn attempts_ended_once(&self, trails: &Trails<'_>) -> Finding {
        let rows = self.ledger.rows.values().flatten();
        let attempts: u64 = rows.map(|row| u64::from(row.attempt)).sum();
        let (sent, ended, reported) = (self.ledger.sent, self.ledger.ended, trails.len() as u64);
        let is_good = [sent, ended, reported].iter().all(|count| *count == attempts);
        let says = if is_good {
            format!("{} attempts: each sent once, executed once, ended once", grouped(attempts))
        } else {
            format!("{attempts} attempts, {sent} sent, {reported} reported, {ended} ended")
        };
        Finding { is_good, says }
    }

    /// N7, N19: of each attempt its start, its steps and its end were recorded, in order, and counted.
    fn reported_in_order(&self, trails: &Trails<'_>) -> Finding {
        let wrong: Vec<String> = self.compare(trails).flat_map(|run| run.wrong_trails()).collect();
        let ignored = self.ledger.reports.iter().filter(|report| !report.is_applied);
        let ignored = ignored.filter(|report| !self.is_cancelled(&report.body.run_id)).count();
        match wrong.first() {
            None if ignored == 0 => {
                good("of each attempt: its start, its steps, its end, in this order, as planned".to_owned())
            }
            None => bad(format!("{ignored} callbacks of finished runs were taken for stale")),
            Some(first) => {
                bad(format!("{} attempts not reported as planned; the first: {first}", wrong.len()))
            }
        }
    }

    /// N5: each callback stands in the tables once.
    fn reports_recorded_once(&self) -> Finding {
        let recorded = self.ledger.reports.len() as u64;
        let distinct = self.recorded().len() as u64;
        let is_good = recorded == distinct && recorded == self.ledger.report_ids;
        let says = if is_good {
            format!("{} callbacks, each recorded once", grouped(recorded))
        } else {
            format!(
                "{recorded} callbacks recorded, {distinct} different, ids kept {}",
                self.ledger.report_ids
            )
        };
        Finding { is_good, says }
    }

    /// N19, N22b: an agent that was killed lost nothing it had to say, and what it was at was tried again.
    fn interruptions_made_good(&self) -> Finding {
        let is_missing = |run: &&Performed| {
            let is_killed = self.crashes.iter().any(|crash| crash.run == run.number);
            run.plan.killed_pc().is_some() && !run.is_cancelled && !is_killed
        };
        if let Some(run) = self.runs.iter().find(is_missing) {
            return bad(format!("no agent was killed in {}", run.plan.title));
        }
        let recorded = self.recorded();
        let spooled: Vec<&String> = self.crashes.iter().flat_map(|crash| &crash.spooled).collect();
        let lost = spooled.iter().filter(|id| recorded.get(id.as_str()) != Some(&1)).count();
        if lost > 0 {
            return bad(format!(
                "{lost} of {} events in spools of killed agents are not recorded once",
                spooled.len()
            ));
        }
        let interrupted = self.ledger.reports.iter().filter(|report| report.is_interruption()).count();
        let killed = match self.crashes {
            [] => return good("no agent was killed this time".to_owned()),
            [crash] => format!("the agent {} was killed at work (kill -9)", crash.pc),
            more => format!("agents were killed at work (kill -9) {} times", more.len()),
        };
        let told = format!("{interrupted} interrupted tasks and {} events left in the spool", spooled.len());
        good(format!("{killed}: {told} were reported after the restart, each once"))
    }

    /// Q11: what used up its attempts was taken out of service, and returned.
    fn devices_back(&self) -> Finding {
        let rows = self.ledger.rows.values().flatten();
        let failed = rows.filter(|row| row.status == "failed").count();
        let is_good = failed == self.returned.len() && self.ledger.out_of_service == 0;
        let says = format!(
            "{failed} devices used up their attempts as planned, {} returned to service",
            self.returned.len()
        );
        Finding { is_good, says }
    }

    /// N8b, N14: no agent's summary differs from the rows. What ends after a cancellation is counted by its agent as it
    /// ended, by the server as cancelled.
    fn no_alert(&self) -> Finding {
        let unexpected = |run: &Option<String>| !run.as_ref().is_some_and(|run| self.is_cancelled(run));
        match self.ledger.alerts.iter().find(|(_, run)| unexpected(run)) {
            None => good("the summaries of all agents agree with the rows".to_owned()),
            Some((message, _)) => bad(format!("an alert: {message}")),
        }
    }

    /// N19, N20: agents that are asked to stop deliver everything first, and end well.
    fn agents_at_rest(&self) -> Finding {
        let Rest { spooled, unwell, .. } = self.rest;
        match unwell.first() {
            Some(first) => bad(first.clone()),
            None if *spooled > 0 => bad(format!("{spooled} events are left in the agents' spools")),
            None => good("the agents ended on request, their spools empty".to_owned()),
        }
    }

    fn compare<'a>(&'a self, trails: &'a Trails<'a>) -> impl Iterator<Item = Comparison<'a>> {
        self.runs.iter().map(move |run| {
            let rows: &[TaskDevice] = self.ledger.rows.get(&run.id).map_or(&[], Vec::as_slice);
            Comparison { plan: self.plan, run, rows, trails }
        })
    }

    fn is_cancelled(&self, run: &str) -> bool {
        self.runs.iter().any(|performed| performed.id == run && performed.is_cancelled)
    }

    /// How often each callback was recorded, by its id.
    fn recorded(&self) -> BTreeMap<&str, u64> {
        let mut recorded = BTreeMap::new();
        self.ledger.reports.iter().for_each(|report| *recorded.entry(report.id.as_str()).or_default() += 1);
        recorded
    }
}

fn good(says: String) -> Finding {
    Finding { is_good: true, says }
}

fn bad(says: String) -> Finding {
    Finding { is_good: false, says }
}

fn counted(count: u64, one: &str, more: &str) -> String {
    format!("{} {}", grouped(count), if count == 1 { one } else { more })
}
