//! S3, S4, S5, S5b: tasks are taken, rendered step by step and handed in; now and then what should not be.

use super::{Answer, Call, Chore, Content, Plain};
use crate::{
    farm::{Fate, pause},
    machine::{PATIENCE_MS, patience},
    plan::WAIT_MAX,
    scene::Scene,
};
use muster_model::{
    Completion, Digest, FrameCommand, FrameHandout, FrameRange, FrameTaskId, Millis, Progress, Ratio,
};
use std::ops::RangeInclusive;

/// One attempt in the hands of a worker.
#[derive(Clone, Debug)]
pub(super) struct Work {
    pub(super) handout: FrameHandout,
    pub(super) processed: u64,
    pub(super) dropped: u64,
    pub(super) fate: Fate,
    /// It goes on with what it was told to stop.
    pub(super) is_stolen: bool,
    /// Report of the result, once the work is over.
    pub(super) result: Option<FrameCommand>,
}

impl Plain {
    pub(super) fn ask(&mut self, scene: &mut Scene) {
        let is_full = self.works.len() >= self.rig.slots as usize;
        if self.asking.is_some() || self.paused || (is_full && !Self::misbehaves(scene)) {
            return;
        }
        let wait = scene.dice.chance(700).then(|| Millis(scene.dice.between(500, WAIT_MAX.0 / 2)));
        let command = FrameCommand::Ask { worker: self.rig.name.clone(), supply: true };
        let ticket = self.rig.ask(scene, command, wait);
        self.machine.plan(scene, patience(PATIENCE_MS, wait), Chore::GiveUp(ticket.exchange));
        self.asking = Some(ticket);
    }

    pub(super) fn asked(&mut self, answer: Answer, scene: &mut Scene) {
        match answer {
            Ok(Content::Task(Some(handout))) => {
                _ = self.take(&handout, scene);
                self.want_more(10..=500, scene);
            }
            Ok(_) => self.want_more(500..=3_000, scene),
            Err(problem) if problem.status() == 410 || problem.status() == 404 => {
                self.bound = false;
                self.abandon_all(scene);
                self.machine.plan(scene, 3_000..=20_000, Chore::Register);
            }
            Err(_) => self.want_more(2_000..=5_000, scene),
        }
    }

    /// Asks again some time, if it is one that asks.
    pub(super) fn want_more(&self, pause: RangeInclusive<i64>, scene: &mut Scene) {
        if self.bound && (!self.rig.takes_pushes || Self::misbehaves(scene)) {
            self.machine.plan(scene, pause, Chore::Ask(self.round));
        }
    }

    /// A task is pushed here; now and then nobody answers.
    pub(super) fn pushed(&mut self, handout: &FrameHandout, scene: &mut Scene) -> Option<bool> {
        let is_known = self.works.values().any(|work| work.handout.ids == handout.ids);
        let is_full = self.works.len() >= self.rig.slots as usize;
        let is_mute = Self::misbehaves(scene);
        let taken = is_known || (self.bound && !is_full && self.take(handout, scene));
        (!is_mute).then_some(taken)
    }

    /// The next thing happens to a work.
    pub(super) fn advance(&mut self, number: u64, scene: &mut Scene) {
        if self.paused || self.is_slowed {
            return self.machine.plan(scene, 500..=3_000, Chore::Advance(number));
        }
        let Some(work) = self.works.get_mut(&number).filter(|work| work.result.is_none()) else {
            return;
        };
        if work.fate == Fate::Hangs {
            return scene.count("render hangs");
        }
        let frames = work.handout.range.len();
        let part = scene.dice.between(1, i64::try_from(frames).unwrap_or(1)).unsigned_abs();
        let drops = scene.plan.frames.as_ref().map_or(0, |plan| plan.drops);
        work.processed += part;
        work.dropped += u64::from(!scene.calm && scene.dice.chance(drops / 2));
        if work.processed >= frames {
            return self.finish(number, scene);
        }
        match scene.dice.below(10) {
            0..2 => self.more_ids(number, scene),
            2..9 => self.progress(number, scene),
            _ => {}
        }
        let pause = pause(scene);
        self.machine.plan(scene, pause, Chore::Advance(number));
    }

