//! The feed, newest last.

use super::{Listed, Theme, fitted, width_of};
use crate::command::top::{
    event_line::EventLine,
    state::{Pane, State},
};
use ratatui::{
    Frame,
    layout::Rect,
    style::Style,
    text::{Line, Span},
};

pub(super) fn draw(frame: &mut Frame<'_>, area: Rect, state: &State, theme: Theme) {
    let width = width_of(area);
    let events = state.lines();
    let back = state.cursors[Pane::Events as usize];
    let chosen = events.len().saturating_sub(back + 1);
    let title = if back == 0 { "Events (UTC)" } else { "Events (UTC), held; End follows" }.to_owned();
    let lines = events.into_iter().map(|event| line(event, width, theme)).collect();
    Listed { pane: Pane::Events, title, lines, chosen }.draw(frame, area, (state, theme));
}

fn line(event: &EventLine, width: usize, theme: Theme) -> Line<'static> {
    let style = if event.is_trouble() { theme.bad() } else { Style::default() };
    vec![
        Span::styled(format!("{:<9}", event.time), theme.faint()),
        Span::styled(fitted(&event.kind, KIND_COLUMNS), style),
        Span::raw(fitted(&event.detail, width.saturating_sub(9 + KIND_COLUMNS))),
    ]
    .into()
}

const KIND_COLUMNS: usize = 24;
