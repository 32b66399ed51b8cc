//! Faults of nodes, workers, the network and of servers that share a store (S18), and their ends.

use crate::{
    checker::Verdict,
    coordinator::{CommitFault, Cut, Ending},
    machine,
    network::Sender,
    node::Attached,
    plan::name,
    scene::Happening,
    world::World,
};
use muster_model::{Attachment, Millis, Name};
use std::ops::RangeInclusive;

/// One fault, or its end.
#[derive(Clone, Debug)]
pub(crate) enum Fault {
    /// Draw the next fault.
    Draw,
    /// The network of somebody is whole again.
    Heal(Sender),
    /// A crashed machine starts again.
    Restart(Sender),
    /// There is room on the disk of a node again.
    MakeRoom(usize),
    /// A device comes back, perhaps at another node.
    Replug(usize, Name, Attached),
    /// A device is well again.
    Settle(usize, Name),
    /// A server reaches somebody again.
    HealServer(usize, Cut),
}

impl World {
    pub(crate) fn go_wrong(&mut self, fault: Fault) -> Verdict {
        match fault {
            Fault::Draw if self.scene.calm => Ok(()),
            Fault::Draw => {
                let pause = self.scene.plan.fault_every.0;
                self.scene.within(pause / 4, pause * 2, Happening::Fault(Box::new(Fault::Draw)));
                self.draw_fault()
            }
            Fault::Heal(place) => {
                self.scene.note(|| format!("network: {place:?} is reachable again"));
                self.scene.network.set_cut(place, false);
                Ok(())
            }
            Fault::Restart(place) => self.restart(place),
            Fault::HealServer(server, cut) => {
                self.coordinator.heal(server, cut, &self.scene);
                Ok(())
            }
            Fault::MakeRoom(node) => {
                self.nodes[node].agent().into_iter().for_each(|agent| agent.make_room());
                Ok(())
            }
            Fault::Replug(node, device, attached) => {
                self.scene.note(|| format!("node {node}: {device} is plugged in"));
                self.nodes[node].plug(device, attached, &mut self.scene);
                Ok(())
            }
            Fault::Settle(node, device) => {
                self.nodes[node].disturb(&device, Attachment::Online, &mut self.scene);
                Ok(())
            }
        }
    }

    fn draw_fault(&mut self) -> Verdict {
        if self.strikes_servers() {
            return self.draw_server_fault();
        }
        let is_alone = self.nodes.is_empty() && self.farm.renderers.is_empty();
        if !self.pool.members.is_empty() && (is_alone || self.scene.dice.chance(500)) {
            let member = self.scene.dice.below(self.pool.members.len());
            return self.draw_worker_fault(Sender::Member(member));
        }
        if !self.farm.renderers.is_empty() && (self.nodes.is_empty() || self.scene.dice.chance(600)) {
            let renderer = self.scene.dice.below(self.farm.renderers.len());
            return self.draw_worker_fault(Sender::Renderer(renderer));
        }
        let node = self.scene.dice.below(self.nodes.len());
        match self.scene.dice.below(25) {
            0..2 => return self.end_coordinator(Ending::Crash),
            2..4 => self.coordinator.doom(CommitFault::Crash),
            4 => return self.end_coordinator(Ending::Stop),
            5..8 => self.cut(Sender::Node(node)),
            8..11 => self.crash(Sender::Node(node), 500..=60_000),
            11..14 => self.unplug_one(node),
            14..16 => self.move_one(node),
            16..18 => self.disturb_one(node),
            18..21 => {
                let agent = self.nodes[node].agent();
                agent.into_iter().for_each(|agent| agent.spoil_disk(&mut self.scene));
            }
            21..23 => {
                let agent = self.nodes[node].agent();
                agent.into_iter().for_each(|agent| agent.ask_to_leave(&mut self.scene));
            }
            _ => self.drop_hub(node),
        }
        Ok(())
    }

    /// Ends the server that leads, and plans its next start.
    pub(crate) fn end_coordinator(&mut self, ending: Ending) -> Verdict {
        match self.coordinator.leader() {
            Some(server) => self.end_server(server, ending),
            None => Ok(()),
        }
    }

    fn cut(&mut self, place: Sender) {
        self.scene.count("partition");
        self.scene.note(|| format!("network: {place:?} is cut off"));
        self.scene.network.set_cut(place, true);
        let span = self.scene.outage_ms(60_000);
        self.scene.within(2_000, span, Happening::Fault(Box::new(Fault::Heal(place))));
    }

    fn restart(&mut self, place: Sender) -> Verdict {
        let is_closed = match place {
            Sender::Renderer(_) => self.farm.closed,
            Sender::Member(_) => self.pool.closed,
            _ => false,
        };
        match self.at(place) {
            Some((program, scene)) if !program.machine().up && !is_closed => {
                scene.note(|| format!("{place:?}: starts again"));
                program.begin(scene)
            }
            _ => Ok(()),
        }
    }

