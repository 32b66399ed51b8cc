//! The world: whatever is next on the agenda happens, and then everything is checked.

use crate::{
    checker::{Broken, Verdict, broken},
    client::{Clients, Duty},
    coordinator::{Coordinator, Push, PushAnswer},
    farm::Farm,
    fault::Fault,
    machine::{Chore, Program},
    message::Answer,
    network::{Sender, Ticket},
    node::Node,
    planted::Planted,
    pool::Pool,
    scene::{Happening, Scene},
};
use muster_model::{Millis, Name, Rejection, Reply, Timestamp};

/// One world.
pub(crate) struct World {
    pub(crate) scene: Scene,
    pub(crate) coordinator: Coordinator,
    pub(crate) nodes: Vec<Node>,
    pub(crate) clients: Clients,
    pub(crate) farm: Farm,
    pub(crate) pool: Pool,
}

impl World {
    pub(crate) fn new(mut scene: Scene, planted: Option<Planted>) -> Self {
        let nodes: Vec<Node> = (0..scene.plan.nodes).map(|n| Node::new(n, &mut scene, planted)).collect();
        let (farm, pool) = (Farm::new(&mut scene, planted), Pool::new(&mut scene));
        Self {
            coordinator: Coordinator::new(&scene, planted),
            clients: Clients::default(),
            farm,
            pool,
            nodes,
            scene,
        }
    }

    /// Lives through `steps` happenings with faults, then without until all is quiet.
    pub(crate) fn live(&mut self, steps: u32) -> Verdict {
        self.begin()?;
        // Workers of sessions and of the pool show again and again that they live: much happens in which nothing does.
        let is_busy = !self.farm.renderers.is_empty() || !self.pool.members.is_empty();
        let steps = if is_busy { steps.saturating_mul(2) } else { steps };
        let mut left = steps;
        while left > 0 {
            match self.step()? {
                Some(is_counted) => left -= u32::from(is_counted),
                None => break,
            }
        }
        self.calm_down()?;
        self.come_to_rest()
    }

    pub(crate) fn begin(&mut self) -> Verdict {
        self.start_servers();
        for node in &mut self.nodes {
            node.program_mut().begin(&mut self.scene)?;
        }
        let devices: Vec<Name> =
            self.nodes.iter().flat_map(|node| node.site().devices.keys().cloned()).collect();
        self.clients.begin(&mut self.scene, &devices);
        self.farm.begin(&mut self.scene)?;
        self.pool.begin(&mut self.scene)?;
        let first = self.scene.plan.fault_every;
        self.scene.after(first, Happening::Fault(Box::new(Fault::Draw)));
        Ok(())
    }

    /// Lets everything happen that is due within a span.
    pub(crate) fn pass(&mut self, span: Millis) -> Verdict {
        let until = self.scene.now + span;
        while self.scene.agenda.next_at().is_some_and(|at| at <= until) {
            self.step()?;
        }
        self.scene.now = until;
        Ok(())
    }

    /// Lets the next thing happen, and tells whether it counts; `None` when nothing ever will again.
    fn step(&mut self) -> Result<Option<bool>, Broken> {
        let Some((at, happening)) = self.scene.agenda.next() else {
            return Ok(None);
        };
        self.scene.now = self.scene.now.max(at);
        if let Some(until) = self.frozen(&happening) {
            self.scene.agenda.plan(until, happening);
            return Ok(Some(!self.coordinator.is_shared()));
        }
        // Servers look at each other all the time; nothing of what is checked changes by that.
        let is_routine = matches!(happening, Happening::Server(_));
        self.happen(happening)?;
        if let Some(broken) = self.scene.misread.take() {
            return Err(broken);
        }
        if is_routine {
            return Ok(Some(false));
        }
        if !self.scene.calm {
            self.meet_doom()?;
        }
        if let Some(now) = self.coordinator.well_at(&self.scene) {
            self.scene.checker.after_step(now)?;
        }
        self.coordinator.check_lead(&self.scene)?;
        Ok(Some(true))
    }

