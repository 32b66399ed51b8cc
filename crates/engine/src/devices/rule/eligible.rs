//! Q5, Q6: which lanes a job is for, which of them could start now, and what a scope names and nobody has yet.

use crate::{
    Mutant,
    devices::state::{Job, Lane, LaneIx, RowState, State},
};
use alloc::{boxed::Box, format, vec::Vec};
use muster_model::{Name, Scope, Strangers};

/// Standing of a lane in an active job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Standing {
    /// A target without a row.
    pub(crate) lacking: bool,
    /// Has a row that has not ended.
    pub(crate) open: bool,
    /// Could start now; its place in the line (0: fresh).
    pub(crate) waiting: Option<u64>,
}

/// Decides the standing of a lane in a job.
///
/// A row once begun is carried through even if the scope no longer matches; only a fresh lane is
/// judged by the scope.
pub(crate) fn standing(state: &State, job: &Job, ix: LaneIx) -> Standing {
    let lane = &state.lanes[ix];
    let free = lane.is_online()
        && !lane.failed
        && (lane.busy().is_none() || state.has_bug(Mutant::LaneNotExclusive));
    let row = lane
        .row(job.seq)
        .filter(|row| row.state != RowState::Ended || !state.has_bug(Mutant::LaneServedTwice));
    match row {
        None => {
            let lacking = is_target(state, job, lane);
            Standing { lacking, open: false, waiting: (lacking && free).then_some(0) }
        }
        Some(row) => match row.state {
            RowState::Pending => {
                Standing { lacking: false, open: true, waiting: free.then(|| state.tasks[&row.task()].order) }
            }
            RowState::Running => Standing { lacking: false, open: true, waiting: None },
            RowState::Ended => Standing::default(),
        },
    }
}

/// True if a lane belongs to a job's target set: in scope and in service.
///
/// A lane out of service is no target: otherwise one broken device would hold the queue for ever.
pub(crate) fn is_target(state: &State, job: &Job, lane: &Lane) -> bool {
    !lane.failed && in_scope(state, &job.scope, lane)
}

/// Counts the lanes that are in a scope and in service: the targets of a job whose tasks are all yet to come. Without looking at lanes outside
/// its scope.
pub(crate) fn count_targets(state: &State, scope: &Scope) -> u32 {
    let count = match scope {
        Scope::All => return state.healthy,
        Scope::Workers(names) => {
            return names
                .iter()
                .filter_map(|name| state.workers.ix(name))
                .map(|ix| state.workers[ix].healthy)
                .sum();
        }
        Scope::Devices(names) => {
            let lanes = names.iter().filter_map(|name| state.lanes.ix(name));
            lanes.filter(|ix| !state.lanes[*ix].failed).count()
        }
        Scope::Labels(labels) => {
            let lists = labels.iter().map(|(key, value)| state.labelled.get(&(key.clone(), value.clone())));
            let shortest = lists.min_by_key(|list| list.map_or(0, |lanes| lanes.len())).flatten();
            let lanes = shortest.into_iter().flatten();
            let is_meant = |lane: &Lane| !lane.failed && in_scope(state, scope, lane);
            lanes.filter(|ix| is_meant(&state.lanes[**ix])).count()
        }
    };
    u32::try_from(count).expect("fewer than 2^32 lanes")
}

/// True if a scope names a lane, whatever its condition.
pub(crate) fn in_scope(state: &State, scope: &Scope, lane: &Lane) -> bool {
    match scope {
        Scope::All => true,
        Scope::Workers(names) => names.contains(&state.workers[lane.worker].name),
        Scope::Devices(names) => names.contains(&lane.name),
        Scope::Labels(wanted) => {
            let has = |key, value| lane.labels.as_ref().and_then(|labels| labels.get(key)) == Some(value);
            wanted.iter().all(|(key, value)| has(key, value))
        }
    }
}

/// The names of a scope that are not known, and those that may have been meant.
pub(crate) fn strangers(state: &State, scope: &Scope) -> Strangers {
    let targets = count_targets(state, scope);
    let boxed = |name: &Name| Box::<str>::from(name.as_str());
    let unknown: Vec<Box<str>> = match scope {
        Scope::All => Vec::new(),
        Scope::Workers(names) => absent(names, |name| state.workers.ix(name).is_some()),
        Scope::Devices(names) => absent(names, |name| state.lanes.ix(name).is_some()),
        Scope::Labels(labels) => {
            let is_known = |key: &Name, value: &Name| {
                let lanes = state.labelled.get(&(key.clone(), value.clone()));
                lanes.is_some_and(|lanes| !lanes.is_empty())
            };
            let absent = labels.iter().filter(|(key, value)| !is_known(key, value));
            absent.take(UNKNOWN_MAX).map(|(key, value)| label(key, value)).collect()
        }
    };
    let known = match scope {
        _ if unknown.is_empty() => Vec::new(),
        Scope::All => Vec::new(),
        Scope::Workers(_) => state.workers.iter().take(KNOWN_MAX).map(|(_, one)| boxed(&one.name)).collect(),
        Scope::Devices(_) => state.lanes.iter().take(KNOWN_MAX).map(|(_, one)| boxed(&one.name)).collect(),
        Scope::Labels(_) => {
            let worn = state.labelled.iter().filter(|(_, lanes)| !lanes.is_empty());
            worn.take(KNOWN_MAX).map(|((key, value), _)| label(key, value)).collect()
        }
    };
    Strangers { unknown, known, targets }
}

