//! Invariants of sessions, each a function with a name.

use super::{
    decide::find_work,
    state::{Crew, Farm},
};
use alloc::{
    collections::{BTreeMap, BTreeSet},
    format,
    string::String,
    vec::Vec,
};
use muster_model::{FrameTaskId, IdRange, Name, Timestamp};

type Broken = Result<(), String>;

impl Farm {
    pub(crate) fn check_invariants(&self) -> Broken {
        invariant_ids_never_overlap(self)?;
        invariant_each_frame_stands_once(self)?;
        invariant_leases_agree(self)?;
        invariant_only_the_fit_hold_leases(self)?;
        invariant_crew_agrees(self)
    }

    /// True if a worker that asks now would be given work (invariant 13).
    pub(crate) fn has_supply_for(&self, worker: &Name, now: Timestamp) -> bool {
        find_work(self, worker, now).is_some()
    }
}

/// 7: live ids never overlap, and lie below what will be granted next.
fn invariant_ids_never_overlap(farm: &Farm) -> Broken {
    let mut live: Vec<IdRange> = Vec::new();
    for (id, session) in &farm.sessions {
        for (start, task) in session.tasks.iter().filter(|(_, task)| task.lease.is_some()) {
            let extra = task.lease.iter().flat_map(|lease| lease.extra.iter().copied());
            for ids in [task.ids].into_iter().chain(extra) {
                let known = farm.chunks.get(&ids.chunk);
                if known != Some(&FrameTaskId { session: id.clone(), start: *start }) {
                    return Err(format!("chunk {} of {id}.{start} is known as {known:?}", ids.chunk));
                }
                live.push(ids);
            }
        }
    }
    if live.len() != farm.chunks.len() {
        return Err(format!("{} live chunks, {} known", live.len(), farm.chunks.len()));
    }
    live.sort_unstable_by_key(|ids| ids.start);
    if let Some(pair) = live.windows(2).find(|pair| pair[0].end > pair[1].start) {
        return Err(format!("ids of {:?} and {:?} overlap", pair[0], pair[1]));
    }
    let beyond = live.iter().find(|ids| ids.end > farm.ids.next_id || ids.chunk >= farm.ids.next_chunk);
    beyond.map_or(Ok(()), |ids| Err(format!("{ids:?} may be granted again")))
}

/// 8: each frame of an open session is uncut, in one range, done or given up, and only one of these.
fn invariant_each_frame_stands_once(farm: &Farm) -> Broken {
    for (id, session) in &farm.sessions {
        let mut ranges: BTreeMap<u64, u64> = session.uncut.clone();
        for (start, task) in &session.tasks {
            if ranges.insert(*start, task.range.end).is_some() || *start != task.range.start {
                return Err(format!("frame {start} of {id} stands twice"));
            }
            if task.range.len() > session.per_task {
                return Err(format!("{} of {id} is longer than {}", task.range, session.per_task));
            }
            if session.ready.contains(&(task.order, *start)) != task.lease.is_none() {
                return Err(format!("{id}.{start} waits and is leased, or neither"));
            }
        }
        for (start, record) in &session.failed {
            if ranges.insert(*start, record.end).is_some() || *start != record.id.start {
                return Err(format!("the failed frame {start} of {id} stands twice"));
            }
        }
        let waiting = session.tasks.values().filter(|task| task.lease.is_none()).count();
        if waiting != session.ready.len() {
            return Err(format!("{waiting} ranges of {id} wait, {} stand in line", session.ready.len()));
        }
        let ends = ranges.values().copied();
        if let Some((_, start)) = ends.zip(ranges.keys().copied().skip(1)).find(|(end, next)| end > next) {
            return Err(format!("ranges of {id} overlap at {start}"));
        }
        let open: u64 = ranges.iter().map(|(start, end)| end - start).sum();
        if open + session.done != session.total {
            return Err(format!("{id} has {} frames, {open} open and {} done", session.total, session.done));
        }
    }
    Ok(())
}

/// 2: leases fit the slots, and both sides know of them.
fn invariant_leases_agree(farm: &Farm) -> Broken {
    for (name, renderer) in &farm.renderers {
        let stray = renderer
            .live
            .iter()
            .find(|id| farm.task(id).is_none_or(|task| task.lease.is_none() || task.worker != *name));
        if let Some(stray) = stray {
            return Err(format!("{name} believes it holds {stray}"));
        }
    }
    let leased = farm.sessions.values().flat_map(|session| session.tasks.values());
    let leased = leased.filter(|task| task.lease.is_some()).count();
    let held: usize = farm.renderers.values().map(|renderer| renderer.live.len()).sum();
    if leased == held { Ok(()) } else { Err(format!("{leased} ranges are leased, {held} are held")) }
}

/// 11: who is lost, in quarantine or removed holds no lease.
fn invariant_only_the_fit_hold_leases(farm: &Farm) -> Broken {
    let unfit = farm.renderers.iter().find(|(_, r)| !r.state.may_work() && !r.live.is_empty());
    unfit.map_or(Ok(()), |(name, renderer)| {
        Err(format!("{name} is {} and holds {:?}", renderer.state.as_str(), renderer.live))
    })
}

/// The totals over the crew, and the sessions with something to give out, agree with a full count.
fn invariant_crew_agrees(farm: &Farm) -> Broken {
    let mut counted = Crew::default();
    for (name, renderer) in &farm.renderers {
        counted.put_up(renderer, name);
    }
    let kept = &farm.crew;
    let same = (kept.able, kept.rated, kept.rate_sum) == (counted.able, counted.rated, counted.rate_sum);
    let offering: BTreeSet<u64> = farm.sessions.values().filter(|s| s.has_work()).map(|s| s.seq).collect();
    if offering != farm.offering {
        return Err(format!("{offering:?} have something to give out, believed {:?}", farm.offering));
    }
    if same && kept.reachable == counted.reachable && kept.hungry == counted.hungry {
        Ok(())
    } else {
        Err(format!("the crew is {counted:?}, believed {kept:?}"))
    }
}
