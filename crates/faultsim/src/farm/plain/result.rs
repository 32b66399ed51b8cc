//! S5, S5b: what is told of a work that is over; now and then what should not be told.

use super::{Answer, Call, Chore, Plain, work::Work};
use crate::scene::Scene;
use muster_model::{Completion, Digest, FrameCommand, FrameRange, FrameTaskId};

impl Plain {
    /// A work is over.
    pub(super) fn finish(&mut self, number: u64, scene: &mut Scene) {
        let Some(work) = self.works.get(&number) else {
            return;
        };
        let result = match work.fate {
            super::work::Fate::Fails => FrameCommand::Fail {
                task: work.handout.task.clone(),
                worker: Some(self.rig.name.clone()),
                attempt: scene.dice.chance(700).then_some(work.handout.attempt),
                error: "gone wrong".into(),
            },
            _ => {
                let attempt = scene.dice.chance(700).then_some(work.handout.attempt);
                let right = self.completion(number, work);
                // What progress told of need not be told again.
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
            self.call((command, Call::Result { work: number, honest: true }), scene);
        }
    }

    pub(super) fn told(&mut self, (number, honest): (u64, bool), answer: Answer, scene: &mut Scene) {
        let are_dropped = answer.as_ref().is_err_and(|problem| problem.detail().contains("were dropped"));
        if !honest && !are_dropped {
            return self.tell(number, scene);
        }
        let result = self.works.remove(&number).and_then(|work| work.result);
        scene.count(match (&answer, &result) {
            (Ok(_), Some(FrameCommand::Complete(_))) => "completion taken",
            (Ok(_), _) => "failure taken",
            (Err(_), _) if are_dropped => "completion with dropped frames refused",
            (Err(_), _) => "result refused",
        });
        if let Some(FrameCommand::Complete(completion)) = result {
            self.remember(*completion, scene);
        }
        self.want_more((0, 500), scene);
    }

    /// What would be handed in of a work.
    pub(super) fn completion(&self, number: u64, work: &Work) -> Completion {
        let handout = &work.handout;
        let place = (self.rig.number as u128) << 64 | u128::from(self.rig.incarnation) << 32;
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
        self.rig.plan(scene, (5_000, 20_000), Chore::Relapse);
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
        self.call((FrameCommand::Complete(Box::new(completion)), Call::Else), scene);
    }

    /// Says something wrong of a work first.
    fn tell_nonsense(&mut self, number: u64, scene: &mut Scene) {
        let work = &self.works[&number];
        let right = self.completion(number, work);
        let FrameRange { start, end } = right.range;
        let kind = scene.dice.below(7);
        // What says something else is another body.
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
        self.call((command, Call::Result { work: number, honest: false }), scene);
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

const PAST_MAX: usize = 8;
const GOSSIP_MAX: usize = 16;