    /// Lets go of a work, unless it is deaf; what it made of it may be handed in some day all the same.
    pub(super) fn abandon(&mut self, number: u64, scene: &mut Scene) {
        let Some(work) = self.works.get_mut(&number) else {
            return;
        };
        if Self::misbehaves(scene) {
            scene.count("renderer goes on with what it was told to stop");
            work.is_stolen = true;
            return;
        }
        if let Some(work) = self.works.remove(&number) {
            let completion = self.completion(number, &work);
            self.remember(completion, scene);
        }
        self.want_more(10..=1_000, scene);
    }

    pub(super) fn abandon_all(&mut self, scene: &mut Scene) {
        let numbers: Vec<u64> = self.works.keys().copied().collect();
        numbers.into_iter().for_each(|number| self.abandon(number, scene));
    }

    /// Works that hang will end well after all.
    pub(super) fn mend(&mut self) -> Vec<u64> {
        let hanging = self.works.iter_mut().filter(|(_, work)| work.fate == Fate::Hangs);
        let mended = hanging.map(|(number, work)| {
            work.fate = Fate::Succeeds;
            *number
        });
        mended.collect()
    }

    /// Takes a task; one that was here before is not taken twice, one of an older term not at all (S18).
    fn take(&mut self, handout: &FrameHandout, scene: &mut Scene) -> bool {
        if handout.epoch < self.epoch {
            scene.count("task of an older term refused");
            return false;
        }
        if self.works.values().any(|work| work.handout.ids == handout.ids) {
            scene.count("task given again");
            return true;
        }
        self.next += 1;
        let number = self.next;
        let is_new = self.seen.insert(handout.ids.chunk);
        let fate = if is_new {
            Fate::draw(handout.task.session.as_str(), handout.range, scene)
        } else {
            Fate::Fails
        };
        let work =
            Work { handout: handout.clone(), processed: 0, dropped: 0, fate, is_stolen: false, result: None };
        self.works.insert(number, work);
        if scene.dice.chance(700) {
            self.progress(number, scene);
        }
        let pause = pause(scene);
        self.machine.plan(scene, pause, Chore::Advance(number));
        true
    }

    fn progress(&mut self, number: u64, scene: &mut Scene) {
        let Work { handout, processed, dropped, .. } = &self.works[&number];
        let is_full = !scene.calm && scene.dice.chance(60);
        let progress = Progress {
            worker: self.rig.name.clone(),
            session: handout.task.session.clone(),
            task: scene.dice.chance(700).then(|| handout.task.clone()),
            processed: *processed,
            max_queue_ratio: Ratio(if is_full { 1_000_000 } else { 300_000 }),
            dropped: *dropped,
            diagnostics: Vec::new(),
        };
        self.call(FrameCommand::Progress(Box::new(progress)), Call::Else, scene);
    }

    fn more_ids(&mut self, number: u64, scene: &mut Scene) {
        let task = scene.dice.chance(700).then(|| self.works[&number].handout.task.clone());
        let count = scene.dice.between(1, 300).unsigned_abs();
        let command = FrameCommand::MoreIds { worker: self.rig.name.clone(), task, count };
        self.call(command, Call::Else, scene);
    }

    /// A work is over.
    pub(super) fn finish(&mut self, number: u64, scene: &mut Scene) {
        let Some(work) = self.works.get(&number) else {
            return;
        };
        let result = match work.fate {
            Fate::Fails => FrameCommand::Fail {
                task: work.handout.task.clone(),
                worker: Some(self.rig.name.clone()),
                attempt: scene.dice.chance(700).then_some(work.handout.attempt),
                error: "gone wrong".into(),
            },
            _ => {
                let attempt = scene.dice.chance(700).then_some(work.handout.attempt);
                let right = self.completion(number, work);
                // Drops that a progress report included need not be reported again.
                let dropped = if scene.dice.chance(500) { right.dropped } else { 0 };
                let completion = Completion { attempt, dropped, ..right };
                self.gossip(&completion, scene);
                FrameCommand::Complete(Box::new(completion))
            }
        };
        if let Some(work) = self.works.get_mut(&number) {
            work.result = Some(result);
        }
        match Self::misbehaves(scene) {
            true => self.tell_nonsense(number, scene),
            false => self.tell(number, scene),
        }
    }

    /// Tells what became of a work.
    pub(super) fn tell(&mut self, number: u64, scene: &mut Scene) {
        let result = self.works.get(&number).and_then(|work| work.result.clone());
        if let Some(command) = result {
            self.call(command, Call::Result { work: number, honest: true }, scene);
        }
    }

