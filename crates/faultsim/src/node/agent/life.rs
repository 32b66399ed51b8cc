//! N19, N22b, I11: a life of an agent begins with what the disk kept of the one before, and ends in order or without a word.

use super::{Agent, Chore, Life, disk::spool_broke};
use crate::{checker::Broken, machine::Calls, planted::Planted, scene::Scene};
use muster_agent::core::{Core, Drain, Event, EventKind, Found};
use muster_contract_nodes::{NotACallback, read_event};
use muster_spool::{Limits, Recovered, Seq, Spool, SpoolError};
use std::collections::{BTreeMap, VecDeque};

impl Agent {
    /// Opens the spool and hands what it holds to a new core. False: the disk does not let it; it is tried again.
    pub(super) fn open(&mut self, scene: &mut Scene) -> Result<bool, Broken> {
        let (mut spool, recovered) = match Spool::open(self.disk.clone(), LIMITS) {
            Ok(opened) => opened,
            Err(error) => return self.cannot_open(error, scene),
        };
        if recovered.cut.is_some() {
            scene.count("torn end cut");
        }
        // Nothing is unsynced yet: this only tells the last number that was given.
        let last = spool.sync().map_err(spool_broke)?;
        scene.checker.agent(&self.site).reopened(&recovered, last)?;
        let found = self.found(recovered, last)?;
        let new_id = format!("{}-{}", self.site.name, self.machine.incarnation);
        let core = Core::new(self.settings.clone(), &new_id, found, self.now(scene));
        let core = core.map_err(|error| Broken::new("spool_unreadable", error.to_string()))?;
        self.life = Some(Life {
            core,
            spool,
            calls: Calls::new(),
            works: BTreeMap::new(),
            is_sync_planned: false,
            news: VecDeque::new(),
            doom: None,
            state_before: None,
            leaving: None,
        });
        Ok(true)
    }

    fn cannot_open(&mut self, error: SpoolError, scene: &mut Scene) -> Result<bool, Broken> {
        scene.count("spool not opened");
        self.machine.up = false;
        self.trouble(&error, scene)?;
        self.machine.plan_restart(scene, 500..=5_000);
        Ok(false)
    }

    fn found(&self, recovered: Recovered, last: Seq) -> Result<Found, Broken> {
        let mut found = Found {
            snapshot: recovered.snapshot,
            since: read_events(recovered.since)?,
            pending: read_events(recovered.pending)?,
            last: last.0,
        };
        match self.planted {
            Some(Planted::ResendForgotten) => found.pending.clear(),
            Some(Planted::RestartNotReported) => {
                found.snapshot = found.snapshot.map(|state| all_ended(&state));
                found.since.retain(|(_, event)| !matches!(event.kind, EventKind::TaskStarted { .. }));
            }
            _ => {}
        }
        Ok(found)
    }
}

/// Rewrites a core's state as if nothing had been under way: no task says since when it runs.
fn all_ended(state: &[u8]) -> Vec<u8> {
    let state = String::from_utf8_lossy(state);
    let mut parts = state.split(BEGUN);
    let mut ended = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        ended += BEGUN;
        ended += "null";
        ended += part.trim_start_matches(|c: char| c.is_ascii_digit()).trim_start_matches("null");
    }
    ended.into_bytes()
}

fn read_events(entries: Vec<(Seq, Vec<u8>)>) -> Result<Vec<(u64, Event)>, Broken> {
    let read = |(seq, bytes): (Seq, Vec<u8>)| Ok((seq.0, read_event(&bytes)?));
    let events: Result<_, NotACallback> = entries.into_iter().map(read).collect();
    events.map_err(|error| Broken::new("spool_unreadable", error.to_string()))
}

/// Segments so small that each holds a few events only.
const LIMITS: Limits = Limits { segment_bytes: 2_500, reserve_bytes: 1_500, entry_bytes_max: 1 << 20 };
const BEGUN: &str = "\"begun_at\":";

/// Progress of leaving.
pub(super) struct Leaving {
    /// It no longer waits for events to be taken.
    is_hopeless: bool,
}

impl Agent {
    /// Asks it to end.
    pub(crate) fn ask_to_leave(&self, scene: &mut Scene) {
        let drain = if scene.dice.chance(500) { Drain::Finish } else { Drain::HandBack };
        self.machine.plan(scene, 0..=100, Chore::Leave(drain));
    }

    pub(super) fn begin_to_leave(&mut self, drain: Drain, scene: &mut Scene) {
        scene.count("agent drained");
        scene.note(|| format!("{}: is asked to end ({drain:?})", self.site.name));
        let now = self.now(scene);
        scene.checker.agent(&self.site).drains();
        let life = self.life();
        life.core.drain(drain, now);
        life.leaving.get_or_insert(Leaving { is_hopeless: false });
        self.machine.plan(scene, 2_000..=40_000, Chore::LoseHope);
    }

    pub(super) fn lose_hope(&mut self) {
        if let Some(leaving) = &mut self.life().leaving {
            leaving.is_hopeless = true;
        }
    }

    /// Ends once nothing runs and everything was taken, or is not worth waiting for.
    pub(super) fn leave_if_due(&mut self, scene: &mut Scene) -> Result<bool, Broken> {
        let life = self.life();
        let is_due = life
            .leaving
            .as_ref()
            .is_some_and(|leaving| life.core.is_drained() || (leaving.is_hopeless && life.core.is_idle()));
        if !is_due {
            return Ok(false);
        }
        if let Ok(last) = life.spool.sync() {
            scene.checker.agent(&self.site).synced(last)?;
        }
        scene.count("agent left");
        scene.note(|| format!("{}: has ended in order", self.site.name));
        let has_power = !self.disk.is_powerless();
        self.die(scene);
        if !has_power {
            self.disk.crash(&mut |limit| scene.dice.below(limit));
        }
        self.machine.plan_restart(scene, if scene.calm { 100..=1_000 } else { 500..=60_000 });
        Ok(true)
    }
}

/// The moment at which a life ends.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Doom {
    /// Instead of the next sync.
    Sync,
    /// While something that was killed dies.
    Kill,
}

impl Agent {
    pub(super) fn meet_doom(&mut self, scene: &mut Scene) {
        if !scene.calm {
            scene.count("node crashed at a chosen moment");
            self.end_badly(scene);
            self.machine.plan_restart(scene, 500..=60_000);
        }
    }

    pub(super) fn end_badly(&mut self, scene: &mut Scene) {
        if scene.dice.chance(500) {
            self.lose_power(scene);
        } else {
            self.die(scene);
        }
    }

    /// Ends the life without a word; what was written to the disk stays.
    pub(super) fn die(&mut self, scene: &mut Scene) {
        self.life.take().into_iter().for_each(|life| life.calls.break_off(scene));
        self.machine.go_down();
        scene.checker.agent(&self.site).died();
    }

    pub(super) fn lose_power(&mut self, scene: &mut Scene) {
        scene.count("node lost power");
        scene.note(|| format!("{}: loses power", self.site.name));
        self.die(scene);
        self.disk.crash(&mut |limit| scene.dice.below(limit));
    }
}
