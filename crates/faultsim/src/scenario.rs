//! One seed, one verdict.

use crate::{
    plan::BEGINNING,
    planted::Planted,
    scene::{Coverage, Scene, seconds},
    world::World,
};
use muster_model::{Millis, Timestamp};
use std::{
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
};

/// Steps with faults, unless told otherwise.
pub const STEPS: u32 = 500;

/// Steps before a failure that are told, unless more are wanted.
pub(crate) const TRACE: usize = 30;

/// Which world to live through.
#[derive(Clone, Copy, Debug)]
pub struct Scenario {
    /// Decides everything.
    pub seed: u64,
    /// Happenings with faults; what follows without is not counted.
    pub steps: u32,
    /// Number of last steps before a failure to report.
    pub trace: usize,
    /// Number of servers that share the store; `None`: as the seed decides.
    pub servers: Option<usize>,
    /// A bug to switch on; those in the engine need the feature `mutants`.
    pub planted: Option<Planted>,
}

impl Scenario {
    /// The world of a seed, of the usual length, without a planted bug.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self { seed, steps: STEPS, trace: TRACE, servers: None, planted: None }
    }
}

/// A world in which everything held.
#[derive(Clone, Debug)]
pub struct Summary {
    /// Duration, by its own clock.
    pub lasted: Millis,
    /// Events that happened in it, with counts.
    pub coverage: Coverage,
}

/// A world in which something did not hold.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The seed that replays it.
    pub seed: u64,
    /// The steps that replay it.
    pub steps: u32,
    /// The servers that replay it, where the seed does not decide that.
    pub servers: Option<usize>,
    /// The name of the check.
    pub check: &'static str,
    /// Description of the violation.
    pub detail: String,
    /// When, by the world's clock.
    pub at: Timestamp,
    /// The last steps before it.
    pub trace: Vec<String>,
}

/// Lives through a world and checks it after every step.
///
/// # Errors
/// The first thing that did not hold, with the steps that led to it.
pub fn run(scenario: &Scenario) -> Result<Summary, Box<Failure>> {
    // The steps are written down only where somebody will read them: the same seed is lived again.
    live(scenario, 0).or_else(|_| live(scenario, scenario.trace))
}

fn live(scenario: &Scenario, trace: usize) -> Result<Summary, Box<Failure>> {
    #[cfg(feature = "mutants")]
    muster_problem::plant(match scenario.planted {
        Some(Planted::Wire(mutant)) => Some(mutant),
        _ => None,
    });
    let mut world = World::new(Scene::new(scenario.seed, scenario.servers, trace), scenario.planted);
    let lived = catch_unwind(AssertUnwindSafe(|| world.live(scenario.steps)));
    let (check, detail) = match lived {
        Ok(Ok(())) => {
            return Ok(Summary {
                lasted: world.scene.now - BEGINNING,
                coverage: world.scene.seen.coverage(),
            });
        }
        Ok(Err(broken)) => (broken.check, broken.detail),
        Err(panic) => ("panic", words(&*panic)),
    };
    Err(Box::new(Failure {
        seed: scenario.seed,
        steps: scenario.steps,
        servers: scenario.servers,
        check,
        detail,
        at: world.scene.now,
        trace: world.scene.trace.into_lines(),
    }))
}

fn words(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "without words".into())
}

impl Failure {
    /// The line that replays it.
    #[must_use]
    pub fn replay(&self) -> String {
        let mut line = format!("replay: muster faultsim --seed {}", self.seed);
        if self.steps != STEPS {
            line.push_str(&format!(" --steps {}", self.steps));
        }
        if let Some(servers) = self.servers {
            line.push_str(&format!(" --servers {servers}"));
        }
        line
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = seconds(self.at);
        write!(f, "{} broken at {at:.3}s: {}\n{}", self.check, self.detail, self.replay())
    }
}
