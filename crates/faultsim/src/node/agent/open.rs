//! N19, N22b: a life begins with what the disk kept of the one before.

use super::{Agent, Life, disk::spool_broke};
use crate::{
    checker::{Broken, Checker},
    planted::Planted,
    scene::Scene,
};
use muster_agent::core::{Core, Event, EventKind, Found};
use muster_contract_nodes::{NotACallback, read_event};
use muster_spool::{Limits, Recovered, Seq, Spool, SpoolError};
use std::collections::{BTreeMap, VecDeque};

impl Agent {
    /// Opens the spool and hands what it holds to a new core. False: the disk does not let it; it is tried again.
    pub(super) fn open(&mut self, scene: &mut Scene, checker: &mut Checker) -> Result<bool, Broken> {
        let (mut spool, recovered) = match Spool::open(self.disk.clone(), LIMITS) {
            Ok(opened) => opened,
            Err(error) => return self.cannot_open(error, scene, checker),
        };
        if recovered.cut.is_some() {
            scene.count("torn end cut");
        }
        // Nothing is unsynced yet: this only tells the last number that was given.
        let last = spool.sync().map_err(spool_broke)?;
        checker.agent(&self.site).reopened(&recovered, last)?;
        let found = self.found(recovered, last)?;
        let new_id = format!("{}-{}", self.site.name, self.site.incarnation);
        let core = Core::new(self.settings.clone(), &new_id, found, self.now(scene));
        let core = core.map_err(|error| Broken::new("spool_unreadable", error.to_string()))?;
        self.life = Some(Life {
            core,
            spool,
            requests: BTreeMap::new(),
            works: BTreeMap::new(),
            wakes_at: None,
            rounds: 0,
            is_sync_planned: false,
            news: VecDeque::new(),
            doom: None,
            state_before: None,
            leaving: None,
        });
        Ok(true)
    }

    fn cannot_open(
        &mut self,
        error: SpoolError,
        scene: &mut Scene,
        checker: &mut Checker,
    ) -> Result<bool, Broken> {
        scene.count("spool not opened");
        self.site.up = false;
        self.trouble(&error, scene, checker)?;
        self.start_again(scene, 500..=5_000);
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

/// What a core knew, as if nothing had been under way: no task says since when it runs.
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
