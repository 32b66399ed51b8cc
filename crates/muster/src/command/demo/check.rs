//! Compares the server's tables with the plan and with what the nodes were told: nothing lost, nothing doubled.

use super::{
    conductor::Performed,
    fleet::Fleet,
    ledger::{Ledger, TaskDevice},
    paint::grouped,
    plan::{Device, Plan},
};
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
    pub(super) fleet: &'a Fleet,
    pub(super) ledger: &'a Ledger,
    /// Whether every node came to rest.
    pub(super) is_idle: bool,
    pub(super) returned: &'a [String],
}

impl Evidence<'_> {
    pub(super) fn findings(&self) -> Vec<Finding> {
        let mut findings = vec![
            self.rows_as_planned(),
            self.runs_as_planned(),
            self.nothing_open(),
            self.reports_counted_once(),
            self.attempts_ended_once(),
            self.repeats_recognised(),
            self.lost_jobs_came_again(),
            self.devices_back(),
            self.no_alert(),
        ];
        let faults = self.fleet.tallies().flat_map(|(_, tally)| tally.faults());
        findings.extend(faults.take(10).map(|says| Finding { is_good: false, says }));
        findings
    }

    /// Q1, Q5, Q10, Q11: each device of each finished run has one row, ended as planned after as many attempts.
    fn rows_as_planned(&self) -> Finding {
        let none = Vec::new();
        let rows_of = |run: &Performed| self.ledger.rows.get(&run.id).unwrap_or(&none);
        let wrong: Vec<String> =
            self.runs.iter().flat_map(|run| wrong_rows(self.plan, run, rows_of(run))).collect();
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
            None if self.runs.len() == self.ledger.runs.len() => good(format!(
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
        match (open, self.is_idle) {
            (0, true) => good("no row running or pending, no node with anything in hand".to_owned()),
            (0, false) => bad("a node still waits for the end of a run".to_owned()),
            _ => bad(format!("{open} rows are still running or pending")),
        }
    }

    /// N5: each callback that was acknowledged stands in the tables once.
    fn reports_counted_once(&self) -> Finding {
        let acknowledged: BTreeMap<String, u64> =
            self.fleet.tallies().map(|(name, tally)| (name.to_owned(), tally.reports.get())).collect();
        let total: u64 = acknowledged.values().sum();
        let is_good = acknowledged == self.ledger.reports && total == self.ledger.report_ids;
        let says = if is_good {
            format!("{} callbacks acknowledged, each recorded once", grouped(total))
        } else {
            format!(
                "callbacks acknowledged {acknowledged:?}, recorded {:?}, ids kept {}",
                self.ledger.reports, self.ledger.report_ids
            )
        };
        Finding { is_good, says }
    }

    /// Q12: every attempt that was sent was executed once, and its end taken once.
    fn attempts_ended_once(&self) -> Finding {
        let rows = self.ledger.rows.values().flatten();
        let attempts: u64 = rows.map(|row| u64::from(row.attempt)).sum();
        let (sent, ended, executed) =
            (self.ledger.sent, self.ledger.ended, self.fleet.sum(|tally| tally.jobs.get()));
        let is_good = [sent, ended, executed].iter().all(|count| *count == attempts);
        let says = if is_good {
            format!("{} attempts: each sent once, executed once, ended once", grouped(attempts))
        } else {
            format!("{attempts} attempts, {sent} sent, {executed} executed, {ended} ended")
        };
        Finding { is_good, says }
    }

    /// N4, N5: a report that was sent again was recognised.
    fn repeats_recognised(&self) -> Finding {
        let lost = self.fleet.sum(|tally| tally.lost_answers.get());
        let recognised = self.fleet.sum(|tally| tally.duplicates.get());
        let stale = self.fleet.sum(|tally| tally.stale.get());
        let says =
            format!("{lost} callbacks sent again after a lost answer, {recognised} recognised as repeats");
        Finding { is_good: recognised >= lost && stale == 0, says }
    }

    /// N2: a job in an answer that never arrived was handed out again.
    fn lost_jobs_came_again(&self) -> Finding {
        let lost = self.fleet.sum(|tally| tally.lost_jobs.get());
        let again = self.fleet.sum(|tally| tally.redelivered.get());
        let says =
            format!("{lost} jobs in lost answers to pulls, {again} handed out again as the same attempt");
        Finding { is_good: lost == again, says }
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

    /// N8b: no node's summary differs from the rows. What ends after a cancellation is counted by its node as it ended,
    /// by the server as cancelled.
    fn no_alert(&self) -> Finding {
        let is_cancelled = |id: &String| self.runs.iter().any(|run| run.id == *id && run.is_cancelled);
        let unexpected = |run: &Option<String>| !run.as_ref().is_some_and(is_cancelled);
        match self.ledger.alerts.iter().find(|(_, run)| unexpected(run)) {
            None => good("the summaries of all nodes agree with the rows".to_owned()),
            Some((message, _)) => bad(format!("an alert: {message}")),
        }
    }
}

/// The rows of a run that are not as planned, in words.
fn wrong_rows(plan: Plan, run: &Performed, rows: &[TaskDevice]) -> Vec<String> {
    let mut by_device: BTreeMap<Device, Vec<&TaskDevice>> = BTreeMap::new();
    let mut wrong = Vec::new();
    for row in rows {
        match Device::named(&row.device).filter(|device| run.plan.scope.contains(*device)) {
            Some(device) => by_device.entry(device).or_default().push(row),
            None => wrong.push(format!("{} has a row in {}", row.device, run.plan.title)),
        }
    }
    for device in run.plan.scope.devices() {
        let rows = by_device.get(&device).map_or(&[][..], Vec::as_slice);
        let ending = plan.ending(run.number, device);
        let is_right = match rows {
            [row] if row.status == "cancelled" => run.is_cancelled,
            [row] => (row.status.as_str(), row.attempt) == ending,
            [] => run.is_cancelled,
            _ => false,
        };
        if !is_right {
            wrong.push(format!("{} in {}: {rows:?}, not {ending:?}", device.id(), run.plan.title));
        }
    }
    wrong
}

fn good(says: String) -> Finding {
    Finding { is_good: true, says }
}

fn bad(says: String) -> Finding {
    Finding { is_good: false, says }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::demo::conductor::Counts;

    const PLAN: Plan = Plan { seed: 7 };

    fn performed(is_cancelled: bool) -> Performed {
        Performed {
            number: 0,
            id: "r".to_owned(),
            plan: Plan::run(0),
            status: "success".to_owned(),
            counts: Counts::default(),
            took: None,
            is_cancelled,
        }
    }

    fn as_planned() -> Vec<TaskDevice> {
        let row = |device: Device| {
            let (status, attempt) = PLAN.ending(0, device);
            TaskDevice { device: device.id(), status: status.to_owned(), attempt }
        };
        Device::all().map(row).collect()
    }

    #[test]
    fn a_lost_doubled_or_changed_row_is_found() {
        let wrong = |rows: &[TaskDevice]| wrong_rows(PLAN, &performed(false), rows).len();
        let mut rows = as_planned();
        assert_eq!(wrong(&rows), 0);
        assert_eq!(wrong(&rows[1..]), 1);
        rows.push(rows[0].clone());
        assert_eq!(wrong(&rows), 1);
        rows.pop();
        rows[3].attempt += 1;
        assert_eq!(wrong(&rows), 1);
        rows[5].status = "cancelled".to_owned();
        rows[7].device = "sim-9999".to_owned();
        assert_eq!(wrong(&rows), 4);
    }

    #[test]
    fn a_cancelled_run_may_lack_rows_but_not_double_them() {
        let wrong = |rows: &[TaskDevice]| wrong_rows(PLAN, &performed(true), rows).len();
        let mut rows = as_planned();
        rows.truncate(100);
        rows[5].status = "cancelled".to_owned();
        assert_eq!(wrong(&rows), 0);
        rows.push(rows[0].clone());
        assert_eq!(wrong(&rows), 1);
    }
}
