//! Nodes with bars of their devices, or the devices of one.

use super::{Listed, Theme, fitted, theme::cell_of, width_of};
use crate::command::top::{
    fleet::{Device, DeviceState, Node, cells},
    state::{Pane, State},
};
use ratatui::{
    Frame,
    layout::Rect,
    text::{Line, Span},
};

pub(super) fn draw(frame: &mut Frame<'_>, area: Rect, state: &State, theme: Theme) {
    let width = width_of(area);
    let (title, lines) = match (&state.open_node, state.devices()) {
        (Some(node), Some(devices)) => {
            let lines = devices.iter().map(|device| device_line(device, width, theme)).collect();
            (format!("Devices of {node}: {}", devices.len()), lines)
        }
        _ => {
            let nodes = state.nodes();
            let lines = nodes.iter().map(|node| node_line(node, width, theme)).collect();
            (format!("Fleet: {} nodes", nodes.len()), lines)
        }
    };
    let chosen = state.cursors[Pane::Fleet as usize];
    Listed { pane: Pane::Fleet, title, lines, chosen }.draw(frame, area, (state, theme));
}

/// Name, condition, counts, and a bar of whatever room is left.
fn node_line(node: &Node, width: usize, theme: Theme) -> Line<'static> {
    let counts = node.counts();
    let [running, idle, error, offline] = counts;
    let condition = if node.is_online() && !node.draining { theme.good() } else { theme.faint() };
    let mut spans = vec![
        Span::raw(fitted(&node.node_id, 12)),
        Span::styled(format!(" {:<8} ", node.condition()), condition),
    ];
    let told = format!("{running} run {idle} idle {error} err {offline} off ");
    let room = width.saturating_sub(22 + told.chars().count());
    spans.push(Span::raw(told));
    for (state, length) in DeviceState::ALL.into_iter().zip(cells(counts, room.min(BAR_MAX))) {
        spans.push(Span::styled(cell_of(state).repeat(length), theme.of_device(state)));
    }
    spans.into()
}

fn device_line(Device(id, state, task, _): &Device, width: usize, theme: Theme) -> Line<'static> {
    let name = width.saturating_sub(12).min(30);
    let task = task.as_deref().unwrap_or_default();
    let rest = width.saturating_sub(name + 11);
    vec![
        Span::raw(fitted(id, name)),
        Span::styled(format!(" {} {:<8}", cell_of(*state), state.word()), theme.of_device(*state)),
        Span::styled(fitted(task, rest), theme.faint()),
    ]
    .into()
}

const BAR_MAX: usize = 60;