fn absent<'a>(names: impl IntoIterator<Item = &'a Name>, is_known: impl Fn(&Name) -> bool) -> Vec<Box<str>> {
    let absent = names.into_iter().filter(|name| !is_known(name));
    absent.take(UNKNOWN_MAX).map(|name| name.as_str().into()).collect()
}

fn label(key: &Name, value: &Name) -> Box<str> {
    format!("{key}={value}").into()
}

/// More than anybody reads.
const UNKNOWN_MAX: usize = 20;
/// Few enough that the writer is not held up, and more than one of most fleets.
const KNOWN_MAX: usize = 10_000;

#[cfg(test)]
mod tests {
    use crate::devices::script::check;

    /// Q5: a lane is eligible when it is online, in service, not served by this job, and free.
    #[test]
    fn only_free_online_unserved_lanes_in_service_start() {
        check(
            "
            0s  pull PC-01 max=0 devices=d1,d2:offline,d3:unauthorized,d4:error,d5
            1s  submit r1 attempts=1
            2s  pull PC-01                   => runs=r1:5 jobs=r1/d1#1,r1/d5#1
            3s  pull PC-01                   => nothing
            4s  finished PC-01 r1/d1 ok
            5s  finished PC-01 r1/d5 failed
            6s  pull PC-01                   => nothing
            7s  pull PC-01 devices=d1,d2,d3:unauthorized,d4:error,d5   => jobs=r1/d2#1
            ",
        );
    }

    /// Q5: a lane that another queue's job holds waits for it.
    #[test]
    fn a_busy_lane_waits_for_its_lease() {
        check(
            "
            0s  pull PC-01 max=0 devices=d1
            1s  submit a queue=first
            1s  submit b queue=second
            2s  pull PC-01                   => runs=a:1 jobs=a/d1#1
            3s  pull PC-01                   => nothing
            3s  explain run b                => lane_busy
            4s  finished PC-01 a/d1 ok
            5s  pull PC-01                   => runs=b:1 jobs=b/d1#1 finished=a
            ",
        );
    }

    /// Q6: the scope is judged while the run is active: a lane that appears late joins, labels included.
    #[test]
    fn late_lanes_join_the_scope() {
        check(
            "
            0s  pull PC-01 max=0 devices=d1
            0s  pull PC-02 max=0 devices=e1
            1s  submit r1 pcs=PC-01
            2s  pull PC-02                   => nothing
            3s  pull PC-01 devices=d1,d2     => runs=r1:2 jobs=r1/d1#1,r1/d2#1
            4s  finished PC-01 r1/d1 ok      -> confirmed r1/d1; ended r1/d1#1 ok; closed r1/d1 Completed
            5s  pull PC-01 devices=d1,d2,d3  => jobs=r1/d3#1
            6s  finished PC-01 r1/d2 ok
            7s  finished PC-01 r1/d3 ok      -> confirmed r1/d3; ended r1/d3#1 ok; closed r1/d3 Completed; over r1 Success
            8s  submit r2 labels=rack:a
            9s  label e1 rack:a
            10s pull PC-02                   => runs=r2:1 jobs=r2/e1#1
            11s submit r3 devices=d1
            12s finished PC-02 r2/e1 ok      -> confirmed r2/e1; ended r2/e1#1 ok; closed r2/e1 Completed; over r2 Success; active r3
            13s pull PC-01                   => runs=r3:1 jobs=r3/d1#1 finished=r1
            ",
        );
    }

    /// Q6: names and labels that nobody has are found, in every kind of scope, and whether anything matches at all.
    #[test]
    fn what_nobody_has_is_found() {
        check(
            "
            0s  pull PC-01 max=0 devices=d1,d2
            0s  pull PC-02 max=0 devices=e1
            1s  label d1 rack:a
            1s  label e1 rack:b
            2s  strangers all                      => 3 targets
            2s  strangers pcs=PC-01                => 2 targets
            2s  strangers pcs=PC-01,PC-O2          => PC-O2 of PC-01,PC-02; 2 targets
            2s  strangers devices=d3               => d3 of d1,d2,e1; 0 targets
            2s  strangers labels=rack:a            => 1 targets
            2s  strangers labels=rack:c            => rack=c of rack=a,rack=b; 0 targets
            3s  label d1 rack:c
            4s  strangers labels=rack:a            => rack=a of rack=b,rack=c; 0 targets
            ",
        );
    }
}
