//! Q6: what a scope names and nobody has yet.

use crate::devices::{rule::eligible, state::State};
use alloc::{boxed::Box, format, vec::Vec};
use muster_model::{Name, Scope, Strangers};

/// The names of a scope that are not known, and those that may have been meant.
pub(crate) fn strangers(state: &State, scope: &Scope) -> Strangers {
    let targets = eligible::count_targets(state, scope);
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
