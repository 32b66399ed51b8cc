//! The live screen: inputs from keys and the server, drawn at most ten times a second, and only when something changed.

use super::{
    act::act,
    draw::{self, Theme},
    follow::Line,
    snapshot::Snapshot,
    state::{Action, Input, State},
    terminal::Taken,
};
use crate::{
    client::Client,
    failure::{Exit, Failure},
};
use crossterm::event::{Event, EventStream};
use futures_util::StreamExt;
use muster_coordinator::instant_now;
use serde_json::Value;
use std::{sync::Arc, time::Duration};
use tokio::{
    signal::unix::{Signal, SignalKind, signal},
    sync::{
        Notify,
        mpsc::{self, Receiver},
    },
    time::{Instant, sleep_until},
};

/// Shows the screen until somebody quits.
pub(super) async fn show(client: Arc<Client>, first: &Value) -> Result<Exit, Failure> {
    let snapshot = Snapshot::read(first);
    let (inputs, told) = mpsc::channel(INPUTS_MAX);
    let line = Line { client, inputs, stale: Arc::new(Notify::new()) };
    let mut screen = Screen {
        sources: Sources { keys: EventStream::new(), told, stops: stops()? },
        theme: Theme::of_environment(),
        state: State::new(line.client.servers().to_string(), snapshot),
        terminal: Taken::take()?,
        line,
    };
    tokio::spawn(screen.line.clone().ask());
    tokio::spawn(screen.line.clone().follow(screen.state.snapshot.overview.seq));
    screen.run().await?;
    Ok(Exit::Fine)
}

struct Screen {
    state: State,
    theme: Theme,
    line: Line,
    sources: Sources,
    terminal: Taken,
}

/// Where inputs come from.
struct Sources {
    keys: EventStream,
    told: Receiver<Input>,
    stops: [Signal; 3],
}

impl Screen {
    async fn run(&mut self) -> std::io::Result<()> {
        let mut drawn_at = self.draw()?;
        let mut is_changed = false;
        loop {
            let input = tokio::select! {
                input = self.sources.next() => input,
                () = sleep_until(drawn_at + BETWEEN_DRAWINGS), if is_changed => {
                    (drawn_at, is_changed) = (self.draw()?, false);
                    continue;
                }
            };
            is_changed = true;
            match input.map(|input| self.state.take(input)) {
                None | Some(Some(Action::Quit)) => return Ok(()),
                Some(Some(action)) => self.start(action),
                Some(None) => {}
            }
        }
    }

    /// Does it beside everything else: the screen goes on however long the server takes.
    fn start(&self, action: Action) {
        let line = self.line.clone();
        tokio::spawn(async move {
            if let Some(input) = act(&line.client, action).await {
                line.stale.notify_one();
                // A screen that was left needs no answer.
                let _ = line.inputs.send(input).await;
            }
        });
    }

    fn draw(&mut self) -> std::io::Result<Instant> {
        self.terminal.0.draw(|frame| draw::draw(frame, &self.state, self.theme))?;
        Ok(instant_now())
    }
}

impl Sources {
    /// The next input; nothing when it is time to leave. A person goes before a busy server.
    async fn next(&mut self) -> Option<Input> {
        let [interrupt, terminate, hang_up] = &mut self.stops;
        tokio::select! {
            biased;
            _ = interrupt.recv() => None,
            _ = terminate.recv() => None,
            _ = hang_up.recv() => None,
            key = self.keys.next() => match key?.ok()? {
                Event::Key(key) => Some(Input::Key(key)),
                _ => Some(Input::Redraw),
            },
            told = self.told.recv() => told,
        }
    }
}

fn stops() -> std::io::Result<[Signal; 3]> {
    Ok([signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?, signal(SignalKind::hangup())?])
}

const BETWEEN_DRAWINGS: Duration = Duration::from_millis(100);
/// A burst of events waits in the network rather than here.
const INPUTS_MAX: usize = 256;