    pub(super) fn told(&mut self, number: u64, answer: Answer, scene: &mut Scene) {
        let result = self.works.remove(&number).and_then(|work| work.result);
        scene.count(match (&answer, &result) {
            (Ok(_), Some(FrameCommand::Complete(_))) => "completion taken",
            (Ok(_), _) => "failure taken",
            (Err(_), _) if are_dropped(&answer) => "completion with dropped frames refused",
            (Err(_), _) => "result refused",
        });
        if let Some(FrameCommand::Complete(completion)) = result {
            self.remember(*completion, scene);
        }
        self.want_more(0..=500, scene);
    }

    /// Completion that the worker would report for a work.
    pub(super) fn completion(&self, number: u64, work: &Work) -> Completion {
        let handout = &work.handout;
        let place = (self.rig.number as u128) << 64 | u128::from(self.machine.incarnation) << 32;
        Completion {
            task: handout.task.clone(),
            worker: Some(self.rig.name.clone()),
            attempt: Some(handout.attempt),
            range: handout.range,
            chunk: handout.ids.chunk,
            dropped: work.dropped,
            digest: Digest((place | u128::from(number)) << 8),
            result: "{}".into(),
            dry: false,
        }
    }

    pub(super) fn remember(&mut self, completion: Completion, scene: &mut Scene) {
        if scene.dice.chance(500) {
            self.past.push_back(completion);
            self.past.truncate(PAST_MAX);
        }
    }

    /// Hands in once more what was handed in before, what comes far too late, or what others made.
    pub(super) fn relapse(&mut self, scene: &mut Scene) {
        self.machine.plan(scene, 5_000..=20_000, Chore::Relapse);
        let others = scene.dice.chance(300);
        let found = match others {
            true => scene.dice.pick(&scene.gossip.clone()).cloned(),
            false => self.past.pop_front(),
        };
        let Some(completion) = found.filter(|_| self.bound && !scene.calm) else {
            return;
        };
        scene.count(if others { "another's completion handed in" } else { "completion handed in again" });
        let change = u128::from(scene.dice.chance(300));
        let completion = Completion {
            worker: Some(self.rig.name.clone()),
            attempt: completion.attempt.filter(|_| scene.dice.chance(700)),
            digest: Digest(completion.digest.0 | change),
            ..completion
        };
        self.call(FrameCommand::Complete(Box::new(completion)), Call::Else, scene);
    }

    /// Says something wrong of a work first.
    fn tell_nonsense(&mut self, number: u64, scene: &mut Scene) {
        let work = &self.works[&number];
        let right = self.completion(number, work);
        let FrameRange { start, end } = right.range;
        let kind = scene.dice.below(7);
        // Another content needs another digest.
        let right = Completion { digest: Digest(right.digest.0 | (kind as u128 + 2)), ..right };
        let wrong = match kind {
            0 => Completion { chunk: right.chunk + 1, ..right },
            1 => Completion { chunk: right.chunk.saturating_sub(1).max(1), attempt: None, ..right },
            2 => Completion { range: FrameRange { start, end: end + 1 }, ..right },
            3 => Completion { attempt: right.attempt.map(|attempt| attempt + 1), ..right },
            4 => {
                let task = FrameTaskId { start: end, ..right.task.clone() };
                Completion { task, ..right }
            }
            5 => Completion { range: FrameRange { start, end: end + 2 }, attempt: None, ..right },
            _ => Completion { dropped: 1, ..right },
        };
        scene.count("completion that is wrong");
        let command = FrameCommand::Complete(Box::new(wrong));
        self.call(command, Call::Result { work: number, honest: false }, scene);
    }

    fn gossip(&self, completion: &Completion, scene: &mut Scene) {
        let place = scene.dice.below(GOSSIP_MAX);
        if scene.gossip.len() < GOSSIP_MAX {
            scene.gossip.push(completion.clone());
        } else {
            scene.gossip[place] = completion.clone();
        }
    }
}

/// True if a completion was refused because it says that frames were dropped.
pub(super) fn are_dropped(answer: &Answer) -> bool {
    answer.as_ref().is_err_and(|problem| problem.detail().contains("were dropped"))
}

const PAST_MAX: usize = 8;
const GOSSIP_MAX: usize = 16;
