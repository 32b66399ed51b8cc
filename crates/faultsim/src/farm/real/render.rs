//! Course of a task: most take seconds, some fail, drop frames or hang.

use super::{Chore, Real};
use crate::{
    checker::{Verdict, broken},
    farm::{Fate, pause, wire},
    scene::Scene,
};
use muster_model::{Completion, Digest, Ratio};
use muster_workers::simulation::{
    Task,
    core::{End, Seen, Work},
};
use std::sync::Arc;

/// A work in execution.
pub(super) struct Render {
    task: Arc<Task>,
    processed: u64,
    dropped: u64,
    fate: Fate,
    /// Counts how often it took another way than planned.
    turn: u32,
}

impl Render {
    /// Progress so far.
    fn seen(&self) -> Seen {
        let last_frame = self.processed.checked_sub(1).map(|last| self.task.frames.start + last);
        Seen { processed: self.processed, last_frame, dropped: self.dropped, ..Seen::default() }
    }
}

impl Real {
    pub(super) fn begin_work(&mut self, work: &Work, scene: &mut Scene) -> Verdict {
        let Work { number, task } = work;
        scene.note(|| format!("{}: begins {} with chunk {}", self.rig.name, task.id, task.ids.chunk));
        let epoch = self.life().epoch;
        if task.epoch < epoch {
            return broken("older_term_obeyed", || {
                format!("{} knows of term {epoch}: {task:?}", self.rig.name)
            });
        }
        if !self.begun.insert(task.ids.chunk) {
            return broken("chunk_rendered_twice", || format!("{}: {task:?}", self.rig.name));
        }
        if self.life().works.len() >= self.rig.slots as usize {
            return broken("more_renders_than_slots", || format!("{}: {task:?}", self.rig.name));
        }
        let (fate, pause) = (Fate::draw(&task.session, task.frames, scene), pause(scene));
        let render = Render { task: Arc::clone(task), processed: 0, dropped: 0, fate, turn: 0 };
        self.life().works.insert(*number, render);
        self.machine.plan(scene, pause, Chore::Advance { work: *number, turn: 0 });
        Ok(())
    }

    /// The next thing happens to a work; one that is told to stand still does.
    pub(super) fn advance(&mut self, number: u64, turn: u32, scene: &mut Scene) {
        let is_still = self.life().pace == Ratio(0);
        let Some(render) = self.life().works.get_mut(&number).filter(|render| render.turn == turn) else {
            return;
        };
        match render.fate {
            Fate::Dies => return self.end(number, End::Stopped, scene),
            Fate::Hangs => return scene.count("render hangs"),
            _ if is_still => {
                // Nothing is made, and what waits to be written is.
                let seen = Seen { queue: Ratio(100_000), ..render.seen() };
                self.life().core.progressed(number, seen, scene.now);
                return self.machine.plan(scene, 500..=3_000, Chore::Advance { work: number, turn });
            }
            _ => {}
        }
        let frames = render.task.frames.len();
        let drops = scene.plan.frames.as_ref().map_or(0, |plan| plan.drops);
        render.processed += scene.dice.between(1, i64::try_from(frames).unwrap_or(1)).unsigned_abs();
        render.dropped += u64::from(!scene.calm && scene.dice.chance(drops / 2));
        if render.processed >= frames {
            return self.finish(number, scene);
        }
        let seen = Seen { queue: queue(scene), ..render.seen() };
        self.life().core.progressed(number, seen, scene.now);
        let pause = pause(scene);
        self.machine.plan(scene, pause, Chore::Advance { work: number, turn });
    }

    /// Something of a killed work runs for a while yet.
    pub(super) fn kill(&mut self, number: u64, scene: &mut Scene) {
        scene.count("render killed");
        let Some(render) = self.life().works.get_mut(&number) else {
            return;
        };
        render.turn += 1;
        render.fate = Fate::Dies;
        let turn = render.turn;
        self.machine.plan(scene, 10..=2_000, Chore::Advance { work: number, turn });
    }

    /// Lets hanging works go on.
    pub(super) fn mend(&mut self, scene: &mut Scene) {
        let hanging = self.life().works.iter_mut().filter(|(_, render)| render.fate == Fate::Hangs);
        let mended = hanging.map(|(number, render)| {
            (render.turn, render.fate) = (render.turn + 1, Fate::Succeeds);
            Chore::Advance { work: *number, turn: render.turn }
        });
        let mended: Vec<Chore> = mended.collect();
        mended.into_iter().for_each(|chore| self.machine.plan(scene, 10..=2_000, chore));
    }

    fn finish(&mut self, number: u64, scene: &mut Scene) {
        let place = (self.rig.number as u128) << 64 | u128::from(self.machine.incarnation) << 32;
        let digest = (place | u128::from(number)) << 8;
        let name = self.rig.name.clone();
        let Render { task, dropped, fate, .. } = &self.life().works[&number];
        let end = match fate {
            Fate::Fails => End::Failed { error: "gone wrong".into() },
            _ => {
                let completion = Completion {
                    task: task.id.parse().expect("a task has the id it was given"),
                    worker: Some(name),
                    attempt: Some(task.attempt),
                    range: task.frames,
                    chunk: task.ids.chunk,
                    dropped: *dropped,
                    digest: Digest(digest),
                    result: "".into(),
                    dry: false,
                };
                let body = wire::completion_body(&completion);
                End::Finished { body: String::from_utf8_lossy(&body).into() }
            }
        };
        self.end(number, end, scene);
    }

    fn end(&mut self, number: u64, end: End, scene: &Scene) {
        self.life().works.remove(&number);
        self.life().core.ended(number, end, scene.now);
    }
}

fn queue(scene: &mut Scene) -> Ratio {
    let full = !scene.calm && scene.dice.chance(60);
    Ratio(if full { 1_000_000 } else { u32::try_from(scene.dice.between(0, 900_000)).unwrap_or(0) })
}
