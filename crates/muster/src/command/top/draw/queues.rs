//! Work that has not ended, with how far it is.

use super::{Listed, Theme, fitted, width_of};
use crate::command::top::{
    queue::Item,
    state::{Pane, State},
};
use ratatui::{
    Frame,
    layout::Rect,
    text::{Line, Span},
};

pub(super) fn draw(frame: &mut Frame<'_>, area: Rect, state: &State, theme: Theme) {
    let overview = &state.snapshot.overview;
    let title = format!(
        "Queues: runs {}+{}, sessions {}+{}, pool jobs {}+{}",
        overview.runs.running,
        overview.runs.pending,
        overview.sessions.running,
        overview.sessions.pending + overview.sessions.paused,
        overview.pool.jobs_running,
        overview.pool.jobs_waiting
    );
    let width = width_of(area);
    let lines = state.items().into_iter().map(|item| line(item, width, theme)).collect();
    let chosen = state.cursors[Pane::Queues as usize];
    Listed { pane: Pane::Queues, title, lines, chosen }.draw(frame, area, (state, theme));
}

fn line(item: &Item, width: usize, theme: Theme) -> Line<'static> {
    let progress = item.progress.map_or_else(String::new, |(done, total)| {
        let filled = (done * BAR_CELLS).checked_div(total).unwrap_or(0).min(BAR_CELLS);
        let cells = |cell: &str, count: u64| cell.repeat(usize::try_from(count).unwrap_or(0));
        format!("{}{} {done}/{total} ", cells("█", filled), cells("░", BAR_CELLS - filled))
    });
    let head =
        format!("{:<7} {} {} ", item.kind.word(), fitted(&item.id, ID_COLUMNS), fitted(&item.status, 9));
    let room = width.saturating_sub(head.chars().count() + progress.chars().count());
    vec![
        Span::raw(head),
        Span::styled(progress, theme.good()),
        Span::styled(fitted(&item.note, room), theme.faint()),
    ]
    .into()
}

const BAR_CELLS: u64 = 10;
/// Enough to tell ids apart; the popup of `e` has all of it.
const ID_COLUMNS: usize = 13;