    fn happen(&mut self, happening: Happening) -> Verdict {
        let scene = &mut self.scene;
        match happening {
            Happening::Arrives(ticket) => {
                self.arrives(*ticket);
                Ok(())
            }
            Happening::Returns(answer) => {
                let (ticket, result) = *answer;
                self.returns(&ticket, result)
            }
            Happening::TurnedAway(ticket) => self.turned_away(&ticket),
            Happening::TurnedOut(ticket) => self.turned_out(&ticket),
            Happening::Pushed(push) => self.pushed(&push),
            Happening::Acked(answer) => {
                self.coordinator.acked(answer, scene);
                Ok(())
            }
            Happening::Errand { life, errand } => match self.coordinator.current(life, scene) {
                Some(life) => life.run(*errand, scene),
                None => Ok(()),
            },
            Happening::Serve { life } => self.coordinator.serve(life, scene),
            Happening::Durable { life } => self.coordinator.durable(life, scene),
            Happening::Heard { life } => self.coordinator.heard(life, scene),
            Happening::Wake { life } => self.coordinator.wake(life, scene),
            Happening::Start(server) => self.coordinator.start(server, scene),
            Happening::Forwarded(ticket) => {
                self.coordinator.forwarded(*ticket, scene);
                Ok(())
            }
            Happening::Server(chore) => self.coordinator.act(*chore, scene),
            Happening::Machine { place, incarnation, chore } => self.acts(place, incarnation, chore),
            Happening::Patron(duty) => {
                self.pool.patron.act(duty, scene);
                Ok(())
            }
            Happening::Client(duty) => {
                self.clients.act(duty, scene);
                Ok(())
            }
            Happening::Director(duty) => {
                self.farm.director.act(duty, scene);
                Ok(())
            }
            Happening::Fault(fault) => self.go_wrong(*fault),
        }
    }

    /// The faults stop: networks heal, nodes start, operators put things in order.
    fn calm_down(&mut self) -> Verdict {
        self.scene.note(|| "the faults stop".into());
        self.scene.calm = true;
        let outage = self.last_outage()?;
        for place in self.places() {
            self.recover(place)?;
        }
        // Later than anything that was under way when the faults stopped.
        self.scene.after(Millis(outage.0 + 15_000), Happening::Client(Duty::PutInOrder));
        self.scene.after(Millis(outage.0 + 15_000), Happening::Director(Duty::PutInOrder));
        self.scene.after(Millis(outage.0 + 15_000), Happening::Patron(Duty::PutInOrder));
        Ok(())
    }

    /// The last fault may be that the coordinator is away, long enough for agents to notice (N20).
    fn last_outage(&mut self) -> Result<Millis, Broken> {
        let is_long = self.scene.dice.chance(200);
        if is_long {
            self.end_servers()?;
        }
        let span = if is_long { self.scene.dice.between(100_000, LAST_OUTAGE_MAX.0) } else { 0 };
        Ok(self.restart_servers(Millis(span)))
    }

    /// Every run must end, every lane be free and every spool be empty, in bounded time.
    pub(crate) fn come_to_rest(&mut self) -> Verdict {
        let settings = self.scene.plan.settings;
        let round = settings.attempt_timeout.0
            + settings.lease.0
            + settings.offline_grace.0
            + settings.dropout_pause.0
            + 120_000;
        let rounds =
            self.clients.orders() + self.farm.director.orders() + 2 * self.scene.checker.calendar_runs();
        let rounds = i64::try_from(rounds).unwrap_or(1) + 2;
        let jobs = i64::try_from(self.pool.patron.jobs()).unwrap_or(1);
        let pool = (settings.pool.lease.0 + 60_000) * jobs;
        let deadline = self.scene.now + LAST_OUTAGE_MAX + Millis(round * rounds * 2 + pool);
        loop {
            if self.scene.calm && self.is_farm_quiet() {
                self.farm.close(&mut self.scene);
            }
            if self.pool.patron.is_in_order() && self.is_pool_quiet() && !self.pool.closed {
                self.pool.close(&mut self.scene);
            }
            if self.is_quiet() {
                return self.at_rest();
            }
            if self.scene.now > deadline || self.step()?.is_none() {
                return broken("never_comes_to_rest", || self.unrest());
            }
        }
    }

