//! Keys, and the questions that some of them open.

use super::{
    snapshot::Kind,
    state::{Action, Pane, State},
};
use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

impl State {
    /// Presses a key.
    pub(super) fn press(&mut self, key: KeyEvent) -> Option<Action> {
        if key.kind == KeyEventKind::Release {
            return None;
        }
        if key.modifiers.contains(KeyModifiers::CONTROL) {
            return (key.code == KeyCode::Char('c')).then_some(Action::Quit);
        }
        match std::mem::take(&mut self.mode) {
            Mode::Looking => self.look(key.code),
            Mode::Filtering => self.write_filter(key.code),
            Mode::Reading { title, text } => self.read(key.code, Mode::Reading { title, text }),
            Mode::Confirming(order) => self.confirm(key.code, order),
            Mode::Writing { order, words } => self.write(key.code, order, words),
        }
    }

    fn look(&mut self, key: KeyCode) -> Option<Action> {
        self.notice = None;
        match key {
            KeyCode::Char('q') => return Some(Action::Quit),
            KeyCode::Char('?') => self.mode = help(),
            KeyCode::Char('/') => self.mode = Mode::Filtering,
            KeyCode::Char('e') => return self.explain(),
            KeyCode::Char('d') => self.drain(),
            KeyCode::Char('r') => self.return_device(),
            KeyCode::Char('c') => self.cancel(),
            KeyCode::Tab => self.pane = self.pane.step(1),
            KeyCode::BackTab => self.pane = self.pane.step(Pane::ALL.len() - 1),
            KeyCode::Enter => self.open(),
            KeyCode::Esc => self.step_back(),
            other => self.walk(other),
        }
        None
    }

    /// Events count from the newest, which is the lowest line; the others from the top.
    fn walk(&mut self, key: KeyCode) {
        let (cursor, last) = (self.cursors[self.pane as usize], self.length(self.pane).saturating_sub(1));
        let (up, by) = match key {
            KeyCode::Up => (true, 1),
            KeyCode::Down => (false, 1),
            KeyCode::PageUp => (true, PAGE),
            KeyCode::PageDown => (false, PAGE),
            KeyCode::Home => (true, last),
            KeyCode::End => (false, last),
            _ => return,
        };
        let is_towards_zero = up != (self.pane == Pane::Events);
        self.go_to(if is_towards_zero { cursor.saturating_sub(by) } else { cursor.saturating_add(by) });
    }

    fn open(&mut self) {
        if self.pane == Pane::Fleet && self.open_node.is_none() {
            self.open_node = self.node().map(|node| node.id);
            self.filters[Pane::Fleet as usize].clear();
            self.go_to(0);
        }
    }

    /// Clears the filter of the pane, then closes the node.
    fn step_back(&mut self) {
        if !self.filters[self.pane as usize].is_empty() {
            self.filters[self.pane as usize].clear();
        } else if self.pane == Pane::Fleet
            && let Some(node) = self.open_node.take()
        {
            let place = self.nodes().iter().position(|known| known.node_id == node);
            self.go_to(place.unwrap_or(0));
        }
    }

    fn explain(&mut self) -> Option<Action> {
        let subject = self.subject();
        if subject.is_none() {
            self.notice = Some("nothing here that can be explained".to_owned());
        }
        subject.map(Action::Explain)
    }

    fn drain(&mut self) {
        let node = self.node().filter(|_| self.pane == Pane::Fleet);
        let known = node.and_then(|node| self.snapshot.nodes.iter().find(|known| known.node_id == node.id));
        match known {
            Some(node) if node.draining => self.mode = Mode::Confirming(Order::Resume(node.node_id.clone())),
            Some(node) => self.mode = Mode::Confirming(Order::Drain(node.node_id.clone())),
            None => self.notice = Some("choose a node in the fleet first".to_owned()),
        }
    }

    fn return_device(&mut self) {
        let chosen = self.subject().filter(|subject| subject.kind == "device");
        match chosen {
            Some(device) => {
                self.mode = Mode::Writing { order: Order::Return(device.id), words: String::new() };
            }
            None => self.notice = Some("choose a device first: Enter on a node shows its devices".to_owned()),
        }
    }

    fn cancel(&mut self) {
        let chosen = self.subject().filter(|subject| subject.kind == Kind::Run.word());
        match chosen {
            Some(run) => self.mode = Mode::Confirming(Order::Cancel(run.id)),
            None => self.notice = Some("choose a run first".to_owned()),
        }
    }

