//! The world: whatever is next on the agenda happens, and then everything is checked.

use crate::{
    agenda::Happening,
    checker::{Broken, Checker, Verdict, broken},
    client::{Chore, Clients},
    coordinator::{Coordinator, Ending},
    fault::Fault,
    network::Sender,
    node::Node,
    planted::Planted,
    scene::Scene,
};
use muster_model::{Millis, Name};

/// One world.
pub(crate) struct World {
    pub(crate) scene: Scene,
    pub(crate) coordinator: Coordinator,
    pub(crate) nodes: Vec<Node>,
    pub(crate) clients: Clients,
    pub(crate) checker: Checker,
}

impl World {
    pub(crate) fn new(seed: u64, trace: usize, planted: Option<Planted>) -> Self {
        let mut scene = Scene::new(seed, trace);
        let nodes: Vec<Node> = (0..scene.plan.nodes).map(|n| Node::new(n, &mut scene)).collect();
        Self {
            checker: Checker::new(scene.plan.settings),
            coordinator: Coordinator::new(planted),
            clients: Clients::default(),
            nodes,
            scene,
        }
    }

    /// Lives through `steps` happenings with faults, then without until all is quiet.
    pub(crate) fn live(&mut self, steps: u32) -> Verdict {
        self.begin();
        for _ in 0..steps {
            if !self.step()? {
                break;
            }
        }
        self.calm_down();
        self.come_to_rest()
    }

    fn begin(&mut self) {
        self.scene.after(Millis(0), Happening::Start);
        for node in &mut self.nodes {
            node.begin(&mut self.scene);
        }
        let devices: Vec<Name> =
            self.nodes.iter().flat_map(|node| node.site().devices.keys().cloned()).collect();
        self.clients.begin(&mut self.scene, &devices);
        let first = self.scene.plan.fault_every;
        self.scene.after(first, Happening::Fault(Box::new(Fault::Draw)));
    }

    /// Lets the next thing happen; false when nothing ever will again.
    fn step(&mut self) -> Result<bool, Broken> {
        let Some((at, happening)) = self.scene.agenda.next() else {
            return Ok(false);
        };
        self.scene.now = self.scene.now.max(at);
        self.happen(happening)?;
        if self.coordinator.must_crash() && !self.scene.calm {
            self.coordinator.end(Ending::Crash, &mut self.scene, &mut self.checker)?;
        }
        let up_since = self.coordinator.life().map(|life| life.ticked_at);
        self.checker.after_step(self.scene.now, up_since.is_some())?;
        Ok(true)
    }

    fn happen(&mut self, happening: Happening) -> Verdict {
        let (scene, checker) = (&mut self.scene, &mut self.checker);
        match happening {
            Happening::Arrives(ticket) => {
                scene.note(|| format!("{:?} asks {:?}", ticket.sender, ticket.command));
                self.coordinator.arrives(*ticket, scene);
                Ok(())
            }
            Happening::Returns(answer) => {
                let (ticket, result) = *answer;
                scene.note(|| format!("{:?} hears {result:?}", ticket.sender));
                match ticket.sender {
                    Sender::Node(node) if scene.network.is_cut(node) => {
                        scene.count("answer lost in a partition")
                    }
                    Sender::Node(node) => self.nodes[node].hear(&ticket, result, scene),
                    Sender::Client => self.clients.hear(&ticket, &result),
                }
                Ok(())
            }
            Happening::Serve { life } => self.coordinator.serve(life, scene, checker),
            Happening::Durable { life } => self.coordinator.durable(life, scene, checker),
            Happening::Heard { life } => self.coordinator.heard(life, scene, checker),
            Happening::Wake { life } => self.coordinator.wake(life, scene, checker),
            Happening::Start => self.coordinator.start(scene, checker),
            Happening::Node { node, incarnation, chore } => {
                self.nodes[node].act(chore, incarnation, scene);
                Ok(())
            }
            Happening::Client(chore) => {
                self.clients.act(chore, scene, &checker.fleet());
                Ok(())
            }
            Happening::Fault(fault) => self.go_wrong(*fault),
        }
    }

    /// The faults stop: networks heal, nodes start, operators put things in order.
    fn calm_down(&mut self) {
        self.scene.note(|| "the faults stop".into());
        self.scene.calm = true;
        if self.coordinator.life().is_none() {
            self.scene.after(Millis(0), Happening::Start);
        }
        for node in 0..self.nodes.len() {
            self.scene.network.set_cut(node, false);
            if !self.nodes[node].site().up {
                self.nodes[node].begin(&mut self.scene);
            }
            self.nodes[node].recover(&mut self.scene);
        }
        // Later than anything that was under way when the faults stopped.
        self.scene.after(Millis::from_secs(15), Happening::Client(Chore::PutInOrder));
    }

    /// Every run must end, every lane be free and every spool be empty, in bounded time.
    fn come_to_rest(&mut self) -> Verdict {
        let settings = self.scene.plan.settings;
        let round = settings.attempt_timeout.0
            + settings.lease.0
            + settings.offline_grace.0
            + settings.dropout_pause.0
            + 120_000;
        let rounds = i64::try_from(self.clients.orders()).unwrap_or(1) + 2;
        let deadline = self.scene.now + Millis(round * rounds * 2);
        loop {
            if self.is_quiet() {
                return self.checker.at_rest();
            }
            if self.scene.now > deadline || !self.step()? {
                let unrest: Vec<String> = self.nodes.iter().map(Node::unrest).collect();
                let open = self.checker.unrest();
                return broken("never_comes_to_rest", || format!("{open}; {}", unrest.join("; ")));
            }
        }
    }

    fn is_quiet(&self) -> bool {
        self.coordinator.life().is_some_and(|life| life.is_idle())
            && self.checker.is_quiet()
            && self.clients.is_quiet()
            && self.nodes.iter().all(Node::is_quiet)
    }
}