    fn at_rest(&mut self) -> Verdict {
        self.nodes.iter().try_for_each(|node| node.at_rest(&mut self.scene))?;
        if let Some(life) = self.coordinator.life() {
            self.scene.checker.pool.at_rest(|job| life.explain_pool(job))?;
        }
        self.scene.checker.at_rest()
    }

    fn is_quiet(&self) -> bool {
        self.restless().is_empty()
    }

    /// Parts of the world that still have something to do.
    fn restless(&self) -> Vec<&'static str> {
        let parts = [
            ("coordinator", self.coordinator.life().is_some_and(|life| life.is_idle())),
            ("runs", self.scene.checker.is_quiet()),
            ("sessions", self.is_farm_quiet()),
            ("pool", self.is_pool_quiet()),
            ("clients", self.clients.is_quiet()),
            ("nodes", self.nodes.iter().all(|node| node.program().is_quiet())),
        ];
        parts.iter().filter(|(_, is_quiet)| !is_quiet).map(|(part, _)| *part).collect()
    }

    /// True if every job that somebody could do has ended, and every result is where it belongs.
    fn is_pool_quiet(&self) -> bool {
        let is_settled = self.pool.members.is_empty() || self.pool.patron.is_in_order();
        is_settled && self.scene.checker.pool.is_quiet() && self.pool.is_quiet()
    }

    /// True if every session that somebody wanted has ended, and all that follows from it was done.
    fn is_farm_quiet(&self) -> bool {
        let is_settled = self.farm.director.is_quiet() && self.scene.checker.frames.is_quiet();
        is_settled && !self.farm.director.wants_retry(&self.scene.checker.frames)
    }
}

impl World {
    /// A request reaches the server, or something in front of it that refuses it.
    fn arrives(&mut self, ticket: Ticket) {
        let scene = &mut self.scene;
        if ticket.way.entry.is_some() {
            // It waits there since.
            return self.coordinator.arrives(ticket, scene);
        }
        if scene.refuses(&ticket, |node| self.nodes[node].is_agent()) {
            scene.count("report refused on its way");
            scene.checker.refused_on_its_way(&ticket);
            return scene.answer(ticket, Err(Rejection::WorkerUnknown));
        }
        scene.note(|| format!("{:?} asks {:?}", ticket.sender, ticket.command));
        self.coordinator.arrives(ticket, scene);
    }

    /// An answer reaches whoever asked.
    fn returns(&mut self, ticket: &Ticket, result: Result<Reply, Rejection>) -> Verdict {
        let scene = &mut self.scene;
        scene.note(|| format!("{:?} hears {result:?}", ticket.sender));
        if scene.network.is_cut(ticket.sender) || !self.coordinator.brings_back(&ticket.way) {
            scene.count("answer lost in a partition");
            return Ok(());
        }
        if ticket.sender == Sender::Client {
            return self.client_hears(ticket);
        }
        match self.reached(ticket.sender) {
            Some((program, scene)) => program.hear(ticket, result, scene),
            None => Ok(()),
        }
    }

    /// A response reaches a client or operator.
    fn client_hears(&mut self, ticket: &Ticket) -> Verdict {
        let Some(response) = &ticket.response else { return Ok(()) };
        let (exchange, answer) = (ticket.exchange, Answer::read(response)?);
        self.clients.hear(exchange, &answer)?;
        self.farm.director.hear(exchange, &answer)?;
        self.pool.patron.hear(exchange, &answer)
    }

    /// Tells the sender that the coordinator is away.
    fn turned_away(&mut self, ticket: &Ticket) -> Verdict {
        match self.reached(ticket.sender) {
            Some((program, scene)) => program.turned_away(ticket, scene),
            None => Ok(()),
        }
    }

    /// Tells the sender that its token is not known.
    fn turned_out(&mut self, ticket: &Ticket) -> Verdict {
        match self.reached(ticket.sender) {
            Some((program, scene)) => program.turned_out(ticket, scene),
            None => Ok(()),
        }
    }

