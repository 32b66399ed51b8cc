//! Simulated work on devices: most of it takes seconds, some fails, some hangs.

use super::{Agent, Chore, life::Doom};
use crate::{checker::Verdict, plan::name, planted::Planted, scene::Scene};
use muster_agent::{
    Artifact, End, StepStatus,
    core::{Progress, TIMEOUT, Work},
};
use muster_model::{FailureReason, Name};
use std::{collections::VecDeque, ops::RangeInclusive};

/// A work on its device.
pub(super) struct Execution {
    device: Name,
    moves: VecDeque<Move>,
    pause: RangeInclusive<i64>,
    /// Counts how often it took another way than planned.
    turn: u32,
}

/// The end that a work comes to instead of the planned one, so many milliseconds from now.
struct Ending {
    end: End,
    ms: RangeInclusive<i64>,
}

enum Move {
    Step(&'static str, StepStatus),
    End(End),
}

impl Agent {
    pub(super) fn begin_work(&mut self, work: Work, scene: &mut Scene) -> Verdict {
        scene.note(|| format!("{}: begins {} on {}", self.site.name, work.job.task, work.job.device));
        scene.checker.begins(&self.site, &work)?;
        let device = name(&work.job.device);
        let (moves, pause) = match self.site.is_usable(&device) {
            true => draw(scene),
            false => (VecDeque::from([Move::End(gone())]), 10..=1_000),
        };
        self.life().works.insert(work.number, Execution { device, moves, pause: pause.clone(), turn: 0 });
        self.machine.plan(scene, pause, Chore::Proceed { work: work.number, turn: 0 });
        Ok(())
    }

    /// The next thing happens on the device; after the last nothing does until somebody ends it.
    pub(super) fn proceed(&mut self, number: u64, turn: u32, scene: &mut Scene) -> Verdict {
        let now = self.now(scene);
        let life = self.life();
        let Some(work) = life.works.get_mut(&number).filter(|work| work.turn == turn) else {
            return Ok(());
        };
        match work.moves.pop_front() {
            Some(Move::Step(step, status)) => {
                let pause = work.pause.clone();
                life.core.stepped(number, Progress { step, status }, now);
                self.machine.plan(scene, pause, Chore::Proceed { work: number, turn });
            }
            Some(Move::End(end)) => {
                life.works.remove(&number);
                life.core.ended(number, end, now);
                scene.note(|| format!("{}: work {number} is over", self.site.name));
                scene.checker.agent(&self.site).is_over(number);
            }
            None => scene.count("work hangs"),
        }
        Ok(())
    }

    /// Something of a killed work runs for a while yet.
    pub(super) fn kill(&mut self, number: u64, scene: &mut Scene) {
        scene.count("work killed");
        scene.checker.agent(&self.site).kills(number);
        if self.life().doom.take_if(|doom| *doom == Doom::Kill).is_some() {
            self.machine.plan(scene, 0..=3_000, Chore::Crash);
        }
        let ms = if scene.calm { 10..=500 } else { 10..=5_000 };
        self.change_end(number, Ending { end: STOPPED, ms }, scene);
        let is_replaced = scene.checker.agent(&self.site).is_replaced(number);
        if is_replaced && self.planted == Some(Planted::TwoOnOneDevice) {
            let now = self.now(scene);
            self.life().core.ended(number, STOPPED, now);
        }
    }

    /// Makes the work on a device that is gone fail soon.
    pub(in crate::node) fn interrupt(&mut self, device: &Name, scene: &mut Scene) {
        let Some(life) = &self.life else { return };
        let found = life.works.iter().find(|(_, work)| work.device == *device);
        if let Some((number, _)) = found {
            let number = *number;
            self.change_end(number, Ending { end: gone(), ms: 50..=3_000 }, scene);
        }
    }

    /// A work ends otherwise than planned.
    fn change_end(&mut self, number: u64, Ending { end, ms }: Ending, scene: &mut Scene) {
        let Some(work) = self.life().works.get_mut(&number) else {
            return;
        };
        work.turn += 1;
        work.moves = VecDeque::from([Move::End(end)]);
        let turn = work.turn;
        self.machine.plan(scene, ms, Chore::Proceed { work: number, turn });
    }
}

fn draw(scene: &mut Scene) -> (VecDeque<Move>, RangeInclusive<i64>) {
    let mut moves = VecDeque::new();
    for step in STEPS.iter().take(scene.dice.below(3)) {
        moves.push_back(Move::Step(step, StepStatus::Running));
        moves.push_back(Move::Step(step, StepStatus::Done));
    }
    let parts = i64::try_from(moves.len()).unwrap_or(0) + 1;
    let (low, high) = match scene.dice.below(100) {
        0..4 if !scene.calm => return (moves, 100..=2_000),
        4..12 if !scene.calm => (10_000, 60_000),
        _ => scene.plan.work_ms,
    };
    moves.push_back(Move::End(draw_end(scene)));
    (moves, low / parts..=high / parts)
}

fn draw_end(scene: &mut Scene) -> End {
    if !scene.dice.chance(if scene.calm { scene.plan.fails.1 } else { scene.plan.fails.0 }) {
        let artifact = scene.dice.chance(200).then(|| Artifact {
            kind: "screenshot".into(),
            storage_path: "videos/_/1.png".into(),
            public_url: "https://store/videos/_/1.png".into(),
        });
        return End::Succeeded { artifact };
    }
    let reason = scene.dice.pick(&FailureReason::ALL).copied().unwrap_or(FailureReason::Unknown);
    let timed_out = scene.dice.chance(200);
    let words = if timed_out { TIMEOUT } else { "" };
    End::Failed { reason, error: format!("{words}gone wrong"), timed_out }
}

fn gone() -> End {
    End::Failed { reason: FailureReason::AdbOffline, error: "the device is gone".into(), timed_out: false }
}

const STEPS: [&str; 2] = ["PREFLIGHT", "LOGIN_FLOW"];

const STOPPED: End = End::Stopped { reason: FailureReason::Unknown };
