//! One snapshot as plain text, for whoever has no terminal (I4).

use super::{
    fleet::{DeviceState, Node},
    queue::Item,
    snapshot::{Overview, Snapshot},
};

/// The whole page.
pub(super) fn page(snapshot: &Snapshot) -> String {
    let mut lines = summary(&snapshot.overview);
    lines.push(String::new());
    lines.extend(snapshot.nodes.iter().map(node));
    lines.extend(snapshot.queue.iter().map(item));
    lines.join("\n").trim_end().replace(|char: char| char.is_control() && char != '\n', "\u{fffd}")
}

/// The server, the fleet and the work in a few lines.
pub(super) fn summary(overview: &Overview) -> Vec<String> {
    let Overview { version, leader, nodes, devices, slots, runs, sessions, pool, .. } = overview;
    let address = leader.address.as_deref().unwrap_or("this server");
    vec![
        format!("version {version}, leader {address}, epoch {}, store {}", leader.epoch, leader.store),
        format!(
            "nodes {} online, {} offline, {} draining; devices {} running, {} idle, {} error, {} offline; slots {}/{}",
            nodes.online,
            nodes.offline,
            nodes.draining,
            devices.running,
            devices.idle,
            devices.error,
            devices.offline,
            slots.used,
            slots.target
        ),
        format!(
            "runs {} running, {} waiting; sessions {} running, {} waiting, {} paused; pool jobs {} running, {} waiting; oldest waiting {}",
            runs.running,
            runs.pending,
            sessions.running,
            sessions.pending,
            sessions.paused,
            pool.jobs_running,
            pool.jobs_waiting,
            oldest(overview)
        ),
    ]
}

/// What waits longest, and for how long.
pub(super) fn oldest(overview: &Overview) -> String {
    let Some(waiting) = &overview.oldest_waiting else { return "nothing".to_owned() };
    let id = waiting.id.as_str().map_or_else(|| waiting.id.to_string(), str::to_owned);
    format!("{} {id} for {}", waiting.kind, span(overview.at - waiting.since))
}

/// A stretch of time in at most two units.
fn span(ms: i64) -> String {
    let seconds = ms.max(0) / 1000;
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, seconds) => format!("{seconds} s"),
        (0, minutes, seconds) => format!("{minutes} min {seconds} s"),
        (hours, minutes, _) => format!("{hours} h {minutes} min"),
    }
}

fn node(node: &Node) -> String {
    let counts = DeviceState::ALL.iter().zip(node.counts());
    let counts: Vec<String> = counts.map(|(state, count)| format!("{count} {}", state.word())).collect();
    format!("node {} {}: {}", node.node_id, node.condition(), counts.join(", "))
}

fn item(item: &Item) -> String {
    let progress = item.progress.map_or_else(String::new, |(done, total)| format!(" {done}/{total}"));
    format!("{} {} {}{progress} {}", item.kind.word(), item.id, item.status, item.note).trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::top::state::tests::document;

    /// I4: without a terminal, plain text.
    #[test]
    fn a_page_says_it_all() {
        let expected = "\
version 0.1.0, leader http://a:1, epoch 3, store sqlite
nodes 1 online, 1 offline, 1 draining; devices 1 running, 1 idle, 1 error, 1 offline; slots 1/2
runs 1 running, 1 waiting; sessions 1 running, 0 waiting, 0 paused; pool jobs 2 running, 5 waiting; oldest waiting run r2 for 1 min 5 s

node PC-01 online: 1 running, 1 idle, 1 error, 0 offline
node PC-02 offline: 0 running, 0 idle, 0 error, 1 offline
run r1 running 2/4 warm up
run r2 pending nightly
session s1 running 25/100 frames
pool jobs 2 running 5 waiting, 1/2 workers online";
        assert_eq!(page(&Snapshot::read(&document())), expected);
    }
}
