//! S1, S2, S6, S19: how it becomes known, shows that it lives, and does what it is told.

use super::{Call, Chore, Plain};
use crate::{network::Ticket, scene::Scene};
use muster_model::{
    Beat, FrameCommand, FrameRejection, FrameReply, Heartbeat, Held, Millis, Order, Pressure, Ratio,
    RegistrationReply, RendererState,
};

type Answer = Result<FrameReply, FrameRejection>;

impl Plain {
    pub(super) fn register(&mut self, scene: &mut Scene) {
        if self.calls.values().any(|call| matches!(call, Call::Register)) {
            return;
        }
        let ticket = self.rig.register(scene);
        self.calls.insert(ticket.exchange, Call::Register);
        self.rig.plan(scene, super::PATIENCE_MS, Chore::GiveUp(ticket.exchange));
    }

    pub(super) fn registered(&mut self, ticket: &Ticket, answer: Answer, scene: &mut Scene) {
        let Ok(FrameReply::Registered(RegistrationReply { epoch })) = answer else {
            scene.count("registration refused");
            return self.rig.plan(scene, (2_000, 8_000), Chore::Register);
        };
        self.rig.enrolled(ticket);
        self.epoch = epoch;
        (self.bound, self.paused, self.is_slowed) = (true, false, false);
        self.round += 1;
        self.rig.plan(scene, (0, 200), Chore::Beat(self.round));
        self.want_more((0, 300), scene);
    }

    pub(super) fn beat(&mut self, scene: &mut Scene) {
        let heartbeat = self.heartbeat(scene);
        self.call((FrameCommand::Heartbeat(heartbeat), Call::Beat), scene);
        let interval = Self::interval(scene).0;
        self.rig.plan(scene, (interval * 7 / 10, interval), Chore::Beat(self.round));
    }

    pub(super) fn beaten(&mut self, answer: Answer, scene: &mut Scene) {
        match answer {
            Ok(FrameReply::Beat(beat)) => self.obey(beat, scene),
            Err(FrameRejection::RendererUnknown) => self.lose(scene),
            _ => {}
        }
    }

    /// Tells a new term what it is at (S19).
    pub(super) fn rebind(&mut self, scene: &mut Scene) {
        let held = self.works.values().find(|work| !work.is_stolen).map(|work| Held {
            task: work.handout.task.clone(),
            attempt: work.handout.attempt,
            chunk: work.handout.ids.chunk,
        });
        let command = FrameCommand::Rebind { worker: self.rig.name.clone(), held };
        self.call((command, Call::Rebind), scene);
    }

    /// It is not what it believed to be: it enrols anew, and mostly lets go of what it is at.
    pub(super) fn lose(&mut self, scene: &mut Scene) {
        self.bound = false;
        self.abandon_all(scene);
        self.rig.plan(scene, (0, 2_000), Chore::Register);
    }

    /// Takes its leave, and is back after a while; until then it may go on calling (S6).
    pub(in crate::farm) fn leave(&mut self, scene: &mut Scene) {
        let command = FrameCommand::Remove { worker: self.rig.name.clone(), itself: true };
        self.call((command, Call::Else), scene);
        self.abandon_all(scene);
        self.bound = scene.dice.chance(500);
        self.rig.plan(scene, (3_000, 20_000), Chore::Register);
    }

    fn heartbeat(&self, scene: &mut Scene) -> Heartbeat {
        let queue = match scene.dice.below(100) {
            _ if scene.calm => 100_000,
            0..5 => 1_100_000,
            5..10 => scene.dice.between(850_000, 999_999),
            _ => scene.dice.between(0, 849_999),
        };
        let slow = !scene.calm && scene.dice.chance(30);
        Heartbeat {
            worker: self.rig.name.clone(),
            queue_ratio: Ratio(u32::try_from(queue).unwrap_or(0)),
            gpu_usage: None,
            last_frame: self.works.values().map(|work| work.processed).next(),
            error: !scene.calm && scene.dice.chance(30),
            rtt: Some(Millis(if slow { 700 } else { 30 })),
        }
    }

    fn obey(&mut self, beat: Beat, scene: &mut Scene) {
        self.epoch = self.epoch.max(beat.epoch);
        self.is_slowed = beat.pressure == Pressure::Pause;
        match beat.state {
            RendererState::Removed if self.bound => {
                scene.count("zombie noticed");
                self.bound = Self::misbehaves(scene);
                self.abandon_all(scene);
                return self.rig.plan(scene, (3_000, 20_000), Chore::Register);
            }
            RendererState::Quarantined => self.abandon_all(scene),
            _ => {}
        }
        for order in beat.orders {
            match order {
                Order::Rebind => self.rebind(scene),
                Order::Reregister => return self.lose(scene),
                Order::Pause => self.paused = true,
                Order::Resume => {
                    self.paused = false;
                    self.want_more((0, 500), scene);
                }
                Order::Stop(task) => {
                    scene.count("renderer told to stop");
                    for work in self.holds(&task) {
                        self.abandon(work, scene);
                    }
                }
            }
        }
    }
}