    /// A machine crashes, and is back after a while.
    fn crash(&mut self, place: Sender, back: RangeInclusive<i64>) {
        if let Some((program, scene)) = self.at(place).filter(|(program, _)| program.machine().up) {
            scene.note(|| format!("{place:?}: crashes"));
            machine::crash(program, scene);
            if !program.machine().up {
                program.machine().plan_restart(scene, back);
            }
        }
    }

    /// A machine is asked to end in order.
    fn see_off(&mut self, place: Sender) -> Verdict {
        match self.at(place) {
            Some((program, scene)) if program.machine().up => {
                scene.note(|| format!("{place:?}: leaves"));
                program.leave(scene)
            }
            _ => Ok(()),
        }
    }

    /// A device vanishes; some never come back.
    fn unplug_one(&mut self, node: usize) {
        let Some((device, attached)) = self.take_device(node) else {
            return;
        };
        self.scene.count("device vanished");
        self.scene.note(|| format!("node {node}: {device} is gone"));
        if self.scene.dice.chance(700) {
            let back = Fault::Replug(node, device, attached);
            self.scene.within(1_000, 90_000, Happening::Fault(Box::new(back)));
        }
    }

    fn move_one(&mut self, node: usize) {
        let Some((device, attached)) = self.take_device(node) else {
            return;
        };
        let to = (node + 1) % self.nodes.len();
        self.scene.count("device moved");
        self.scene.note(|| format!("node {node}: {device} moves to node {to}"));
        let handle = name(&format!("{device}@{to}"));
        let there = Fault::Replug(to, device, Attached { handle, ..attached });
        self.scene.within(100, 5_000, Happening::Fault(Box::new(there)));
    }

    fn disturb_one(&mut self, node: usize) {
        let devices: Vec<Name> = self.nodes[node].site().devices.keys().cloned().collect();
        let bad = [Attachment::Offline, Attachment::Unauthorized, Attachment::Error];
        let (Some(device), Some(bad)) =
            (self.scene.dice.pick(&devices).cloned(), self.scene.dice.pick(&bad).copied())
        else {
            return;
        };
        self.scene.count("device disturbed");
        self.nodes[node].disturb(&device, bad, &mut self.scene);
        self.scene.within(1_000, 60_000, Happening::Fault(Box::new(Fault::Settle(node, device))));
    }

    /// A hub loses power: most devices of a node vanish at once (N17).
    fn drop_hub(&mut self, node: usize) {
        self.scene.count("hub dropped");
        self.scene.note(|| format!("node {node}: a hub loses power"));
        let back_after = self.scene.dice.between(2_000, 90_000);
        let devices: Vec<Name> = self.nodes[node].site().devices.keys().cloned().collect();
        for device in devices {
            if self.scene.dice.chance(150) {
                continue;
            }
            if let Some(attached) = self.nodes[node].unplug(&device, &mut self.scene) {
                let back = Fault::Replug(node, device, attached);
                self.scene.within(back_after, back_after + 2_000, Happening::Fault(Box::new(back)));
            }
        }
    }

    fn take_device(&mut self, node: usize) -> Option<(Name, Attached)> {
        let devices: Vec<Name> = self.nodes[node].site().devices.keys().cloned().collect();
        let device = self.scene.dice.pick(&devices)?.clone();
        let attached = self.nodes[node].unplug(&device, &mut self.scene)?;
        Some((device, attached))
    }
}

impl World {
    fn draw_worker_fault(&mut self, place: Sender) -> Verdict {
        match (self.scene.dice.below(20), place) {
            (0..3, _) => return self.end_coordinator(Ending::Crash),
            (3..6, _) => self.coordinator.doom(CommitFault::Crash),
            (6, _) => return self.end_coordinator(Ending::Stop),
            (7..10, _) => self.cut(place),
            (10..14, _) => self.crash(place, 100..=20_000),
            (17, Sender::Renderer(renderer)) => {
                let span = Millis(self.scene.dice.between(5_000, 60_000));
                self.scene.count("renderer cannot be pushed to");
                self.farm.renderers[renderer].rig_mut().deaf_until = self.scene.now + span;
            }
            (14..18, _) => self.freeze(place),
            _ => return self.see_off(place),
        }
        Ok(())
    }

    /// A worker falls silent, mostly for longer than it is waited for, and goes on as if nothing had been.
    fn freeze(&mut self, place: Sender) {
        let settings = self.scene.plan.settings;
        let (limit, times, what) = match place {
            Sender::Renderer(_) => (settings.frames.silence_max().0, 4, "renderer frozen"),
            _ => (settings.pool.lease.0.min(60_000), 2, "member frozen"),
        };
        let span = Millis(self.scene.dice.between(limit / 2, limit * times));
        self.scene.count(what);
        self.scene.note(|| format!("{place:?}: stands still for {} ms", span.0));
        if let Some((program, scene)) = self.at(place) {
            program.machine_mut().frozen_until = scene.now + span;
        }
    }
}

