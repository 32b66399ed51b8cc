//! N18: one line per device, never two tasks on one device, at most so many at once.

use super::{Chore, Plain, Style};
use crate::scene::Scene;
use muster_model::{Fence, Handout, Name, TaskId, Timestamp};

/// One attempt in the hands of a node.
#[derive(Clone, Debug)]
pub(super) struct Work {
    pub(super) number: u64,
    pub(super) task: TaskId,
    pub(super) device: Name,
    pub(super) attempt: u16,
    pub(super) fence: Fence,
    pub(super) began: Timestamp,
    pub(super) fails: bool,
}

impl Plain {
    /// Takes a job; one that is here already is not taken twice, a newer attempt replaces the older.
    pub(super) fn take(&mut self, handout: &Handout, scene: &mut Scene) {
        let known = self.latest.get(&handout.task).copied().unwrap_or(0);
        if known >= handout.attempt {
            scene.count(if known == handout.attempt { "redelivered" } else { "older attempt ignored" });
            return;
        }
        self.abandon(handout.task, scene);
        self.latest.insert(handout.task, handout.attempt);
        let number = self.number();
        self.line.push_back(Work {
            number,
            task: handout.task,
            device: handout.lane.clone(),
            attempt: handout.attempt,
            fence: handout.fence,
            began: scene.now,
            fails: false,
        });
        self.begin_work(scene);
    }

    /// Begins what has a free slot and a free, usable device.
    pub(in crate::node) fn begin_work(&mut self, scene: &mut Scene) {
        while self.site.up && self.running.len() < self.site.slots as usize {
            let free =
                |work: &Work| !self.running.contains_key(&work.device) && self.site.is_usable(&work.device);
            let Some(place) = self.line.iter().position(free) else {
                return;
            };
            let Some(mut work) = self.line.remove(place) else {
                return;
            };
            work.began = scene.now;
            work.fails = scene.dice.chance(if scene.calm { 50 } else { 200 });
            self.plan_end(&work, scene);
            self.spool_started(&work, scene);
            self.running.insert(work.device.clone(), work);
        }
    }

    /// Ends a task: it is over on the device, or it was told to stop.
    pub(super) fn finish(&mut self, number: u64, scene: &mut Scene) {
        let found = self.running.iter().find(|(_, work)| work.number == number);
        let Some(device) = found.map(|(device, _)| device.clone()) else {
            return;
        };
        if let Some(work) = self.running.remove(&device) {
            match self.style {
                Style::Rpc => self.conclude(&work, scene),
                Style::Foreign => self.spool_finished(&work, scene),
            }
        }
        self.begin_work(scene);
    }

    /// Ends whatever attempt of a task is here, and reports its end.
    pub(super) fn abandon(&mut self, task: TaskId, scene: &mut Scene) {
        let running = self.running.values_mut().find(|work| work.task == task);
        if let Some(work) = running {
            work.fails = true;
            let number = work.number;
            self.finish(number, scene);
            return;
        }
        let waiting = self.line.iter().position(|work| work.task == task);
        if let Some(mut work) = waiting.and_then(|place| self.line.remove(place)) {
            work.fails = true;
            self.spool_finished(&work, scene);
        }
    }

    /// Work on a device that is gone fails soon.
    pub(in crate::node) fn interrupt(&mut self, device: &Name, scene: &mut Scene) {
        let Some(work) = self.running.get_mut(device) else {
            return;
        };
        work.fails = true;
        let number = work.number;
        self.site.plan(scene, 50..=3_000, Chore::Finish(number));
    }

    /// Most work takes seconds; some hangs until somebody stops it.
    fn plan_end(&self, work: &Work, scene: &mut Scene) {
        let span = match scene.dice.below(100) {
            0..4 if !scene.calm => {
                scene.count("work hangs");
                return;
            }
            4..12 if !scene.calm => 10_000..=60_000,
            _ => 200..=6_000,
        };
        self.site.plan(scene, span, Chore::Finish(work.number));
    }
}
