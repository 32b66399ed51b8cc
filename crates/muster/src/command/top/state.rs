//! State of the screen: changed by inputs alone, without IO, a clock or a terminal.

use super::{
    keys::{Mode, Order},
    snapshot::{Device, Item, Kind, Node, Snapshot},
    text::{EventLine, Subject},
};
use crate::client::Entry;
use crossterm::event::KeyEvent;
use std::collections::VecDeque;

/// Everything that is shown, and what the keys work on.
#[derive(Debug, Default)]
pub(super) struct State {
    /// The server's address, as it was given.
    pub(super) server: String,
    pub(super) snapshot: Snapshot,
    /// The newest last.
    pub(super) events: VecDeque<EventLine>,
    /// Current errors of requests and of the feed; the screen then shows the last known state.
    pub(super) ailing: [Option<String>; 2],
    pub(super) pane: Pane,
    /// The chosen line of each pane; of events, how far it is from the newest.
    pub(super) cursors: [usize; 3],
    /// Filter text of each pane.
    pub(super) filters: [String; 3],
    /// The node whose devices are shown in place of all nodes.
    pub(super) open_node: Option<String>,
    pub(super) mode: Mode,
    /// Result of the last order.
    pub(super) notice: Option<String>,
}

/// A part of the screen that keys can be for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Pane {
    #[default]
    Fleet,
    Queues,
    Events,
}

/// The two connections to the server; either may fail alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Connection {
    Asking,
    Following,
}

/// Input to the screen.
#[derive(Debug)]
pub(super) enum Input {
    Key(KeyEvent),
    /// Something that only a new drawing shows, such as another size.
    Redraw,
    Snapshot(Box<Snapshot>),
    Entry(Entry),
    /// The feed is open.
    Open,
    Lost(Connection, String),
    /// A text to read, such as an explanation: its title, and the text.
    Text(String, String),
    /// Result of an order.
    Done(String),
}

/// Action that the screen requests.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Action {
    Quit,
    Explain(Subject),
    /// Has an order carried out, with what was written about it.
    Order(Order, String),
}

impl Pane {
    pub(super) const ALL: [Self; 3] = [Self::Fleet, Self::Queues, Self::Events];

    /// The one so many steps on, round about.
    pub(super) fn step(self, by: usize) -> Self {
        Self::ALL[(self as usize + by) % Self::ALL.len()]
    }
}

impl State {
    pub(super) fn new(server: String, snapshot: Snapshot) -> Self {
        Self { server, snapshot, ..Self::default() }
    }

    /// Takes in what happened, and says what to do about it.
    pub(super) fn take(&mut self, input: Input) -> Option<Action> {
        match input {
            Input::Key(key) => return self.press(key),
            Input::Redraw => {}
            Input::Snapshot(snapshot) => self.renew(*snapshot),
            Input::Entry(entry) => self.note(&entry),
            Input::Open => self.ailing[Connection::Following as usize] = None,
            Input::Lost(way, why) => self.ailing[way as usize] = Some(why),
            Input::Text(title, text) => self.show(title, text),
            Input::Done(notice) => self.notice = Some(notice),
        }
        None
    }

    /// Shows a text, unless keys are for something else by now: it must not take what is being typed.
    fn show(&mut self, title: String, text: String) {
        match self.mode {
            Mode::Looking => self.mode = Mode::Reading { title, text },
            _ => self.notice = Some(format!("{title} was explained meanwhile; press e there to read it")),
        }
    }

    /// The nodes that the filter lets through.
    pub(super) fn nodes(&self) -> Vec<&Node> {
        self.snapshot.nodes.iter().filter(|node| self.lets_through(Pane::Fleet, &node.node_id)).collect()
    }

    /// The devices that the filter lets through, where a node is open.
    pub(super) fn devices(&self) -> Option<Vec<&Device>> {
        let open = self.open_node.as_ref()?;
        let node = self.snapshot.nodes.iter().find(|node| node.node_id == *open)?;
        let line = |device: &Device| format!("{} {}", device.0, device.1.word());
        Some(node.devices.iter().filter(|device| self.lets_through(Pane::Fleet, &line(device))).collect())
    }

    /// The work that the filter lets through.
    pub(super) fn items(&self) -> Vec<&Item> {
        self.snapshot.queue.iter().filter(|item| self.lets_through(Pane::Queues, &item.line())).collect()
    }

    /// The events that the filter lets through, newest last.
    pub(super) fn lines(&self) -> Vec<&EventLine> {
        self.events.iter().filter(|event| self.lets_through(Pane::Events, &event.line())).collect()
    }

