//! What stands before the panes, and the line at the foot.

use super::Theme;
use crate::command::top::{prompt::Mode, state::State};
use ratatui::{
    Frame,
    layout::{Constraint, Flex, Layout, Rect},
    text::Line,
    widgets::{Block, Clear, Paragraph, Wrap},
};

/// The line at the foot: what came of an order, else what the keys are.
pub(super) fn draw_footer(frame: &mut Frame<'_>, area: Rect, state: &State, theme: Theme) {
    let line = match (&state.mode, &state.notice) {
        (Mode::Filtering, _) => {
            let filter = &state.filters[state.pane as usize];
            Line::styled(
                format!("only lines with: {filter}▏ (Enter keeps it, Esc clears it)"),
                theme.strong(),
            )
        }
        (_, Some(notice)) => Line::styled(notice.clone(), theme.strong()),
        (_, None) => Line::styled(KEYS, theme.faint()),
    };
    frame.render_widget(Paragraph::new(line), area);
}

/// A question or a text, in the middle of the screen.
pub(super) fn draw(frame: &mut Frame<'_>, state: &State, theme: Theme) {
    let (title, text) = match &state.mode {
        Mode::Looking | Mode::Filtering => return,
        Mode::Reading { title, text } => (title.clone(), text.clone()),
        Mode::Confirming(order) => ("Sure?".to_owned(), format!("{}\n\ny / N", order.question())),
        Mode::Writing { order, words } => {
            (order.wanted(), format!("{words}▏\n\nEnter does it, Esc leaves it as it is"))
        }
    };
    let width = frame.area().width.saturating_sub(4).min(WIDTH_MAX);
    let paragraph = Paragraph::new(text.clone()).wrap(Wrap { trim: false });
    let area = centred(frame.area(), width, height_of(&text, width.saturating_sub(2)));
    frame.render_widget(Clear, area);
    let block = Block::bordered().border_style(theme.border(true)).title(format!(" {title} "));
    frame.render_widget(paragraph.block(block), area);
}

/// Lines of a text that is wrapped, with borders; a word that does not fit may cost one more.
fn height_of(text: &str, columns: u16) -> u16 {
    let columns = usize::from(columns.max(1));
    let lines: usize = text.lines().map(|line| line.chars().count().div_ceil(columns).max(1)).sum();
    let spare = text.lines().filter(|line| line.chars().count() > columns).count();
    u16::try_from(lines + spare + 2).unwrap_or(u16::MAX)
}

fn centred(area: Rect, width: u16, height: u16) -> Rect {
    let [row] =
        Layout::vertical([Constraint::Length(height.min(area.height))]).flex(Flex::Center).areas(area);
    let [place] = Layout::horizontal([Constraint::Length(width)]).flex(Flex::Center).areas(row);
    place
}

const WIDTH_MAX: u16 = 76;
const KEYS: &str = "Tab pane  / filter  e explain  d drain  r return  c cancel  ? help  q quit";
