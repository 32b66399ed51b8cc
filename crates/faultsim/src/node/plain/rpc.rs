//! Q14: a PC that claims, renews, completes and fails its rows by RPC.

use super::{Chore, PATIENCE_MS, Plain, Work};
use crate::scene::Scene;
use muster_model::{
    Ask, Command, Handout, Millis, Rejection, Reply, TaskId, TaskRecord,
    ask::devices::{Claim, Renew},
};
use std::ops::RangeInclusive;

/// A call under way.
#[derive(Clone, Debug)]
pub(super) enum Call {
    Claim,
    Renew { number: u64 },
    End { task: TaskId, fails: bool },
}

impl Plain {
    pub(super) fn claim(&mut self, scene: &mut Scene) {
        let held = u32::try_from(self.running.len() + self.line.len()).unwrap_or(u32::MAX);
        let command = Command::Claim {
            worker: self.site.name.clone(),
            max: self.site.slots.saturating_sub(held),
            lease: lease(scene),
        };
        self.call(Call::Claim, command, scene);
        self.site.plan(scene, 1_000..=5_000, Chore::Claim);
    }

    /// Prolongs the claim on work that is still here.
    pub(super) fn renew(&mut self, number: u64, scene: &mut Scene) {
        let held = self.running.values().chain(&self.line);
        let Some(task) = held.filter(|work| work.number == number).map(|work| work.task).next() else {
            return;
        };
        let command = Command::Renew { task, worker: self.site.name.clone(), lease: lease(scene) };
        self.call(Call::Renew { number }, command, scene);
        self.site.plan(scene, RENEW_MS, Chore::Renew(number));
    }

    pub(super) fn conclude(&mut self, work: &Work, scene: &mut Scene) {
        let call = Call::End { task: work.task, fails: work.fails };
        self.send_end(call, scene);
    }

    pub(super) fn call_answered(&mut self, call: Call, result: Result<Reply, Rejection>, scene: &mut Scene) {
        match (call, result) {
            (Call::Claim, Ok(reply)) => {
                for row in Claim::reply(reply) {
                    scene.count("claimed");
                    self.take_row(&row, scene);
                }
            }
            (Call::Renew { number }, Ok(reply)) => {
                if !Renew::reply(reply) {
                    self.drop_work(number, scene);
                }
            }
            (Call::End { .. }, Err(_)) => scene.count("call refused"),
            (Call::End { .. }, Ok(_)) | (Call::Claim | Call::Renew { .. }, Err(_)) => {}
        }
    }

    /// Only an end is worth a second call.
    pub(super) fn call_lost(&mut self, call: Call, scene: &mut Scene) {
        if let Call::End { .. } = call {
            self.send_end(call, scene);
        }
    }

    fn take_row(&mut self, row: &TaskRecord, scene: &mut Scene) {
        let handout = Handout {
            task: row.id,
            lane: row.lane.clone(),
            handle: row.lane.clone(),
            attempt: row.attempt,
            fence: row.fence,
            until: row.lease_until.unwrap_or(scene.now),
        };
        self.take(&handout, scene);
        let taken = self.running.values().chain(&self.line);
        let Some(number) = taken.filter(|work| work.task == row.id).map(|work| work.number).next() else {
            return;
        };
        self.site.plan(scene, RENEW_MS, Chore::Renew(number));
    }

    /// The claim is lost: whatever became of the work, it is no longer ours.
    fn drop_work(&mut self, number: u64, scene: &mut Scene) {
        scene.count("claim lost");
        self.running.retain(|_, work| work.number != number);
        self.line.retain(|work| work.number != number);
        self.begin_work(scene);
    }

    fn send_end(&mut self, call: Call, scene: &mut Scene) {
        let Call::End { task, fails } = call else { return };
        let worker = scene.dice.chance(500).then(|| self.site.name.clone());
        let command = if fails {
            Command::FailOrRetry { task, worker, error: Some("gone wrong".into()) }
        } else {
            Command::Complete { task, worker, result: None }
        };
        self.call(call, command, scene);
    }

    fn call(&mut self, call: Call, command: Command, scene: &mut Scene) {
        let ticket = self.site.ask(scene, command, None);
        self.site.plan(scene, PATIENCE_MS, Chore::GiveUp(ticket.exchange));
        self.calls.insert(ticket.exchange, call);
    }
}

fn lease(scene: &mut Scene) -> Millis {
    Millis(scene.dice.between(10_000, 60_000))
}

const RENEW_MS: RangeInclusive<i64> = 4_000..=12_000;