    /// Subject for `explain`.
    pub(super) fn subject(&self) -> Option<Subject> {
        let cursor = self.cursors[self.pane as usize];
        match self.pane {
            Pane::Fleet => self.device().or_else(|| self.node()),
            Pane::Queues => {
                let item = *self.items().get(cursor)?;
                (item.kind != Kind::Pool).then(|| Subject::new(item.kind.word(), &item.id))
            }
            Pane::Events => self.lines().into_iter().rev().nth(cursor)?.subject.clone(),
        }
    }

    /// The node that is chosen or open.
    pub(super) fn node(&self) -> Option<Subject> {
        let open = self.open_node.clone();
        let chosen = || self.nodes().get(self.cursors[Pane::Fleet as usize]).map(|node| node.node_id.clone());
        Some(Subject::new("node", open.or_else(chosen)?))
    }

    fn device(&self) -> Option<Subject> {
        let devices = self.devices()?;
        Some(Subject::new("device", &devices.get(self.cursors[Pane::Fleet as usize])?.0))
    }

    /// Number of lines in a pane.
    pub(super) fn length(&self, pane: Pane) -> usize {
        match pane {
            Pane::Fleet => self.devices().map_or_else(|| self.nodes().len(), |devices| devices.len()),
            Pane::Queues => self.items().len(),
            Pane::Events => self.lines().len(),
        }
    }

    /// Moves the cursor of the pane in use to a line that there is.
    pub(super) fn go_to(&mut self, line: usize) {
        let last = self.length(self.pane).saturating_sub(1);
        self.cursors[self.pane as usize] = line.min(last);
    }

    /// A cursor stays with what it is at, wherever that stands now: an order must not hit its neighbour.
    fn renew(&mut self, snapshot: Snapshot) {
        let pane = self.pane;
        let chosen = [Pane::Fleet, Pane::Queues].map(|pane| self.key_at(pane, self.cursors[pane as usize]));
        self.snapshot = snapshot;
        self.ailing[Connection::Asking as usize] = None;
        if self.devices().is_none() {
            self.open_node = None;
        }
        for (at, key) in [Pane::Fleet, Pane::Queues].into_iter().zip(chosen) {
            let found = (0..self.length(at)).find(|line| key.is_some() && self.key_at(at, *line) == key);
            self.pane = at;
            self.go_to(found.unwrap_or(self.cursors[at as usize]));
        }
        self.pane = pane;
    }

    fn key_at(&self, pane: Pane, line: usize) -> Option<String> {
        match (pane, self.devices()) {
            (Pane::Fleet, Some(devices)) => Some(devices.get(line)?.0.clone()),
            (Pane::Fleet, None) => Some(self.nodes().get(line)?.node_id.clone()),
            (Pane::Queues, _) => self.items().get(line).map(|item| item.id.clone()),
            (Pane::Events, _) => None,
        }
    }

    /// Adds an event; a reader of older ones is not moved.
    fn note(&mut self, entry: &Entry) {
        let event = EventLine::read(entry);
        let cursor = &mut self.cursors[Pane::Events as usize];
        if *cursor > 0 && contains(&event.line(), &self.filters[Pane::Events as usize]) {
            *cursor = (*cursor + 1).min(EVENTS_MAX - 1);
        }
        if self.events.len() == EVENTS_MAX {
            self.events.pop_front();
        }
        self.events.push_back(event);
    }

    fn lets_through(&self, pane: Pane, line: &str) -> bool {
        contains(line, &self.filters[pane as usize])
    }
}

fn contains(line: &str, filter: &str) -> bool {
    filter.is_empty() || line.to_lowercase().contains(&filter.to_lowercase())
}

/// Some screens full; older ones are the server's to tell.
const EVENTS_MAX: usize = 1000;

#[cfg(test)]
pub(super) mod tests {
    use super::{
        super::snapshot::tests::{run, session},
        *,
    };
    use crossterm::event::{KeyCode, KeyModifiers};
    use serde_json::{Value, json};

