//! Any server takes any request, and brings it to the one that it believes to lead (S18).

use super::{Coordinator, server::Cut};
use crate::{
    network::{Sender, Ticket, Way},
    scene::{Happening, Scene},
};
use muster_model::{Command, FrameCommand, Millis, PoolCommand, Registration};
use std::rc::Rc;

impl Coordinator {
    /// A request reaches a server; there may be none, or one that does not lead.
    pub(crate) fn arrives(&mut self, mut ticket: Ticket, scene: &mut Scene) {
        if !self.is_shared() {
            return self.arrives_alone(ticket, scene);
        }
        let entry = ticket.way.entry.unwrap_or_else(|| self.door(ticket.sender, scene));
        if ticket.way.entry.is_none() {
            self.enter(&mut ticket, entry, scene);
        }
        if self.servers[entry].incarnation != ticket.way.starts.0 {
            return scene.count("request lost with its server");
        }
        if let Some(until) = self.thaws_at(entry, scene.now) {
            return scene.agenda.plan(until, Happening::Arrives(Box::new(ticket)));
        }
        let place = &self.servers[entry];
        if !place.up {
            return self.knock_next(ticket, entry, scene);
        }
        if place.is_cut(Cut::Outside) {
            scene.count("request lost on its way to a server");
            return self.try_next(ticket.sender, entry);
        }
        if place.life.is_some() {
            return self.let_in(entry, ticket, scene);
        }
        match place.post.lead.filter(|_| !place.is_cut(Cut::Others)) {
            Some(lead) if !self.servers[lead].is_cut(Cut::Others) => self.pass_on(ticket, lead, scene),
            _ => self.hold(ticket, scene),
        }
    }

    /// A request reaches the server that another believes to lead.
    pub(crate) fn forwarded(&mut self, ticket: Ticket, scene: &mut Scene) {
        let Some(leader) = ticket.way.leader else {
            return;
        };
        let place = &self.servers[leader];
        if !place.up || place.is_cut(Cut::Others) || place.incarnation != ticket.way.starts.1 {
            scene.count("forwarded to nobody");
            return self.hold(ticket, scene);
        }
        if place.life.is_none() {
            scene.count("forwarded to one that does not lead");
            return self.hold(ticket, scene);
        }
        self.let_in(leader, ticket, scene);
    }

    /// True if an answer finds its way back.
    pub(crate) fn brings_back(&self, way: &Way) -> bool {
        let Some(entry) = way.entry.map(|entry| &self.servers[entry]) else {
            return true;
        };
        let leader =
            way.leader.map(|leader| &self.servers[leader]).filter(|leader| leader.number != entry.number);
        let is_joined = leader.is_none_or(|leader| !leader.is_cut(Cut::Others) && !entry.is_cut(Cut::Others));
        entry.up && !entry.is_cut(Cut::Outside) && is_joined
    }

    /// True if a life's server reaches workers, and they it.
    pub(crate) fn reaches_out(&self, life: u32) -> bool {
        let server = self.server_of(life).map(|server| &self.servers[server]);
        server.is_none_or(|server| !server.is_cut(Cut::Outside))
    }

    fn arrives_alone(&mut self, ticket: Ticket, scene: &mut Scene) {
        match &self.servers[0].life {
            Some(_) => self.let_in(0, ticket, scene),
            None if scene.dice.chance(scene.plan.turned_away) => {
                scene.count("request turned away");
                scene.turn_away(ticket);
            }
            None => scene.count("request found nobody"),
        }
    }

    /// The door of a server that leads, as far as it knows.
    fn let_in(&mut self, server: usize, mut ticket: Ticket, scene: &mut Scene) {
        let Some(life) = &mut self.servers[server].life else {
            return;
        };
        ticket.way.epoch = life.epoch;
        if life.turns_out(&ticket) {
            scene.count("token refused");
            return scene.turn_out(ticket);
        }
        let ticket = enrol(ticket, scene);
        life.receive(ticket, scene);
    }

    /// Sends a request on. One that breaks off on its way is sent again only if that can do no harm.
    fn pass_on(&self, mut ticket: Ticket, lead: usize, scene: &mut Scene) {
        scene.count("request forwarded");
        ticket.way.leader = Some(lead);
        ticket.way.starts.1 = self.servers[lead].incarnation;
        let lost = scene.plan.servers.as_ref().map_or(0, |plan| plan.lost);
        let is_cut = !scene.calm && scene.dice.chance(lost);
        let is_there = !is_cut || scene.dice.chance(500);
        if is_there {
            scene.within(1, 5, Happening::Forwarded(Box::new(ticket.clone())));
        }
        if is_cut && may_repeat(&ticket.command) {
            scene.count("forwarded again");
            scene.within(1, 200, Happening::Forwarded(Box::new(ticket)));
        } else if is_cut {
            scene.count("request broken off on its way to the leader");
            scene.turn_away(ticket);
        }
    }

    /// Holds a request while this server knows of no leader; rejects it after a while.
    fn hold(&mut self, mut ticket: Ticket, scene: &mut Scene) {
        ticket.way.leader = None;
        if scene.now < ticket.way.until {
            return scene.within(50, 500, Happening::Arrives(Box::new(ticket)));
        }
        scene.count("request turned away");
        if let Some(entry) = ticket.way.entry {
            self.try_next(ticket.sender, entry);
        }
        scene.turn_away(ticket);
    }

    /// A request begins its way.
    fn enter(&self, ticket: &mut Ticket, entry: usize, scene: &Scene) {
        let starts = (self.servers[entry].incarnation, 0);
        ticket.way = Way { entry: Some(entry), starts, until: scene.now + HELD_MAX, ..Way::default() };
    }

    /// Sends a request to the caller's next address, because the server at this one is down.
    fn knock_next(&mut self, mut ticket: Ticket, entry: usize, scene: &mut Scene) {
        self.try_next(ticket.sender, entry);
        ticket.way.tried += 1;
        if ticket.way.tried == self.servers.len() {
            return scene.count("request found nobody");
        }
        let next = (entry + 1) % self.servers.len();
        (ticket.way.entry, ticket.way.starts.0) = (Some(next), self.servers[next].incarnation);
        scene.within(1, 20, Happening::Arrives(Box::new(ticket)));
    }

    /// Whom a sender asks.
    fn door(&mut self, sender: Sender, scene: &mut Scene) -> usize {
        let count = self.servers.len();
        if sender == Sender::Client {
            return scene.dice.below(count);
        }
        *self.doors.entry(sender).or_insert_with(|| scene.dice.below(count))
    }

    /// A sender that was not served asks another server next time.
    fn try_next(&mut self, sender: Sender, entry: usize) {
        self.doors.insert(sender, (entry + 1) % self.servers.len());
    }
}

/// Gives a registering worker a token, a new one each time (S1).
fn enrol(ticket: Ticket, scene: &mut Scene) -> Ticket {
    let Command::Frames(FrameCommand::Register(registration)) = &*ticket.command else {
        return ticket;
    };
    let token_hash = scene.dice.bytes();
    let registration = Registration { token_hash, ..(**registration).clone() };
    let command = Rc::new(Command::Frames(FrameCommand::Register(Box::new(registration))));
    Ticket { command, token: Some(token_hash), ..ticket }
}

/// True if a request is recognised when it comes again.
fn may_repeat(command: &Command) -> bool {
    match command {
        Command::Submit(submission) => submission.key.is_some(),
        Command::Pool(PoolCommand::Submit(submission)) => submission.key.is_some(),
        _ => false,
    }
}

/// Maximum time for which a request is held while there is no leader.
const HELD_MAX: Millis = Millis(5_000);
