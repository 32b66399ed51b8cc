//! Draws the state. Decides nothing.

use super::{
    keys::Mode,
    snapshot::{Device, DeviceState, Item, Node, cells},
    state::{Pane, State},
    text::{self, EventLine},
};
use ratatui::{
    Frame,
    layout::{Constraint, Flex, Layout, Rect},
    style::{Color, Modifier, Style},
    text::{Line, Span},
    widgets::{Block, Clear, List, ListState, Paragraph, Sparkline, Wrap},
};

/// Draws everything.
pub(super) fn draw(frame: &mut Frame<'_>, state: &State, theme: Theme) {
    let rows = [Constraint::Length(5), Constraint::Fill(3), Constraint::Fill(2), Constraint::Length(1)];
    let [header, middle, events, footer] = Layout::vertical(rows).areas(frame.area());
    let [fleet, queues] = Layout::horizontal([Constraint::Fill(1), Constraint::Fill(1)]).areas(middle);
    draw_header(frame, header, state, theme);
    draw_fleet(frame, fleet, state, theme);
    draw_queues(frame, queues, state, theme);
    draw_events(frame, events, state, theme);
    draw_footer(frame, footer, state, theme);
    draw_popup(frame, state, theme);
}

/// A pane with its lines, one of them chosen.
struct Listed<'a> {
    pane: Pane,
    title: String,
    lines: Vec<Line<'a>>,
    chosen: usize,
    theme: Theme,
}

