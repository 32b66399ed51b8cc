//! The rows of a run, and what was reported of each, against the plan.

use super::trail::Expected;
use crate::command::demo::{
    conductor::Performed,
    ledger::{Ledger, TaskDevice},
    plan::{Device, Plan},
    report::INTERRUPTED,
};
use std::collections::BTreeMap;

/// What was reported of each row's attempts, in the order it was recorded.
#[derive(Default)]
pub(super) struct Trails<'a>(BTreeMap<&'a str, BTreeMap<u16, Vec<String>>>);

/// One run, to be compared with its plan.
pub(super) struct Comparison<'a> {
    pub(super) plan: Plan,
    pub(super) run: &'a Performed,
    pub(super) rows: &'a [TaskDevice],
    pub(super) trails: &'a Trails<'a>,
}

impl<'a> Trails<'a> {
    pub(super) fn of(ledger: &'a Ledger) -> Self {
        let mut trails = Self::default();
        for report in ledger.reports.iter().filter(|report| report.is_of_a_task()) {
            let row = trails.0.entry(&report.body.task_id).or_default();
            row.entry(report.body.attempt).or_default().push(report.words());
        }
        trails
    }

    /// Of how many attempts something was reported.
    pub(super) fn len(&self) -> usize {
        self.0.values().map(BTreeMap::len).sum()
    }

    fn of_attempt(&self, row: &TaskDevice, attempt: u16) -> &[String] {
        let attempts = self.0.get(row.id.as_str());
        attempts.and_then(|attempts| attempts.get(&attempt)).map_or(&[], Vec::as_slice)
    }

    fn is_interrupted(&self, row: &TaskDevice) -> bool {
        (1..=row.attempt).any(|nth| self.of_attempt(row, nth).last().is_some_and(|end| end == INTERRUPTED))
    }
}

impl Comparison<'_> {
    /// The rows that are not as planned, in words.
    pub(super) fn wrong_rows(&self) -> Vec<String> {
        let title = self.run.plan.title;
        let mut by_device: BTreeMap<Device, Vec<&TaskDevice>> = BTreeMap::new();
        let mut wrong = Vec::new();
        for row in self.rows {
            match self.device(row) {
                Some(device) => by_device.entry(device).or_default().push(row),
                None => wrong.push(format!("{} has a row in {title}", row.device)),
            }
        }
        for device in self.run.plan.scope.devices() {
            let rows = by_device.get(&device).map_or(&[][..], Vec::as_slice);
            let is_right = match rows {
                [row] if row.status == "cancelled" => self.run.is_cancelled,
                [row] => (row.status.as_str(), row.attempt) == self.ending(device, row),
                [] => self.run.is_cancelled,
                _ => false,
            };
            if !is_right {
                let planned = self.plan.ending(self.run.number, device);
                wrong.push(format!("{} in {title}: {rows:?}, planned {planned:?}", device.id()));
            }
        }
        wrong
    }

    /// The attempts that were not reported as they should, in words.
    pub(super) fn wrong_trails(&self) -> Vec<String> {
        let mut wrong = Vec::new();
        for (row, device) in self.rows.iter().filter_map(|row| Some((row, self.device(row)?))) {
            for attempt in 1..=row.attempt {
                let (expected, trail) =
                    (self.expected(device, attempt), self.trails.of_attempt(row, attempt));
                if !expected.fits(trail) {
                    let title = self.run.plan.title;
                    wrong.push(format!("{} in {title}: {trail:?}, not {expected:?}", device.id()));
                }
            }
        }
        wrong
    }

    fn device(&self, row: &TaskDevice) -> Option<Device> {
        Device::named(&row.device).filter(|device| self.run.plan.scope.contains(*device))
    }

    /// Where a row must stand: an agent that was killed costs an attempt of what it was at, and no more (N22b).
    fn ending(&self, device: Device, row: &TaskDevice) -> (&'static str, u16) {
        let (status, attempts) = self.plan.ending(self.run.number, device);
        let is_interrupted = self.may_be_interrupted(device) && self.trails.is_interrupted(row);
        (status, attempts + u16::from(is_interrupted))
    }

    fn expected(&self, device: Device, attempt: u16) -> Expected {
        let fault = self.plan.fault(self.run.number, device).filter(|fault| attempt <= fault.attempts);
        match fault {
            _ if self.run.is_cancelled => Expected::AnyEnd,
            Some(fault) => Expected::Failure(fault),
            None if self.may_be_interrupted(device) => Expected::SuccessOrInterruption,
            None => Expected::Success,
        }
    }

    fn may_be_interrupted(&self, device: Device) -> bool {
        self.run.plan.killed_pc() == Some(device.pc())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAN: Plan = Plan { seed: 7 };

    /// The run in which an agent is killed.
    fn killed() -> usize {
        (0..).find(|number| Plan::run(*number).killed_pc().is_some()).unwrap()
    }

    fn as_planned(run: usize) -> Vec<TaskDevice> {
        let row = |device: Device| {
            let (status, attempt) = PLAN.ending(run, device);
            TaskDevice { id: device.id(), device: device.id(), status: status.to_owned(), attempt }
        };
        Device::all().map(row).collect()
    }

    fn wrong(run: &Performed, rows: &[TaskDevice], trails: &Trails<'_>) -> usize {
        Comparison { plan: PLAN, run, rows, trails }.wrong_rows().len()
    }

    #[test]
    fn a_lost_doubled_or_changed_row_is_found() {
        let wrong = |rows: &[TaskDevice]| wrong(&Performed::submitted(0), rows, &Trails::default());
        let mut rows = as_planned(0);
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
        let run = Performed { is_cancelled: true, ..Performed::submitted(0) };
        let wrong = |rows: &[TaskDevice]| wrong(&run, rows, &Trails::default());
        let mut rows = as_planned(0);
        rows.truncate(100);
        rows[5].status = "cancelled".to_owned();
        assert_eq!(wrong(&rows), 0);
        rows.push(rows[0].clone());
        assert_eq!(wrong(&rows), 1);
    }

    /// I2, N22b: an agent that was killed costs its own tasks one attempt each, and nobody else any.
    #[test]
    fn an_interruption_costs_one_attempt() {
        let run = Performed::submitted(killed());
        let there = Device::of_pc(run.plan.killed_pc().unwrap()).next().unwrap();
        let elsewhere = Device::all().find(|device| device.pc() != there.pc()).unwrap();
        let (there_id, elsewhere_id) = (there.id(), elsewhere.id());
        let mut rows = as_planned(killed());
        rows[there.0 - 1].attempt = 2;
        assert_eq!(wrong(&run, &rows, &Trails::default()), 1);
        let interrupted = || [(1, vec![INTERRUPTED.to_owned()])].into();
        assert_eq!(wrong(&run, &rows, &Trails([(there_id.as_str(), interrupted())].into())), 0);
        rows[elsewhere.0 - 1].attempt = 2;
        assert_eq!(wrong(&run, &rows, &Trails([(elsewhere_id.as_str(), interrupted())].into())), 2);
    }
}
