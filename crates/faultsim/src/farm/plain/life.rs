//! S1, S2, S6, S19: how it becomes known, shows that it lives, and does what it is told.

use super::{Answer, Call, Chore, Content, Plain};
use crate::{network::Ticket, scene::Scene};
use muster_contract_simulation::{HeartbeatResponse, Order};
use muster_model::{FrameCommand, Heartbeat, Held, Millis, Ratio};

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
        let Ok(Content::Registered { epoch }) = answer else {
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
            Ok(Content::Beat(beat)) => self.obey(beat, scene),
            Err(problem) if problem.status() == 404 => self.lose(scene),
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

    fn obey(&mut self, beat: HeartbeatResponse, scene: &mut Scene) {
        self.epoch = self.epoch.max(beat.epoch.unwrap_or_default());
        self.is_slowed = beat.backpressure.is_some_and(|backpressure| backpressure.factor == Ratio(0));
        match beat.state.as_deref() {
            Some("zombie") if self.bound => {
                scene.count("zombie noticed");
                self.bound = Self::misbehaves(scene);
                self.abandon_all(scene);
                return self.rig.plan(scene, (3_000, 20_000), Chore::Register);
            }
            Some("Quarantined") => self.abandon_all(scene),
            _ => {}
        }
        for order in beat.commands {
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