impl Listed<'_> {
    fn draw(self, frame: &mut Frame<'_>, area: Rect, state: &State) {
        let theme = self.theme;
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

/// Number of columns that a pane leaves for its lines: without its borders and the mark.
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

/// Colours, or none. Nothing is told by colour alone.
#[derive(Clone, Copy, Debug)]
pub(super) struct Theme {
    pub(super) is_coloured: bool,
}

impl Theme {
    /// No colours where `NO_COLOR` is set.
    pub(super) fn of_environment() -> Self {
        Self { is_coloured: crate::output::is_colourful(true) }
    }

    fn border(self, is_used: bool) -> Style {
        if is_used { self.with(Color::Cyan).add_modifier(Modifier::BOLD) } else { Style::default() }
    }

    fn chosen(self, is_used: bool) -> Style {
        if is_used { Style::default().add_modifier(Modifier::REVERSED) } else { Style::default() }
    }

    const fn strong(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    const fn faint(self) -> Style {
        Style::new().add_modifier(Modifier::DIM)
    }

    fn bad(self) -> Style {
        self.with(Color::Red).add_modifier(Modifier::BOLD)
    }

    fn good(self) -> Style {
        self.with(Color::Green)
    }

    fn of_device(self, state: DeviceState) -> Style {
        match state {
            DeviceState::Running => self.with(Color::Green),
            DeviceState::Idle => self.with(Color::Blue),
            DeviceState::Error => self.with(Color::Red),
            DeviceState::Offline => self.with(Color::DarkGray),
        }
    }

    fn with(self, colour: Color) -> Style {
        if self.is_coloured { Style::default().fg(colour) } else { Style::default() }
    }
}

/// Character for a device in a bar.
const fn cell_of(state: DeviceState) -> &'static str {
    match state {
        DeviceState::Running => "█",
        DeviceState::Idle => "▒",
        DeviceState::Error => "!",
        DeviceState::Offline => "·",
    }
}

fn draw_header(frame: &mut Frame<'_>, area: Rect, state: &State, theme: Theme) {
    let [words, curve] = Layout::vertical([Constraint::Length(3), Constraint::Length(2)]).areas(area);
    frame.render_widget(Paragraph::new(header_lines(state, theme)), words);
    draw_curve(frame, curve, state, theme);
}

fn header_lines(state: &State, theme: Theme) -> Vec<Line<'static>> {
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

fn draw_queues(frame: &mut Frame<'_>, area: Rect, state: &State, theme: Theme) {
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
    let lines = state.items().into_iter().map(|item| item_line(item, width, theme)).collect();
    let chosen = state.cursors[Pane::Queues as usize];
    Listed { pane: Pane::Queues, title, lines, chosen, theme }.draw(frame, area, state);
}

fn item_line(item: &Item, width: usize, theme: Theme) -> Line<'static> {
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

fn draw_fleet(frame: &mut Frame<'_>, area: Rect, state: &State, theme: Theme) {
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
    Listed { pane: Pane::Fleet, title, lines, chosen, theme }.draw(frame, area, state);
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

fn draw_events(frame: &mut Frame<'_>, area: Rect, state: &State, theme: Theme) {
    let width = width_of(area);
    let events = state.lines();
    let back = state.cursors[Pane::Events as usize];
    let chosen = events.len().saturating_sub(back + 1);
    let title = if back == 0 { "Events (UTC)" } else { "Events (UTC), held; End follows" }.to_owned();
    let lines = events.into_iter().map(|event| event_line(event, width, theme)).collect();
    Listed { pane: Pane::Events, title, lines, chosen, theme }.draw(frame, area, state);
}

fn event_line(event: &EventLine, width: usize, theme: Theme) -> Line<'static> {
    let style = if event.is_trouble() { theme.bad() } else { Style::default() };
    vec![
        Span::styled(format!("{:<9}", event.time), theme.faint()),
        Span::styled(fitted(&event.kind, KIND_COLUMNS), style),
        Span::raw(fitted(&event.detail, width.saturating_sub(9 + KIND_COLUMNS))),
    ]
    .into()
}

const KIND_COLUMNS: usize = 24;

/// The last line: the result of an order, or the keys.
fn draw_footer(frame: &mut Frame<'_>, area: Rect, state: &State, theme: Theme) {
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
fn draw_popup(frame: &mut Frame<'_>, state: &State, theme: Theme) {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::top::state::{
        Connection, Input,
        tests::{entry, press, state, write},
    };
    use crossterm::event::KeyCode;
    use ratatui::{Terminal, backend::TestBackend, buffer::Buffer, style::Color};
    use serde_json::json;

    fn drawn(state: &State, is_coloured: bool) -> Buffer {
        let mut terminal = Terminal::new(TestBackend::new(110, 24)).unwrap();
        terminal.draw(|frame| draw(frame, state, Theme { is_coloured })).unwrap();
        terminal.backend().buffer().clone()
    }

    /// The content of a screen, line by line.
    fn screen(state: &State) -> String {
        let buffer = drawn(state, true);
        let line =
            |y: u16| (0..110).map(|x| buffer[(x, y)].symbol()).collect::<String>().trim_end().to_owned();
        (0..24).map(line).collect::<Vec<_>>().join("\n") + "\n"
    }

    /// Compares text by text; on a difference the whole screen is shown.
    fn assert_screen(state: &State, expected: &str) {
        let screen = screen(state);
        assert_eq!(screen, expected, "the screen is now:\n{screen}");
    }

    fn with_events() -> State {
        let mut state = state();
        state.take(entry(42, "worker_online", json!({"at": 3_723_000, "worker": "PC-01"})));
        state.take(entry(43, "task_ended", json!({"at": 3_724_000, "task": "t1", "status": "failed"})));
        state
    }

    #[test]
    fn everything_is_on_one_screen() {
        assert_screen(&with_events(), include_str!("draw/screens/fleet.txt"));
    }

    #[test]
    fn the_devices_of_a_node_take_its_place() {
        let mut state = with_events();
        press(&mut state, KeyCode::Enter);
        write(&mut state, "/err");
        assert_screen(&state, include_str!("draw/screens/devices.txt"));
    }

    #[test]
    fn a_dangerous_order_says_what_it_will_do() {
        let mut state = with_events();
        press(&mut state, KeyCode::Tab);
        write(&mut state, "c");
        assert_screen(&state, include_str!("draw/screens/cancel.txt"));
    }

    #[test]
    fn a_server_that_is_away_is_told() {
        let mut state = with_events();
        state.take(Input::Lost(Connection::Following, "connection refused".to_owned()));
        assert!(screen(&state).lines().next().unwrap().ends_with("reconnecting: connection refused"));
        state.take(Input::Open);
        assert!(screen(&state).lines().next().unwrap().ends_with("live"));
    }

    /// Q16: an explanation is read whole, however long.
    #[test]
    fn an_explanation_is_shown_whole() {
        let mut state = state();
        let sentence = "PC-01 runs 20 of 20 devices; ".repeat(8) + "the end.";
        state.take(Input::Text("run r1".to_owned(), sentence));
        let screen = screen(&state);
        assert!(screen.contains(" run r1 ") && screen.contains("the end."), "{screen}");
    }

    /// I4: `NO_COLOR` leaves no colour anywhere.
    #[test]
    fn without_colours_there_are_none() {
        let state = with_events();
        let coloured = |buffer: Buffer| buffer.content().iter().any(|cell| cell.fg != Color::Reset);
        assert!(coloured(drawn(&state, true)));
        assert!(!coloured(drawn(&state, false)));
    }

    #[test]
    fn any_size_of_terminal_will_do() {
        for (width, height) in [(1, 1), (10, 3), (40, 10), (300, 100)] {
            let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
            let mut state = with_events();
            write(&mut state, "?");
            terminal.draw(|frame| draw(frame, &state, Theme { is_coloured: true })).unwrap();
        }
    }
}