    fn write_filter(&mut self, key: KeyCode) -> Option<Action> {
        let filter = &mut self.filters[self.pane as usize];
        match key {
            KeyCode::Enter => return None,
            KeyCode::Esc => filter.clear(),
            KeyCode::Backspace => drop(filter.pop()),
            KeyCode::Char(char) if filter.chars().count() < WORDS_MAX => filter.push(char),
            _ => {}
        }
        if key != KeyCode::Esc {
            self.mode = Mode::Filtering;
        }
        self.go_to(0);
        None
    }

    /// Any of the usual keys closes a text; others leave it.
    fn read(&mut self, key: KeyCode, text: Mode) -> Option<Action> {
        let closes =
            [KeyCode::Esc, KeyCode::Enter, KeyCode::Char('q'), KeyCode::Char('e'), KeyCode::Char('?')];
        if !closes.contains(&key) {
            self.mode = text;
        }
        None
    }

    /// Anything but a yes is a no.
    fn confirm(&mut self, key: KeyCode, order: Order) -> Option<Action> {
        match (key, order) {
            (KeyCode::Char('y' | 'Y'), Order::Resume(node)) => {
                return Some(Action::Order(Order::Resume(node), String::new()));
            }
            (KeyCode::Char('y' | 'Y'), order) => self.mode = Mode::Writing { order, words: String::new() },
            _ => self.notice = Some("left as it is".to_owned()),
        }
        None
    }

    fn write(&mut self, key: KeyCode, order: Order, mut words: String) -> Option<Action> {
        match key {
            KeyCode::Enter => return Some(Action::Order(order, words.trim().to_owned())),
            KeyCode::Esc => {
                self.notice = Some("left as it is".to_owned());
                return None;
            }
            KeyCode::Backspace => drop(words.pop()),
            KeyCode::Char(char) if words.chars().count() < WORDS_MAX => words.push(char),
            _ => {}
        }
        self.mode = Mode::Writing { order, words };
        None
    }
}

fn help() -> Mode {
    Mode::Reading { title: "Keys".to_owned(), text: HELP.to_owned() }
}

const PAGE: usize = 10;
/// Longest note or reason that the server accepts.
const WORDS_MAX: usize = 500;

/// Current meaning of keys.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Mode {
    /// Moving about.
    #[default]
    Looking,
    /// Writing what the lines of a pane must contain.
    Filtering,
    /// Reading a text.
    Reading { title: String, text: String },
    /// Saying yes or no.
    Confirming(Order),
    /// Writing a few words about an order.
    Writing { order: Order, words: String },
}

/// Something to be done at the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Order {
    Drain(String),
    Resume(String),
    Return(String),
    Cancel(String),
}

impl Order {
    /// The order as a question.
    pub(super) fn question(&self) -> String {
        match self {
            Self::Drain(node) => format!("Give {node} no more work? What it has it may finish."),
            Self::Resume(node) => format!("Give {node} work again?"),
            Self::Return(device) => format!("Return {device} to service?"),
            Self::Cancel(run) => format!("Cancel run {run}? Devices at work are told to stop."),
        }
    }

    /// Prompt for the note or the reason.
    pub(super) fn wanted(&self) -> String {
        match self {
            Self::Return(device) => format!("What was done about {device}?"),
            Self::Drain(name) | Self::Resume(name) | Self::Cancel(name) => format!("Why ({name})?"),
        }
    }

    /// Message after the order was carried out.
    pub(super) fn done(&self) -> String {
        match self {
            Self::Drain(node) => format!("{node} gets no more work"),
            Self::Resume(node) => format!("{node} gets work again"),
            Self::Return(device) => format!("{device} is back in service"),
            Self::Cancel(run) => format!("run {run} is cancelled"),
        }
    }
}

pub(super) const HELP: &str = "\
Tab, Shift-Tab   next pane, the one before
Up Down PgUp PgDn Home End   move in the pane
Enter            devices of the chosen node
Esc              back; clears the pane's filter
/                only lines of this pane that contain …
e                explain: why is the chosen thing not running
d                drain the chosen node, or resume it
r                return the chosen device to service
c                cancel the chosen run
?                this help
q, Ctrl-C        quit

Queues count what is at work + what waits.";