impl World {
    /// All servers start, at about the same time.
    pub(crate) fn start_servers(&mut self) {
        let late = if self.coordinator.is_shared() { 2_000 } else { 0 };
        for server in 0..self.coordinator.servers.len() {
            match late {
                0 => self.scene.after(Millis(0), Happening::Start(server)),
                late => self.scene.within(0, late, Happening::Start(server)),
            }
        }
    }

    /// True if the next fault is one of servers.
    fn strikes_servers(&mut self) -> bool {
        let faults = self.scene.plan.servers.as_ref().map_or(0, |plan| plan.faults);
        faults > 0 && self.scene.dice.chance(faults)
    }

    fn draw_server_fault(&mut self) -> Verdict {
        let lease = self.lease();
        let server = self.draw_server();
        match self.scene.dice.below(24) {
            0..3 => return self.end_server(server, Ending::Crash),
            3..5 => return self.end_server(server, Ending::Stop),
            5..7 => self.coordinator.doom(CommitFault::Crash),
            7..10 => self.coordinator.doom(CommitFault::Stall),
            10..14 => self.stall(server),
            14..17 => self.cut_server(server, Cut::Store),
            17..19 => self.cut_server(server, Cut::Renewals),
            19 => self.cut_server(server, Cut::Outside),
            20 => self.cut_server(server, Cut::Others),
            21 => self.coordinator.lose_connection(server, &mut self.scene),
            22 => {
                let off = Millis(self.scene.dice.between(-JUMP_MAX, JUMP_MAX));
                self.coordinator.set_wall(server, off);
            }
            _ => {
                let span = Millis(self.scene.dice.between(100, lease * 3));
                self.coordinator.lose_store(span, &mut self.scene);
            }
        }
        Ok(())
    }

    /// Triggers the fault that was planned for the middle of a commit, if a commit is under way.
    pub(crate) fn meet_doom(&mut self) -> Verdict {
        match self.coordinator.must_meet_doom() {
            Some(CommitFault::Crash) => self.end_coordinator(Ending::Crash),
            Some(CommitFault::Stall) => {
                self.coordinator.leader().into_iter().for_each(|server| self.stall(server));
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// Ends a server, and plans its next start.
    fn end_server(&mut self, server: usize, ending: Ending) -> Verdict {
        self.coordinator.end(server, ending, &mut self.scene)?;
        let span = self.scene.outage_ms(5_000);
        self.scene.within(50, span, Happening::Start(server));
        Ok(())
    }

    /// The last fault: all are away.
    pub(crate) fn end_servers(&mut self) -> Verdict {
        let mut servers = 0..self.coordinator.servers.len();
        servers.try_for_each(|server| self.coordinator.end(server, Ending::Crash, &mut self.scene))
    }

    /// The faults are over: one server at least comes back after a span. Answers how long it takes until one leads.
    pub(crate) fn restart_servers(&mut self, span: Millis) -> Millis {
        if !self.coordinator.is_shared() {
            if self.coordinator.life().is_none() {
                self.scene.after(span, Happening::Start(0));
            }
            return span;
        }
        let settled = self.coordinator.recover(&self.scene);
        let first = self.draw_server();
        for server in 0..self.coordinator.servers.len() {
            if server == first || self.scene.dice.chance(500) {
                self.scene.after(span, Happening::Start(server));
            }
        }
        Millis(span.0 + settled.0)
    }

    /// Mostly the one that leads.
    fn draw_server(&mut self) -> usize {
        let any = self.scene.dice.below(self.coordinator.servers.len());
        let leader = self.coordinator.leader().filter(|_| self.scene.dice.chance(700));
        leader.unwrap_or(any)
    }

    fn stall(&mut self, server: usize) {
        let lease = self.lease();
        let long = self.scene.dice.chance(200);
        let span = Millis(self.scene.dice.between(lease / 4, if long { lease * 8 } else { lease * 2 }));
        self.coordinator.stall(server, span, &mut self.scene);
    }

    fn cut_server(&mut self, server: usize, cut: Cut) {
        let lease = self.lease();
        self.coordinator.cut_off(server, cut, &mut self.scene);
        let back = Fault::HealServer(server, cut);
        self.scene.within(lease / 4, lease * 5, Happening::Fault(Box::new(back)));
    }

    fn lease(&self) -> i64 {
        self.scene.plan.servers.as_ref().map_or(0, |plan| plan.times.lease.0)
    }
}

/// A day.
const JUMP_MAX: i64 = 86_400_000;
