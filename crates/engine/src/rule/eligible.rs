//! Q5, Q6: which lanes a job is for, and which of them could start now.

use crate::{
    Mutant,
    state::{Job, Lane, LaneIx, RowState, State},
};
use muster_model::Scope;

/// How a lane stands to an active job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Standing {
    /// A target without a row.
    pub(crate) lacking: bool,
    /// Has a row that has not ended.
    pub(crate) open: bool,
    /// Could start now; its place in the line (0: fresh).
    pub(crate) waiting: Option<u64>,
}

/// How a lane stands to a job.
///
/// A row once begun is carried through even if the scope no longer matches; only a fresh lane is
/// judged by the scope.
pub(crate) fn standing(state: &State, job: &Job, ix: LaneIx) -> Standing {
    let lane = &state.lanes[ix];
    let free =
        lane.is_online() && !lane.failed && (lane.busy.is_none() || state.has_bug(Mutant::LaneNotExclusive));
    let row = lane
        .row(job.seq)
        .filter(|row| row.state != RowState::Ended || !state.has_bug(Mutant::LaneServedTwice));
    match row {
        None => {
            let lacking = is_target(state, job, lane);
            Standing {
                lacking,
                open: false,
                waiting: (lacking && free).then_some(0),
            }
        }
        Some(row) => match row.state {
            RowState::Pending => Standing {
                lacking: false,
                open: true,
                waiting: free.then(|| state.tasks[&row.task].order),
            },
            RowState::Running => Standing {
                lacking: false,
                open: true,
                waiting: None,
            },
            RowState::Ended => Standing::default(),
        },
    }
}

/// Whether a lane belongs to a job's target set: in scope and in service.
///
/// A lane out of service is no target: otherwise one broken device would hold the queue for ever.
pub(crate) fn is_target(state: &State, job: &Job, lane: &Lane) -> bool {
    !lane.failed && in_scope(state, &job.scope, lane)
}

/// Counts the targets of a job whose tasks are all yet to come, without looking at lanes outside
/// its scope.
pub(crate) fn count_targets(state: &State, job: &Job) -> u32 {
    let count = match &job.scope {
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
            let lists = labels
                .iter()
                .map(|(key, value)| state.labelled.get(&(key.clone(), value.clone())));
            let shortest = lists
                .min_by_key(|list| list.map_or(0, |lanes| lanes.len()))
                .flatten();
            let lanes = shortest.into_iter().flatten();
            lanes
                .filter(|ix| is_target(state, job, &state.lanes[**ix]))
                .count()
        }
    };
    u32::try_from(count).expect("fewer than 2^32 lanes")
}

fn in_scope(state: &State, scope: &Scope, lane: &Lane) -> bool {
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
