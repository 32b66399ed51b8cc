//! The server, the totals, and what ended in the last minutes.

use super::Theme;
use crate::command::top::{state::State, text};
use ratatui::{
    Frame,
    layout::{Constraint, Layout, Rect},
    text::{Line, Span},
    widgets::{Paragraph, Sparkline},
};

pub(super) fn draw(frame: &mut Frame<'_>, area: Rect, state: &State, theme: Theme) {
    let [words, curve] = Layout::vertical([Constraint::Length(3), Constraint::Length(2)]).areas(area);
    frame.render_widget(Paragraph::new(lines(state, theme)), words);
    draw_curve(frame, curve, state, theme);
}

fn lines(state: &State, theme: Theme) -> Vec<Line<'static>> {
    let overview = &state.snapshot.overview;
    let condition = match state.ailing.iter().flatten().next() {
        Some(why) => Span::styled(format!("reconnecting: {why}"), theme.bad()),
        None => Span::styled("live", theme.good()),
    };
    let address = overview.leader.address.as_deref().unwrap_or("this server");
    let leader =
        format!("  leader {address}  epoch {}  store {}  ", overview.leader.epoch, overview.leader.store);
    let first = vec![
        Span::styled(format!("muster {}  {}", overview.version, state.server), theme.strong()),
        leader.into(),
        condition,
    ];
    vec![first.into(), totals(state).into(), work(state).into()]
}

fn totals(state: &State) -> String {
    let (nodes, devices) = (state.snapshot.overview.nodes, state.snapshot.overview.devices);
    let slots = state.snapshot.overview.slots;
    format!(
        "slots {}/{}  nodes {} online, {} offline, {} draining  devices {} running, {} idle, {} error, {} offline",
        slots.used,
        slots.target,
        nodes.online,
        nodes.offline,
        nodes.draining,
        devices.running,
        devices.idle,
        devices.error,
        devices.offline
    )
}

fn work(state: &State) -> String {
    let overview = &state.snapshot.overview;
    let ended: u64 = overview.ended().iter().sum();
    let frames: u64 = overview.throughput.frames.iter().sum();
    let oldest = text::oldest(overview);
    format!("oldest waiting {oldest}  last 10 min: {ended} tasks and jobs ended, {frames} frames")
}

/// The newest pieces that fit, newest at the right.
fn draw_curve(frame: &mut Frame<'_>, area: Rect, state: &State, theme: Theme) {
    let ended = state.snapshot.overview.ended();
    let from = ended.len().saturating_sub(area.width as usize);
    let curve = Sparkline::default().data(&ended[from..]).style(theme.good());
    frame.render_widget(curve, area);
}
