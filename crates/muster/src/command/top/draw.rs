//! Draws the state. Decides nothing.

mod events;
mod fleet;
mod header;
mod popup;
mod queues;
mod theme;

pub(super) use theme::Theme;

use super::state::{Pane, State};
use ratatui::{
    Frame,
    layout::{Constraint, Layout, Rect},
    text::Line,
    widgets::{Block, List, ListState},
};

/// Draws everything.
pub(super) fn draw(frame: &mut Frame<'_>, state: &State, theme: Theme) {
    let rows = [Constraint::Length(5), Constraint::Fill(3), Constraint::Fill(2), Constraint::Length(1)];
    let [header, middle, events, footer] = Layout::vertical(rows).areas(frame.area());
    let [fleet, queues] = Layout::horizontal([Constraint::Fill(1), Constraint::Fill(1)]).areas(middle);
    header::draw(frame, header, state, theme);
    fleet::draw(frame, fleet, state, theme);
    queues::draw(frame, queues, state, theme);
    events::draw(frame, events, state, theme);
    popup::draw_footer(frame, footer, state, theme);
    popup::draw(frame, state, theme);
}

/// A pane with its lines, one of them chosen.
struct Listed<'a> {
    pane: Pane,
    title: String,
    lines: Vec<Line<'a>>,
    chosen: usize,
}

impl Listed<'_> {
    fn draw(self, frame: &mut Frame<'_>, area: Rect, (state, theme): (&State, Theme)) {
        let is_used = state.pane == self.pane;
        let filter = &state.filters[self.pane as usize];
        let title =
            if filter.is_empty() { self.title } else { format!("{}, only with “{filter}”", self.title) };
        let block = Block::bordered().border_style(theme.border(is_used)).title(format!(" {title} "));
        let mut chosen = ListState::default().with_selected((!self.lines.is_empty()).then_some(self.chosen));
        let mark = theme.chosen(is_used);
        let list = List::new(self.lines).block(block).highlight_style(mark).highlight_symbol("›");
        frame.render_stateful_widget(list, area, &mut chosen);
    }
}

/// How many columns a pane leaves for its lines: without its borders and the mark.
const fn width_of(area: Rect) -> usize {
    area.width.saturating_sub(3) as usize
}

/// Text in exactly so many columns; nothing in it can steer the terminal.
fn fitted(text: &str, columns: usize) -> String {
    let clean = text.replace(char::is_control, "\u{fffd}");
    let length = clean.chars().count();
    match length > columns {
        true => clean.chars().take(columns.saturating_sub(1)).chain(['…']).take(columns).collect(),
        false => clean + &" ".repeat(columns - length),
    }
}

#[cfg(test)]
mod tests;
