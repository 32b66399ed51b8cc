//! What arrives, at whom it arrives.

use super::World;
use crate::{
    agenda::Happening,
    checker::Verdict,
    coordinator::{Push, PushAnswer},
    network::{Returned, Sender, Ticket},
};
use muster_model::{Rejection, Reply, Timestamp};

impl World {
    /// A request reaches the server, or something in front of it that refuses it.
    pub(super) fn arrives(&mut self, ticket: Ticket) {
        let scene = &mut self.scene;
        if ticket.way.entry.is_some() {
            // It waits there since.
            return self.coordinator.arrives(ticket, scene);
        }
        if scene.refuses(&ticket, |node| self.nodes[node].is_agent()) {
            scene.count("report refused on its way");
            self.checker.refused_on_its_way(&ticket);
            return scene.answer(ticket, Err(Rejection::WorkerUnknown));
        }
        scene.note(|| format!("{:?} asks {:?}", ticket.sender, ticket.command));
        self.coordinator.arrives(ticket, scene);
    }

    /// An answer reaches whoever asked.
    pub(super) fn returns(&mut self, ticket: &Ticket, result: Result<Reply, Rejection>) -> Verdict {
        let scene = &mut self.scene;
        scene.note(|| format!("{:?} hears {result:?}", ticket.sender));
        if scene.network.is_cut(ticket.sender) || !self.coordinator.brings_back(&ticket.way) {
            scene.count("answer lost in a partition");
            return Ok(());
        }
        match ticket.sender {
            Sender::Node(node) => {
                self.nodes[node].hear(Returned { ticket, result }, scene, &mut self.checker)
            }
            Sender::Renderer(renderer) => self.farm.renderers[renderer].hear(ticket, &result, scene),
            Sender::Member(member) => self.pool.members[member].hear((ticket, result), scene),
            Sender::Client => {
                self.clients.hear(ticket, &result);
                self.farm.director.hear(ticket);
                self.pool.patron.hear(ticket);
                Ok(())
            }
            Sender::Errand => Ok(()),
        }
    }

    /// Whoever asked is told that the coordinator is away.
    pub(super) fn turned_away(&mut self, ticket: &Ticket) -> Verdict {
        let scene = &mut self.scene;
        match ticket.sender {
            place if scene.network.is_cut(place) => Ok(()),
            Sender::Node(node) => self.nodes[node].turned_away(ticket, scene, &mut self.checker),
            Sender::Renderer(renderer) => self.farm.renderers[renderer].turned_away(ticket, scene),
            Sender::Member(member) => self.pool.members[member].turned_away(ticket, scene),
            Sender::Client | Sender::Errand => Ok(()),
        }
    }

    /// Whoever asked is told that its token is not known.
    pub(super) fn turned_out(&mut self, ticket: &Ticket) -> Verdict {
        match ticket.sender {
            place if self.scene.network.is_cut(place) => Ok(()),
            Sender::Renderer(renderer) => self.farm.renderers[renderer].turned_out(ticket, &mut self.scene),
            _ => Ok(()),
        }
    }

    /// Whatever concerns a worker or a server that stands still waits until it goes on.
    pub(super) fn frozen(&mut self, happening: &Happening) -> Option<Timestamp> {
        if let Some(until) = self.coordinator.waits_until(happening, &mut self.scene) {
            return Some(until);
        }
        let place = match happening {
            Happening::Renderer { renderer, .. } => Sender::Renderer(*renderer),
            Happening::Member { member, .. } => Sender::Member(*member),
            Happening::Pushed(push) => Sender::Renderer(push.renderer),
            Happening::Returns(answer) => answer.0.sender,
            Happening::TurnedAway(ticket) | Happening::TurnedOut(ticket) => ticket.sender,
            _ => return None,
        };
        match place {
            Sender::Renderer(renderer) => self.farm.thaws_at(renderer, self.scene.now),
            Sender::Member(member) => self.pool.thaws_at(member, self.scene.now),
            Sender::Node(_) | Sender::Client | Sender::Errand => None,
        }
    }

    /// A task that was pushed reaches its worker; what that says goes back.
    pub(super) fn pushed(&mut self, push: &Push) -> Verdict {
        let place = Sender::Renderer(push.renderer);
        if self.scene.network.is_cut(place) || !self.coordinator.reaches_out(push.life) {
            return Ok(());
        }
        let renderer = &mut self.farm.renderers[push.renderer];
        self.checker.frames.pushed(&renderer.rig().name, &push.handout)?;
        if let Some(acked) = renderer.pushed(push, &mut self.scene)? {
            let answer = PushAnswer { life: push.life, number: push.number, acked };
            self.scene.transmit(place, Happening::Acked(answer));
        }
        Ok(())
    }
}
