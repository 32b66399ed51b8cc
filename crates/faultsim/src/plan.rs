//! The size of a world and the speed of its rules, drawn once at the beginning.

use crate::dice::Dice;
use muster_coordinator::LeaseTimes;
use muster_model::{FrameSettings, Millis, Name, PoolSettings, Rebind, Settings, Timestamp};
use std::ops::RangeInclusive;

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
    /// Minimum and maximum number of works that a node does at once.
    pub(crate) slots: (i64, i64),
    /// Maximum number of jobs that clients submit.
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
    /// True if every node runs muster's agent.
    pub(crate) agents_only: bool,
    /// In a thousand: works that fail at an agent, while there are faults and afterwards.
    pub(crate) fails: (u32, u32),
    /// Duration of most work at an agent.
    pub(crate) work_ms: (i64, i64),
    /// Timeout of a task at an agent.
    pub(crate) task_timeout: Millis,
    /// The mean pause between two faults.
    pub(crate) fault_every: Millis,
    /// In a thousand: timers at which the coordinator stands still for a moment.
    pub(crate) stalls: u32,
    /// True if people have runs submitted by the calendar.
    pub(crate) schedules: bool,
    /// True if nodes may send several reports at once (N25).
    pub(crate) batches: bool,
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
            batches: false,
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
        self.settings.frames = frame_settings(dice);
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

    /// In two of three worlds nodes may send several reports at once; in the others the backend is an older one.
    pub(crate) fn with_batches(self, seed: u64) -> Self {
        Self { batches: seed % 3 != 1, ..self }
    }

    /// Every third world has a pool, mostly in the place of everything else.
    pub(crate) fn with_pool(mut self, seed: u64, dice: &mut Dice) -> Self {
        if !seed.is_multiple_of(3) {
            return self;
        }
        self.settings.pool = pool_settings(dice);
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
            batches: true,
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

/// The figures of the sessions in a world. Chances are in a thousand.
#[derive(Clone, Debug)]
pub(crate) struct FramePlan {
    /// Workers.
    pub(crate) renderers: usize,
    /// Sessions that clients submit at first.
    pub(crate) sessions: usize,
    /// Workers that run muster's own worker.
    pub(crate) real: u32,
    /// Workers that take tasks by push (S3).
    pub(crate) pushed: u32,
    /// Tasks at a time, at most.
    pub(crate) slots_max: i64,
    /// Works that fail, hang, or drop frames while there are faults.
    pub(crate) fails: u32,
    pub(crate) hangs: u32,
    pub(crate) drops: u32,
    /// Chance that a worker that is not one of muster's own misbehaves.
    pub(crate) mischief: u32,
    /// Sessions with a frame that fails everywhere (S26b).
    pub(crate) poisoned: u32,
    /// Every so many chunks the timestamps of a fragment interleave with others' (S23); 0: never.
    pub(crate) skips_every: u64,
    /// Duration of most works.
    pub(crate) work_ms: RangeInclusive<i64>,
}

impl FramePlan {
    pub(crate) fn draw(dice: &mut Dice) -> Self {
        let rough = dice.chance(600);
        Self {
            renderers: 2 + dice.below(3),
            sessions: 1 + dice.below(4),
            real: dice.pick(&[0, 400, 1_000]).copied().unwrap_or(0),
            pushed: dice.pick(&[0, 400, 1_000]).copied().unwrap_or(0),
            slots_max: dice.between(1, 3),
            fails: if rough { 150 } else { 30 },
            hangs: if rough { 100 } else { 0 },
            drops: if rough { 400 } else { 40 },
            mischief: if rough { 200 } else { 20 },
            poisoned: if dice.chance(300) { 400 } else { 0 },
            skips_every: dice.pick(&[0, 0, 3, 7]).copied().unwrap_or(0),
            work_ms: 200..=dice.between(1_000, 8_000),
        }
    }
}

/// The contract's figures in some worlds; in most, others, so that every limit is met.
fn frame_settings(dice: &mut Dice) -> FrameSettings {
    let rebind = if dice.chance(500) { Rebind::Resume } else { Rebind::Reassign };
    let usual = FrameSettings { rebind, ..FrameSettings::default() };
    if dice.chance(150) {
        return usual;
    }
    let mut secs = |low: i64, high: i64| Millis(dice.between(low * 1000, high * 1000));
    FrameSettings {
        heartbeat: secs(1, 4),
        degraded_recovery: secs(5, 20),
        quarantine_window: secs(20, 600),
        rebind_within: secs(2, 8),
        stall: secs(5, 30),
        quarantine_after: u32::try_from(dice.between(2, 4)).unwrap_or(3),
        split_after: u16::try_from(dice.between(1, 3)).unwrap_or(2),
        max_attempts: u16::try_from(dice.between(2, 6)).unwrap_or(5),
        poison_workers: u32::try_from(dice.between(2, 3)).unwrap_or(3),
        chunk_size: dice.pick(&[7, 100, 1_000_000]).copied().unwrap_or(100),
        ..usual
    }
}

/// The figures of the pool in a world. Chances are in a thousand.
#[derive(Clone, Debug)]
pub(crate) struct PoolPlan {
    /// Number of clients that submit jobs.
    pub(crate) clients: usize,
    /// Submissions at first.
    pub(crate) orders: usize,
    /// Number of owners that bring workers.
    pub(crate) owners: usize,
    /// Owners whose workers tell the same lie.
    pub(crate) pact: usize,
    /// Owners with a second worker.
    pub(crate) seconds: u32,
    /// Honest workers that run muster's own worker.
    pub(crate) real: u32,
    /// Workers that take longer than they are waited for, those of the pact not counted.
    pub(crate) slow: u32,
    /// Of the others, workers that are not honest, those of the pact not counted.
    pub(crate) odd: u32,
    /// Numbers of owners that the redundant jobs of this world ask for (P15).
    pub(crate) redundancies: &'static [u8],
    /// Jobs that are redundant.
    pub(crate) redundant: u32,
    /// Jobs with a limit of their own (P5).
    pub(crate) limited: u32,
    /// Assignments that a worker says to have failed, while there are faults.
    pub(crate) fails: u32,
    /// Calls that submit under one signature what is ready (P20).
    pub(crate) batches: u32,
    /// Chance that a worker misbehaves.
    pub(crate) mischief: u32,
    /// Duration of most works.
    pub(crate) work_ms: RangeInclusive<i64>,
}

impl PoolPlan {
    pub(crate) fn draw(dice: &mut Dice) -> Self {
        let rough = dice.chance(600);
        let kinds: [&[u8]; 4] = [&[2, 3], &[3], &[4, 5], &[2, 3, 4]];
        let redundancies = dice.pick(&kinds).copied().unwrap_or(&[3]);
        Self {
            clients: 1 + dice.below(3),
            orders: 3 + dice.below(5),
            owners: 2 + dice.below(4),
            pact: dice.below(4),
            seconds: 250,
            real: dice.pick(&[0, 500, 1_000]).copied().unwrap_or(0),
            slow: dice.pick(&[0, 0, 600]).copied().unwrap_or(0),
            odd: if rough { 400 } else { 100 },
            redundancies,
            redundant: dice.pick(&[0, 300, 800]).copied().unwrap_or(0),
            limited: dice.pick(&[0, 200]).copied().unwrap_or(0),
            fails: if rough { 150 } else { 20 },
            batches: dice.pick(&[0, 300, 900]).copied().unwrap_or(0),
            mischief: if rough { 400 } else { 100 },
            work_ms: 200..=dice.between(1_000, 8_000),
        }
    }

    /// True if those who lie together are too few to be a majority anywhere (P15).
    pub(crate) fn is_pact_small(&self) -> bool {
        let least = self.redundancies.iter().map(|asked| usize::from(asked / 2) + 1).min().unwrap_or(1);
        self.pact.min(self.owners) < least
    }
}

/// The contract's figures in some worlds; in most, shorter ones, so that every limit is met.
fn pool_settings(dice: &mut Dice) -> PoolSettings {
    let waiting_max = if dice.chance(200) { 8 } else { 10_000 };
    if dice.chance(100) {
        return PoolSettings { waiting_max, ..PoolSettings::default() };
    }
    let mut secs = |low: i64, high: i64| Millis(dice.between(low * 1000, high * 1000));
    PoolSettings {
        offline_after: secs(5, 30),
        lease: secs(6, 40),
        max_attempts: u8::try_from(dice.between(1, 4)).unwrap_or(3),
        ban_after: u32::try_from(dice.between(2, 3)).unwrap_or(3),
        waiting_max,
    }
}

/// The figures of the servers. Chances are in a thousand.
#[derive(Clone, Debug)]
pub(crate) struct ServerPlan {
    pub(crate) count: usize,
    pub(crate) times: LeaseTimes,
    /// Faults that concern servers or their store.
    pub(crate) faults: u32,
    /// Looks and signs of life that take their time.
    pub(crate) slow: u32,
    /// Requests that are lost between two servers.
    pub(crate) lost: u32,
}

impl ServerPlan {
    pub(crate) fn draw(dice: &mut Dice, count: Option<usize>) -> Self {
        let usual = dice.chance(300);
        let lease = if usual { LeaseTimes::default().lease } else { Millis(dice.between(1_000, 8_000)) };
        Self {
            count: count.unwrap_or(2 + dice.below(3)),
            times: LeaseTimes { lease },
            faults: dice.pick(&[300, 600]).copied().unwrap_or(300),
            slow: dice.pick(&[20, 200, 500]).copied().unwrap_or(20),
            lost: dice.pick(&[5, 60]).copied().unwrap_or(5),
        }
    }

    /// So many servers with the usual lease, and nothing that goes wrong by itself.
    pub(crate) fn staged(count: usize) -> Self {
        Self { count, times: LeaseTimes::default(), faults: 0, slow: 0, lost: 0 }
    }
}