    /// A fleet of two nodes, two runs and a session.
    pub(in crate::command::top) fn document() -> Value {
        let throughput = json!({"tasks_ok": [0, 1, 2, 4, 8], "tasks_failed": [0, 0, 0, 1, 0]});
        let overview = json!({
            "seq": 41, "at": 100_000, "version": "0.1.0",
            "leader": {"address": "http://a:1", "epoch": 3, "store": "sqlite"},
            "nodes": {"online": 1, "offline": 1, "draining": 1},
            "devices": {"total": 4, "idle": 1, "running": 1, "offline": 1, "error": 1},
            "slots": {"used": 1, "target": 2}, "runs": {"pending": 1, "running": 1},
            "sessions": {"pending": 0, "running": 1, "paused": 0},
            "pool": {"jobs_waiting": 5, "jobs_running": 2, "workers_online": 1, "workers": 2},
            "oldest_waiting": {"kind": "run", "id": "r2", "since": 35_000}, "throughput": throughput,
        });
        let devices = json!([["a-1", "running", "t1"], ["a-2", "idle", null], ["a-3", "error", null]]);
        let nodes = json!([
            {"node_id": "PC-01", "status": "online", "draining": false, "max_devices": 20, "devices": devices},
            {"node_id": "PC-02", "status": "offline", "draining": true, "devices": [["b-1", "offline", null]]},
        ]);
        let runs =
            [run("r1", "running", Some("warm up"), [1, 1, 2, 0, 0]), run("r2", "pending", None, [0; 5])];
        let sessions = [session("s1", "running", 25)];
        json!({"overview": overview, "fleet": {"nodes": nodes}, "runs": runs, "sessions": sessions})
    }

    pub(in crate::command::top) fn state() -> State {
        State::new("http://a:1".to_owned(), Snapshot::read(&document()))
    }

    pub(in crate::command::top) fn press(state: &mut State, code: KeyCode) -> Option<Action> {
        state.take(Input::Key(KeyEvent::new(code, KeyModifiers::NONE)))
    }

    /// Presses the keys of a text, one after the other; says what came of the last.
    pub(in crate::command::top) fn write(state: &mut State, text: &str) -> Option<Action> {
        text.chars().map(|char| press(state, KeyCode::Char(char))).last().flatten()
    }

    pub(in crate::command::top) fn entry(seq: u64, kind: &str, body: Value) -> Input {
        Input::Entry(Entry { seq: Some(seq), kind: kind.to_owned(), body })
    }

    #[test]
    fn q_and_ctrl_c_quit() {
        assert_eq!(write(&mut state(), "q"), Some(Action::Quit));
        let ctrl_c = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
        let mut asking = state();
        asking.mode = Mode::Confirming(Order::Drain("PC-01".to_owned()));
        assert_eq!(asking.take(Input::Key(ctrl_c)), Some(Action::Quit));
    }

    /// Q16: what is chosen is what is explained, in every pane.
    #[test]
    fn explain_is_about_what_is_chosen() {
        let mut state = state();
        let explained = |state: &mut State| match write(state, "e") {
            Some(Action::Explain(subject)) => format!("{} {}", subject.kind, subject.id),
            other => format!("{other:?}"),
        };
        assert_eq!(explained(&mut state), "node PC-01");
        press(&mut state, KeyCode::Enter);
        press(&mut state, KeyCode::Down);
        assert_eq!(explained(&mut state), "device a-2");
        press(&mut state, KeyCode::Esc);
        press(&mut state, KeyCode::Tab);
        press(&mut state, KeyCode::Down);
        assert_eq!(explained(&mut state), "run r2");
        press(&mut state, KeyCode::Down);
        assert_eq!(explained(&mut state), "session s1");
        press(&mut state, KeyCode::Tab);
        assert_eq!(explained(&mut state), "None", "no event yet");
        assert!(state.notice.is_some());
        state.take(entry(1, "device_error", json!({"at": 1, "device": "a-3"})));
        assert_eq!(explained(&mut state), "device a-3");
    }

    /// Q16: an explanation that comes late takes nothing away from somebody who is typing.
    #[test]
    fn a_late_text_does_not_take_what_is_typed() {
        let mut state = state();
        write(&mut state, "/pc");
        let text = || Input::Text("node PC-01".to_owned(), "it is online".to_owned());
        state.take(text());
        assert!(state.notice.as_deref().is_some_and(|notice| notice.contains("node PC-01")));
        write(&mut state, "-02");
        press(&mut state, KeyCode::Enter);
        assert_eq!(state.nodes().len(), 1, "the filter was not cut short");
        state.take(text());
        assert!(matches!(state.mode, Mode::Reading { .. }));
    }

