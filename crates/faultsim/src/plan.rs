//! How large a world is and how fast its rules run: drawn once, at the beginning.

mod frames;
mod pool;
mod servers;

pub(crate) use frames::FramePlan;
pub(crate) use pool::PoolPlan;
pub(crate) use servers::ServerPlan;

use crate::dice::Dice;
use muster_model::{Millis, Name, Settings, Timestamp};

/// When every world begins.
pub(crate) const BEGINNING: Timestamp = Timestamp(1_760_000_000_000);
/// The longest a pull may wait (N1).
pub(crate) const WAIT_MAX: Millis = Millis::from_secs(30);
/// The queues that clients use.
pub(crate) const QUEUES: [&str; 3] = ["default", "night", "urgent"];
/// The labels that operators put on devices.
pub(crate) const LABELS: [(&str, &str); 3] = [("rack", "a"), ("rack", "b"), ("model", "x")];

/// The figures of one world.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) settings: Settings,
    pub(crate) nodes: usize,
    pub(crate) devices_per_node: usize,
    /// How many works a node does at once, at least and at most.
    pub(crate) slots: (i64, i64),
    /// How many jobs clients submit at most.
    pub(crate) jobs: usize,
    pub(crate) queues: usize,
    /// In a thousand: messages lost, doubled, slow.
    pub(crate) lost: u32,
    pub(crate) doubled: u32,
    pub(crate) slow: u32,
    /// In a thousand: reports that something before the coordinator refuses for good.
    pub(crate) refused: u32,
    /// In a thousand: requests to a coordinator that is away which something in front of it answers.
    pub(crate) turned_away: u32,
    /// In a thousand: commits that fail.
    pub(crate) commit_fails: u32,
    /// Whether every node runs muster's agent.
    pub(crate) agents_only: bool,
    /// In a thousand: works that fail at an agent, while there are faults and afterwards.
    pub(crate) fails: (u32, u32),
    /// How long most work takes at an agent.
    pub(crate) work_ms: (i64, i64),
    /// How long an agent lets a task take.
    pub(crate) task_timeout: Millis,
    /// The mean pause between two faults.
    pub(crate) fault_every: Millis,
    /// In a thousand: timers at which the coordinator stands still for a moment.
    pub(crate) stalls: u32,
    /// Whether people have runs submitted by the calendar.
    pub(crate) schedules: bool,
    /// Sessions of frames, where there are any.
    pub(crate) frames: Option<FramePlan>,
    /// The pool, where there is one.
    pub(crate) pool: Option<PoolPlan>,
    /// The servers, where there are several.
    pub(crate) servers: Option<ServerPlan>,
}

impl Plan {
    pub(crate) fn draw(dice: &mut Dice) -> Self {
        let rough = dice.chance(600);
        Self {
            settings: settings(dice),
            nodes: 2 + dice.below(3),
            devices_per_node: 3 + dice.below(6),
            slots: (1, 6),
            jobs: 2 + dice.below(6),
            queues: 1 + dice.below(QUEUES.len()),
            lost: if rough { 80 } else { 5 },
            doubled: if rough { 80 } else { 5 },
            slow: if rough { 100 } else { 10 },
            refused: if dice.chance(150) { 15 } else { 0 },
            turned_away: dice.pick(&[0, 300, 1_000]).copied().unwrap_or(0),
            commit_fails: if dice.chance(500) { 15 } else { 0 },
            agents_only: false,
            fails: (200, 50),
            work_ms: (200, 6_000),
            task_timeout: Millis(dice.between(4_000, 90_000)),
            fault_every: Millis(dice.between(1_000, 12_000)),
            stalls: 0,
            schedules: false,
            frames: None,
            pool: None,
            servers: None,
        }
    }

    /// Every other world has sessions of frames, beside the devices or in their place.
    pub(crate) fn with_sessions(mut self, seed: u64, dice: &mut Dice) -> Self {
        if seed.is_multiple_of(2) {
            return self;
        }
        self.settings.frames = frames::settings(dice);
        self.frames = Some(FramePlan::draw(dice));
        if dice.chance(500) {
            (self.nodes, self.jobs) = (0, 0);
        }
        self
    }

    /// Every tenth world has a calendar; the others are as they were without.
    pub(crate) fn with_schedules(self, seed: u64) -> Self {
        Self { schedules: seed % 10 == 4 && self.nodes > 0, ..self }
    }

    /// Every third world has a pool, mostly in the place of everything else.
    pub(crate) fn with_pool(mut self, seed: u64, dice: &mut Dice) -> Self {
        if !seed.is_multiple_of(3) {
            return self;
        }
        self.settings.pool = pool::settings(dice);
        self.pool = Some(PoolPlan::draw(dice));
        if dice.chance(700) {
            (self.nodes, self.jobs, self.frames) = (0, 0, None);
            self.stalls = 400;
        }
        self
    }

    /// In two of seven worlds several servers share the store; the others are as they were without. So many as are
    /// asked for share it in any.
    pub(crate) fn with_servers(self, seed: u64, count: Option<usize>) -> Self {
        let is_drawn = matches!(seed % 7, 2 | 5);
        let servers = match count {
            Some(1) => None,
            None if !is_drawn => None,
            count => Some(ServerPlan::draw(&mut Dice::new(seed ^ SERVERS), count)),
        };
        Self { servers, ..self }
    }

    /// One PC with muster's agent and the contracts' figures; nobody wants anything yet.
    pub(crate) fn staged() -> Self {
        Self {
            settings: Settings::default(),
            nodes: 1,
            devices_per_node: 12,
            slots: (6, 6),
            jobs: 0,
            queues: 1,
            lost: 0,
            doubled: 0,
            slow: 0,
            refused: 0,
            turned_away: 300,
            commit_fails: 0,
            agents_only: true,
            fails: (0, 0),
            work_ms: (60_000, 120_000),
            task_timeout: Millis::from_secs(180),
            fault_every: Millis::from_secs(1),
            stalls: 0,
            schedules: false,
            frames: None,
            pool: None,
            servers: None,
        }
    }

    /// The nth node's name.
    pub(crate) fn node_name(node: usize) -> Name {
        name(&format!("PC-{:02}", node + 1))
    }
}

/// The contracts' figures in some worlds; in most, shorter ones, so that every limit is met.
fn settings(dice: &mut Dice) -> Settings {
    if dice.chance(150) {
        return Settings { slots: 1 + u32::try_from(dice.below(20)).unwrap_or(0), ..Settings::default() };
    }
    let mut secs = |low: i64, high: i64| Millis(dice.between(low * 1000, high * 1000));
    Settings {
        offline_grace: secs(8, 60),
        offline_after: secs(5, 30),
        redeliver_after: secs(2, 10),
        lease: secs(15, 60),
        attempt_timeout: secs(15, 90),
        dropout_window: secs(5, 30),
        dropout_pause: secs(10, 60),
        secret_overlap: secs(5, 60),
        slots: u32::try_from(dice.between(1, 6)).unwrap_or(1),
        max_attempts: u16::try_from(dice.between(1, 3)).unwrap_or(1),
        dropout_devices: u32::try_from(dice.between(3, 10)).unwrap_or(3),
        dropout_percent: u32::try_from(dice.between(20, 80)).unwrap_or(20),
        ..Settings::default()
    }
}

/// Sets apart what is drawn for servers.
const SERVERS: u64 = 0x5e72_7665_7273_0001;

/// A name that is known to be one.
pub(crate) fn name(text: &str) -> Name {
    Name::new(text).expect("the world uses plain names only")
}