    /// Whatever concerns a machine or a server that stands still waits until it goes on.
    fn frozen(&mut self, happening: &Happening) -> Option<Timestamp> {
        if let Some(until) = self.coordinator.waits_until(happening, &mut self.scene) {
            return Some(until);
        }
        let place = match happening {
            Happening::Machine { place, .. } => *place,
            Happening::Pushed(push) => Sender::Renderer(push.renderer),
            Happening::Returns(answer) => answer.0.sender,
            Happening::TurnedAway(ticket) | Happening::TurnedOut(ticket) => ticket.sender,
            _ => return None,
        };
        let (program, scene) = self.at(place)?;
        Some(program.machine().frozen_until).filter(|until| *until > scene.now)
    }

    /// A task that was pushed reaches its worker; what that says goes back.
    fn pushed(&mut self, push: &Push) -> Verdict {
        let place = Sender::Renderer(push.renderer);
        if self.scene.network.is_cut(place) || !self.coordinator.reaches_out(push.life) {
            return Ok(());
        }
        let worker = &self.farm.renderers[push.renderer].rig().name;
        self.scene.checker.frames.pushed(worker, &push.handout)?;
        if let Some(acked) = self.farm.pushed(push, &mut self.scene)? {
            let answer = PushAnswer { life: push.life, number: push.number, acked };
            self.scene.transmit(place, Happening::Acked(answer));
        }
        Ok(())
    }
}

impl World {
    /// All machines, by their sender.
    fn places(&self) -> impl Iterator<Item = Sender> + use<> {
        let nodes = (0..self.nodes.len()).map(Sender::Node);
        let renderers = (0..self.farm.renderers.len()).map(Sender::Renderer);
        let members = (0..self.pool.members.len()).map(Sender::Member);
        nodes.chain(renderers).chain(members)
    }

    /// The program on a machine, and the rest of the world that it needs; clients and errands have none.
    pub(crate) fn at(&mut self, place: Sender) -> Option<(&mut dyn Program, &mut Scene)> {
        let program: &mut dyn Program = match place {
            Sender::Node(node) => self.nodes[node].program_mut(),
            Sender::Renderer(renderer) => &mut *self.farm.renderers[renderer],
            Sender::Member(member) => &mut *self.pool.members[member],
            Sender::Client | Sender::Errand => return None,
        };
        Some((program, &mut self.scene))
    }

    /// As [`Self::at`], for a message: to a machine that is up and not cut off.
    fn reached(&mut self, place: Sender) -> Option<(&mut dyn Program, &mut Scene)> {
        let (program, scene) = self.at(place)?;
        let is_reached = program.machine().up && !scene.network.is_cut(place);
        is_reached.then_some((program, scene))
    }

    /// A machine does something by itself; one that has crashed meanwhile does not.
    fn acts(&mut self, place: Sender, incarnation: u32, chore: Chore) -> Verdict {
        match self.at(place) {
            Some((program, scene))
                if program.machine().up && program.machine().incarnation == incarnation =>
            {
                program.act(chore, scene)
            }
            _ => Ok(()),
        }
    }

    /// The faults stop: a machine is up and well again, and does what it should.
    fn recover(&mut self, place: Sender) -> Verdict {
        self.scene.network.set_cut(place, false);
        match place {
            Sender::Node(node) => self.nodes[node].recover(&mut self.scene),
            Sender::Renderer(renderer) => self.farm.renderers[renderer].rig_mut().deaf_until = self.scene.now,
            _ => {}
        }
        let Some((program, scene)) = self.at(place) else { return Ok(()) };
        program.machine_mut().frozen_until = scene.now;
        if program.machine().up { program.recover(scene) } else { program.begin(scene) }
    }

    /// Describes the reasons why the world does not come to rest.
    fn unrest(&mut self) -> String {
        let mut words = vec![
            format!("not quiet: {:?}", self.restless()),
            self.scene.checker.unrest(),
            self.farm.director.unrest(),
            self.pool.patron.unrest(),
        ];
        for place in self.places() {
            words.extend(self.at(place).map(|(program, _)| format!("{place:?}: {}", program.unrest())));
        }
        words.join("; ")
    }
}

/// The longest the coordinator is away once all other faults have stopped.
const LAST_OUTAGE_MAX: Millis = Millis(300_000);
