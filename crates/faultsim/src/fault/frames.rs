//! What goes wrong with the workers of sessions.

use super::Fault;
use crate::{
    agenda::Happening,
    checker::Verdict,
    coordinator::{Doom, Ending},
    network::Sender,
    world::World,
};
use muster_model::Millis;

impl World {
    pub(super) fn draw_frame_fault(&mut self) -> Verdict {
        let renderer = self.scene.dice.below(self.farm.renderers.len());
        match self.scene.dice.below(20) {
            0..3 => return self.end_coordinator(Ending::Crash),
            3..6 => self.coordinator.doom(Doom::Crash),
            6 => return self.end_coordinator(Ending::Stop),
            7..10 => self.cut(Sender::Renderer(renderer)),
            10..14 => self.crash_renderer(renderer),
            14..17 => self.freeze(renderer),
            17 => {
                let span = Millis(self.scene.dice.between(5_000, 60_000));
                self.farm.renderers[renderer].go_deaf(span, &mut self.scene);
            }
            _ => return self.see_off(renderer),
        }
        Ok(())
    }

    pub(super) fn restart_renderer(&mut self, renderer: usize) -> Verdict {
        if self.farm.closed || self.farm.renderers[renderer].rig().up {
            return Ok(());
        }
        self.scene.note(|| format!("renderer {renderer}: starts again"));
        self.farm.renderers[renderer].begin(&mut self.scene)
    }

    fn crash_renderer(&mut self, renderer: usize) {
        if self.farm.renderers[renderer].rig().up {
            self.scene.note(|| format!("renderer {renderer}: crashes"));
            self.farm.renderers[renderer].crash(&mut self.scene);
            let back = Fault::RestartRenderer(renderer);
            self.scene.within(100, 20_000, Happening::Fault(Box::new(back)));
        }
    }

    /// It falls silent, mostly for longer than it is waited for, and goes on as if nothing had been.
    fn freeze(&mut self, renderer: usize) {
        let limit = self.scene.plan.settings.frames.silence_max().0;
        let span = self.scene.dice.between(limit / 2, limit * 4);
        self.scene.note(|| format!("renderer {renderer}: stands still for {span} ms"));
        self.farm.renderers[renderer].freeze(Millis(span), &mut self.scene);
    }

    fn see_off(&mut self, renderer: usize) -> Verdict {
        if !self.farm.renderers[renderer].rig().up {
            return Ok(());
        }
        self.scene.note(|| format!("renderer {renderer}: leaves"));
        self.farm.renderers[renderer].leave(&mut self.scene)
    }
}
