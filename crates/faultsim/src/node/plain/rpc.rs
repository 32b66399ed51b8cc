//! Q14: a PC that claims, renews, completes and fails its rows by RPC.

use super::{Chore, PATIENCE_MS, Plain, ReceivedJob, Work};
use crate::{
    checker::Verdict,
    message::{Answer, Response},
    rpc::{self, CLAIMS_TOO_MANY, ClaimedRow, LEASE_DEFAULT},
    scene::Scene,
};
use muster_model::{Command, Millis, TaskId};
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
        let mistaken = scene.dice.chance(20);
        let command = Command::Claim {
            worker: self.site.name.clone(),
            max: if mistaken { CLAIMS_TOO_MANY } else { self.site.slots.saturating_sub(held) },
            lease: lease(scene),
        };
        self.call(Call::Claim, command, scene);
        self.machine.plan(scene, 1_000..=5_000, Chore::Claim);
    }

    /// Prolongs the claim on work that is still here.
    pub(super) fn renew(&mut self, number: u64, scene: &mut Scene) {
        let held = self.running.values().chain(&self.line);
        let Some(task) = held.filter(|work| work.number == number).map(|work| work.task).next() else {
            return;
        };
        let command = Command::Renew { task, worker: self.site.name.clone(), lease: lease(scene) };
        self.call(Call::Renew { number }, command, scene);
        self.machine.plan(scene, RENEW_MS, Chore::Renew(number));
    }

    pub(super) fn conclude(&mut self, work: &Work, scene: &mut Scene) {
        let call = Call::End { task: work.task, fails: work.fails };
        self.send_end(call, scene);
    }

    /// The response to a call is all that a PC knows of what became of it.
    pub(super) fn call_answered(&mut self, call: Call, response: &Response, scene: &mut Scene) -> Verdict {
        let answer = Answer::read(response)?;
        match call {
            Call::Claim => {
                for row in rpc::rows_of(&answer).iter().filter_map(ClaimedRow::read) {
                    scene.count("claimed");
                    self.take_row(row, scene);
                }
            }
            Call::Renew { number } if answer.is_done() && answer.body == false => {
                self.drop_work(number, scene);
            }
            Call::End { .. } if !answer.is_final() => self.call_lost(call, scene),
            Call::End { .. } if !answer.is_done() => scene.count("call refused"),
            Call::End { .. } | Call::Renew { .. } => {}
        }
        Ok(())
    }

    /// Only an end is worth a second call.
    pub(super) fn call_lost(&mut self, call: Call, scene: &mut Scene) {
        if let Call::End { .. } = call {
            self.send_end(call, scene);
        }
    }

    fn take_row(&mut self, row: ClaimedRow, scene: &mut Scene) {
        let task = row.task;
        self.take(ReceivedJob { task, device: row.device, attempt: row.attempt, fence: None }, scene);
        let taken = self.running.values().chain(&self.line);
        let Some(number) = taken.filter(|work| work.task == task).map(|work| work.number).next() else {
            return;
        };
        self.machine.plan(scene, RENEW_MS, Chore::Renew(number));
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
            let result = scene.dice.chance(500).then(|| r#"{"screens":2}"#.into());
            Command::Complete { task, worker, result }
        };
        self.call(call, command, scene);
    }

    fn call(&mut self, call: Call, command: Command, scene: &mut Scene) {
        let Some(command) = rpc::carry(&command, scene) else { return };
        let ticket = self.site.ask(scene, command, None);
        self.machine.plan(scene, PATIENCE_MS, Chore::GiveUp(ticket.exchange));
        self.calls.insert(ticket.exchange, call);
    }
}

/// Mostly less than a minute; the usual one, or one that cannot be.
fn lease(scene: &mut Scene) -> Millis {
    match scene.dice.below(50) {
        0 => LEASE_DEFAULT,
        1 => Millis(*scene.dice.pick(&[0, 86_400_001]).unwrap_or(&0)),
        _ => Millis(scene.dice.between(10_000, 60_000)),
    }
}

const RENEW_MS: RangeInclusive<i64> = 4_000..=12_000;
