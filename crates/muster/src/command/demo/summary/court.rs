//! What the court's events came to, general by general.

use super::{
    super::court::{Court, CourtRest, GENERALS, GeneralPlan, TaskFile},
    empty_table, millis, number,
};
use comfy_table::Cell;
use serde_json::{Value, json};

/// What there is to tell of the court.
#[derive(Clone, Copy)]
pub(in super::super) struct CourtSummary<'a> {
    pub(in super::super) court: &'a Court,
    pub(in super::super) rest: &'a CourtRest,
}

/// What became of a general's events.
struct GeneralCounts {
    plan: &'static GeneralPlan,
    events: u64,
    tasks: u64,
    success: u64,
    attempts: u64,
    told: u64,
}

impl CourtSummary<'_> {
    pub(super) fn table(&self, is_terminal: bool) -> String {
        let mut table = empty_table(is_terminal);
        table.set_header([
            "GENERAL OF THE COURT",
            "EXECUTOR",
            "EVENTS",
            "TASKS",
            "SUCCESS",
            "ATTEMPTS",
            "TOLD",
        ]);
        for GeneralCounts { plan, events, tasks, success, attempts, told } in self.counts() {
            let words = [plan.name, plan.executor].map(Cell::new);
            table.add_row(words.into_iter().chain([events, tasks, success, attempts, told].map(number)));
        }
        table.trim_fmt()
    }

    pub(super) fn document(&self) -> Value {
        let generals = self.counts().map(|counts| {
            let GeneralCounts { plan, events, tasks, success, attempts, told } = counts;
            json!({"name": plan.name, "executor": plan.executor, "events": events, "tasks": tasks,
                "success": success, "attempts": attempts, "told": told})
        });
        json!({"generals": generals.collect::<Vec<_>>(), "messages": self.rest.record.sent.len(),
            "posts": self.rest.posts.len(), "killed": self.court.losses().len(), "starts": self.court.starts(),
            "duration_ms": self.court.took().map(millis)})
    }

    fn counts(&self) -> impl Iterator<Item = GeneralCounts> {
        GENERALS.iter().map(|plan| self.counts_of(plan))
    }

    fn counts_of(&self, plan: &'static GeneralPlan) -> GeneralCounts {
        let record = &self.rest.record;
        let errands = self.court.errands().iter().filter(|errand| errand.general.name == plan.name);
        let events: Vec<String> = errands.map(|errand| errand.id()).collect();
        let tasks: Vec<&TaskFile> = record.tasks.iter().filter(|task| events.contains(&task.event)).collect();
        let is_success =
            |task: &&&TaskFile| record.results.get(&task.id).is_some_and(|result| result == "success");
        let told = record.sent.values().flatten().filter(|about| tasks.iter().any(|task| task.id == **about));
        GeneralCounts {
            plan,
            events: events.len() as u64,
            tasks: tasks.len() as u64,
            success: tasks.iter().filter(is_success).count() as u64,
            attempts: tasks.iter().map(|task| task.attempts as u64).sum(),
            told: told.count() as u64,
        }
    }
}