    /// A cancel says what it will do, and asks for a reason.
    #[test]
    fn a_run_is_cancelled_after_a_yes_and_a_reason() {
        let mut state = state();
        press(&mut state, KeyCode::Tab);
        assert_eq!(write(&mut state, "c"), None);
        assert!(matches!(&state.mode, Mode::Confirming(order) if order.question().contains("r1")));
        write(&mut state, "n");
        assert_eq!((state.mode.clone(), state.notice.as_deref()), (Mode::Looking, Some("left as it is")));
        write(&mut state, "cyoldx");
        press(&mut state, KeyCode::Backspace);
        let action = press(&mut state, KeyCode::Enter);
        assert_eq!(action, Some(Action::Order(Order::Cancel("r1".to_owned()), "old".to_owned())));
        assert_eq!(state.mode, Mode::Looking);
    }

    /// Q11: a device is returned with a note.
    #[test]
    fn a_device_is_returned_with_a_note() {
        let mut state = state();
        write(&mut state, "r");
        assert!(
            state.notice.as_deref().is_some_and(|notice| notice.contains("Enter")),
            "a node is no device"
        );
        press(&mut state, KeyCode::Enter);
        press(&mut state, KeyCode::End);
        write(&mut state, "rnew cable");
        let action = press(&mut state, KeyCode::Enter);
        assert_eq!(action, Some(Action::Order(Order::Return("a-3".to_owned()), "new cable".to_owned())));
    }

    #[test]
    fn a_node_is_drained_or_resumed() {
        let mut state = state();
        write(&mut state, "dy");
        let action = press(&mut state, KeyCode::Enter);
        assert_eq!(action, Some(Action::Order(Order::Drain("PC-01".to_owned()), String::new())));
        press(&mut state, KeyCode::Down);
        let action = write(&mut state, "dy");
        assert_eq!(action, Some(Action::Order(Order::Resume("PC-02".to_owned()), String::new())));
    }

    #[test]
    fn a_filter_hides_what_does_not_contain_it() {
        let mut state = state();
        write(&mut state, "/pc-02");
        press(&mut state, KeyCode::Enter);
        assert_eq!(state.nodes().len(), 1);
        assert_eq!(state.subject(), Some(Subject::new("node", "PC-02")));
        press(&mut state, KeyCode::Esc);
        assert_eq!(state.nodes().len(), 2);
    }

    /// An order must not hit the neighbour of what was chosen.
    #[test]
    fn a_cursor_stays_with_what_it_is_at() {
        let mut state = state();
        press(&mut state, KeyCode::Tab);
        press(&mut state, KeyCode::Down);
        let mut later = document();
        later["runs"].as_array_mut().unwrap().remove(0);
        state.take(Input::Snapshot(Box::new(Snapshot::read(&later))));
        assert_eq!(state.subject(), Some(Subject::new("run", "r2")));
        later["runs"] = json!([]);
        later["sessions"] = json!([]);
        later["overview"]["pool"] = json!({});
        state.take(Input::Snapshot(Box::new(Snapshot::read(&later))));
        assert_eq!((state.subject(), state.cursors[1]), (None, 0));
    }

    #[test]
    fn a_node_that_is_gone_is_closed() {
        let mut state = state();
        press(&mut state, KeyCode::Enter);
        state.take(Input::Snapshot(Box::default()));
        assert_eq!((state.open_node.clone(), state.subject()), (None, None));
    }

    #[test]
    fn events_follow_the_newest_unless_somebody_reads() {
        let mut state = state();
        state.pane = Pane::Events;
        for number in 0..EVENTS_MAX as u64 + 5 {
            state.take(entry(number, "device_error", json!({"device": format!("d{number}")})));
        }
        assert_eq!(state.events.len(), EVENTS_MAX);
        assert_eq!(state.subject().unwrap().id, format!("d{}", EVENTS_MAX + 4));
        press(&mut state, KeyCode::Up);
        state.take(entry(9999, "device_error", json!({"device": "last"})));
        assert_eq!(state.subject().unwrap().id, format!("d{}", EVENTS_MAX + 3));
        press(&mut state, KeyCode::End);
        assert_eq!(state.subject().unwrap().id, "last");
    }

    #[test]
    fn a_server_that_is_away_is_told_until_both_ways_work() {
        let mut state = state();
        state.take(Input::Lost(Connection::Following, "gone".to_owned()));
        state.take(Input::Lost(Connection::Asking, "gone".to_owned()));
        state.take(Input::Snapshot(Box::new(Snapshot::read(&document()))));
        assert_eq!(state.ailing, [None, Some("gone".to_owned())]);
        state.take(Input::Open);
        assert_eq!(state.ailing, [None, None]);
    }
}
