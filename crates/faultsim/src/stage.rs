//! A world in which only what is told goes wrong: for one story at a time.

use crate::{
    checker::Broken,
    client,
    coordinator::{Cut, Ending},
    dice::Dice,
    fault::Fault,
    network::Sender,
    plan::{Plan, QUEUES, ServerPlan, name},
    scenario::TRACE,
    scene::{Happening, Scene},
    world::World,
};
use muster_agent::core::Status;
use muster_model::{Command, Digest, JobPayload, Millis, RunSummary, Scope, Submission};

/// One PC with muster's agent and twelve devices, a coordinator or several, and somebody who tells what happens.
///
/// Everything is checked after every step, as in every other world.
pub struct Stage {
    world: World,
    runs: u32,
}

/// Results of all runs so far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// Rows that ended well.
    pub completed: u64,
    /// Rows that failed for good.
    pub failed: u64,
    /// Attempts of all rows.
    pub attempts: u64,
    /// Summary that agents reported for each finished run, in order.
    pub told: Vec<RunSummary>,
    /// Alerts of the coordinator.
    pub alerts: Vec<String>,
}

/// Fault that hits the leader, for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blow {
    /// Its power fails, and it starts again.
    Crash,
    /// It is asked to stop, and starts again.
    Stop,
    /// Its process stands still, and goes on as if nothing had been.
    Stall,
    /// It does not reach the store.
    NoStore,
    /// Its signs of life do not reach the store, though its commits do.
    NoSigns,
    /// No client reaches it.
    NoClients,
}

impl Blow {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Crash, Self::Stop, Self::Stall, Self::NoStore, Self::NoSigns, Self::NoClients];
}

impl Stage {
    /// The scene as the story begins: the coordinator and the agent start.
    ///
    /// # Errors
    /// The violated check.
    pub fn new(seed: u64) -> Result<Self, String> {
        Self::with_servers(seed, 1)
    }

    /// As [`Self::new`], with several servers that share a store (S18).
    ///
    /// # Errors
    /// The violated check.
    pub fn with_servers(seed: u64, count: usize) -> Result<Self, String> {
        let servers = (count > 1).then(|| ServerPlan::staged(count));
        let mut scene = Scene::of(Plan { servers, ..Plan::staged() }, Dice::new(seed), TRACE);
        scene.calm = true;
        let mut stage = Self { world: World::new(scene, None), runs: 0 };
        let begun = stage.world.begin();
        stage.judge(begun).map(|()| stage)
    }

    /// Submits a run on all devices.
    pub fn submit(&mut self) {
        self.runs += 1;
        let submission = Submission {
            key: None,
            digest: Digest(self.runs.into()),
            queue: name(QUEUES[0]),
            scope: Scope::All,
            // Work fails now and then in the calmest world; that is another story.
            max_attempts: Some(10),
            payload: JobPayload {
                title: None,
                workflow: "w".into(),
                params: "{}".into(),
                timeout: None,
                schedule: None,
            },
        };
        client::send(&Command::Submit(Box::new(submission)), &mut self.world.scene);
    }

    /// Lets time pass.
    ///
    /// # Errors
    /// The violated check.
    pub fn pass(&mut self, span: Millis) -> Result<(), String> {
        let passed = self.world.pass(span);
        self.judge(passed)
    }

    /// Cuts the coordinator's power.
    ///
    /// # Errors
    /// The violated check.
    pub fn backend_dies(&mut self) -> Result<(), String> {
        let World { coordinator, scene, .. } = &mut self.world;
        let ended = coordinator.end(0, Ending::Crash, scene);
        self.judge(ended)
    }

    /// The coordinator starts again.
    pub fn backend_returns(&mut self) {
        self.world.scene.after(Millis(0), Happening::Start(0));
    }

    /// Hits the leader with a fault, for a while.
    ///
    /// # Errors
    /// The violated check.
    pub fn strike(&mut self, blow: Blow, span: Millis) -> Result<(), String> {
        let Some(leader) = self.world.coordinator.leader() else {
            return Ok(());
        };
        let World { coordinator, scene, .. } = &mut self.world;
        let cut = match blow {
            Blow::Crash | Blow::Stop => {
                let ending = if blow == Blow::Stop { Ending::Stop } else { Ending::Crash };
                scene.after(span, Happening::Start(leader));
                let ended = coordinator.end(leader, ending, scene);
                return self.judge(ended);
            }
            Blow::Stall => {
                coordinator.stall(leader, span, scene);
                return Ok(());
            }
            Blow::NoStore => Cut::Store,
            Blow::NoSigns => Cut::Renewals,
            Blow::NoClients => Cut::Outside,
        };
        coordinator.cut_off(leader, cut, scene);
        scene.after(span, Happening::Fault(Box::new(Fault::HealServer(leader, cut))));
        Ok(())
    }

    /// Number of times that a kind of event happened.
    #[must_use]
    pub fn seen(&self, what: &str) -> u64 {
        self.world.scene.seen.coverage().of(what)
    }

    /// The wire between the agent and the coordinator is cut, or whole again.
    pub fn set_cut(&mut self, is_cut: bool) {
        self.world.scene.network.set_cut(Sender::Node(0), is_cut);
    }

    /// Status of the agent; `None` while it is down.
    #[must_use]
    pub fn agent(&self) -> Option<Status> {
        self.world.nodes[0].status()
    }

    /// Waits until every run has ended and every event was taken.
    ///
    /// # Errors
    /// The violated check.
    pub fn come_to_rest(&mut self) -> Result<(), String> {
        let rested = self.world.come_to_rest();
        self.judge(rested)
    }

    /// Results of all runs so far.
    #[must_use]
    pub fn account(&self) -> Account {
        self.world.scene.checker.account()
    }

    fn judge<T>(&mut self, result: Result<T, Broken>) -> Result<T, String> {
        result.map_err(|broken| {
            let lines = std::mem::take(&mut self.world.scene.trace).into_lines();
            format!("{}: {}\n{}", broken.check, broken.detail, lines.join("\n"))
        })
    }
}
