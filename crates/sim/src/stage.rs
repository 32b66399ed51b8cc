//! A world in which only what is told goes wrong: for one story at a time.

use crate::{
    agenda::Happening,
    checker::Broken,
    coordinator::Ending,
    dice::Dice,
    network::Sender,
    plan::{Plan, QUEUES, name},
    scenario::TRACE,
    scene::Scene,
    world::World,
};
use muster_agent::core::{Status, Summary};
use muster_model::{Command, Digest, JobPayload, Millis, Scope, Submission};

/// One PC with muster's agent and twelve devices, a coordinator, and somebody who tells what happens.
///
/// Everything is checked after every step, as in every other world.
pub struct Stage {
    world: World,
    runs: u32,
}

/// What became of all runs so far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// Rows that ended well.
    pub completed: u64,
    /// Rows that failed for good.
    pub failed: u64,
    /// Attempts of all rows.
    pub attempts: u64,
    /// What agents said of each run when it was over, in order.
    pub told: Vec<Summary>,
    /// What alarmed the coordinator.
    pub alerts: Vec<String>,
}

impl Stage {
    /// The scene as the story begins: the coordinator and the agent start.
    ///
    /// # Errors
    /// What did not hold.
    pub fn new(seed: u64) -> Result<Self, String> {
        let mut scene = Scene::of(Plan::staged(), Dice::new(seed), TRACE);
        scene.calm = true;
        let mut stage = Self { world: World::new(scene, None), runs: 0 };
        let begun = stage.world.begin();
        stage.judge(begun).map(|()| stage)
    }

    /// Somebody wants a run on all devices.
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
        self.world.scene.ask(Sender::Client, Command::Submit(Box::new(submission)), None);
    }

    /// Time passes.
    ///
    /// # Errors
    /// What did not hold.
    pub fn pass(&mut self, span: Millis) -> Result<(), String> {
        let passed = self.world.pass(span);
        self.judge(passed)
    }

    /// The coordinator's power fails.
    ///
    /// # Errors
    /// What did not hold.
    pub fn backend_dies(&mut self) -> Result<(), String> {
        let ended = self.world.coordinator.end(Ending::Crash, &mut self.world.scene, &mut self.world.checker);
        self.judge(ended)
    }

    /// The coordinator starts again.
    pub fn backend_returns(&mut self) {
        self.world.scene.after(Millis(0), Happening::Start);
    }

    /// The wire between the agent and the coordinator is cut, or whole again.
    pub fn set_cut(&mut self, is_cut: bool) {
        self.world.scene.network.set_cut(Sender::Node(0), is_cut);
    }

    /// How the agent is; nothing while it is down.
    #[must_use]
    pub fn agent(&self) -> Option<Status> {
        self.world.nodes[0].status()
    }

    /// Waits until every run has ended and every event was taken.
    ///
    /// # Errors
    /// What did not hold.
    pub fn come_to_rest(&mut self) -> Result<(), String> {
        let rested = self.world.come_to_rest();
        self.judge(rested)
    }

    /// What became of all runs so far.
    #[must_use]
    pub fn account(&self) -> Account {
        self.world.checker.account()
    }

    fn judge<T>(&mut self, result: Result<T, Broken>) -> Result<T, String> {
        result.map_err(|broken| {
            let lines = std::mem::take(&mut self.world.scene.trace).into_lines();
            format!("{}: {}\n{}", broken.check, broken.detail, lines.join("\n"))
        })
    }
}
