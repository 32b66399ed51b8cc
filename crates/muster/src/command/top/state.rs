//! State of the screen: changed by inputs alone, without IO, a clock or a terminal.

use super::{
    fleet::{Device, Item, Kind, Node},
    keys::{Mode, Order},
    snapshot::Snapshot,
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

    /// Whoever reads older events is not moved by new ones.
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
pub(super) mod tests;
