//! `muster top`: fleet, queues and events on one screen, live (I3).
//!
//! `snapshot` asks, `state` decides (inputs in, actions out, no IO), `draw` shows, and this file ties them to a terminal.

mod draw;
mod keys;
mod snapshot;
mod state;
mod text;

use crate::{
    client::{Client, ClientError},
    failure::{Exit, Failure},
    output,
    reach::{Reach, Reason},
};
use clap::Args;
use crossterm::event::{Event, EventStream};
use draw::Theme;
use futures_util::StreamExt;
use keys::Order;
use muster_contract_operations::DeviceReturn;
use muster_coordinator::instant_now;
use muster_explain::Why;
use ratatui::DefaultTerminal;
use serde_json::{Value, json};
use snapshot::{ServerLink, Snapshot};
use state::{Action, Input, State};
use std::{
    io::{self, IsTerminal},
    sync::Arc,
    time::Duration,
};
use text::Subject;
use tokio::{
    signal::unix::{Signal, SignalKind, signal},
    sync::{
        Notify,
        mpsc::{self, Receiver},
    },
    time::{Instant, sleep_until},
};

#[derive(Debug, Args)]
pub(crate) struct Top {
    #[command(flatten)]
    reach: Reach,
}

impl Top {
    /// One snapshot where nobody can press a key, else the live screen.
    pub(crate) fn run(self) -> Result<Exit, Failure> {
        let client = Arc::new(Client::find(&self.reach)?);
        super::client_command::block_on(async {
            let first = snapshot::fetch(&client).await?;
            if self.reach.json {
                output::document(&first);
            } else if std::io::stdout().is_terminal() && std::io::stdin().is_terminal() {
                return show(client, &first).await;
            } else {
                output::line(&text::page(&Snapshot::read(&first)));
            }
            Ok(Exit::Fine)
        })?
    }
}

/// Shows the screen until somebody quits.
async fn show(client: Arc<Client>, first: &Value) -> Result<Exit, Failure> {
    let snapshot = Snapshot::read(first);
    let (inputs, told) = mpsc::channel(INPUTS_MAX);
    let line = ServerLink { client, inputs, stale: Arc::new(Notify::new()) };
    let mut screen = Screen {
        sources: Sources { keys: EventStream::new(), told, stops: stops()? },
        theme: Theme::of_environment(),
        state: State::new(line.client.servers().to_string(), snapshot),
        terminal: TerminalGuard::take()?,
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
    line: ServerLink,
    sources: Sources,
    terminal: TerminalGuard,
}

/// Sources of input.
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

/// The terminal while it is ours; dropped, it is as it was. A panic gives it back before it says anything.
struct TerminalGuard(DefaultTerminal);

impl TerminalGuard {
    fn take() -> io::Result<Self> {
        ratatui::try_init().map(Self)
    }
}

impl Drop for TerminalGuard {
    fn drop(&mut self) {
        ratatui::restore();
    }
}

/// Does it; there is nothing to say when it was to quit.
async fn act(client: &Client, action: Action) -> Option<Input> {
    match action {
        Action::Quit => None,
        Action::Explain(subject) => {
            let text = explain(client, &subject).await.unwrap_or_else(|error| error.to_string());
            Some(Input::Text(format!("{} {}", subject.kind, subject.id), text))
        }
        Action::Order(order, words) => {
            let answer = carry_out(client, &order, &words).await;
            Some(Input::Done(answer.map_or_else(|error| error.to_string(), |_| order.done())))
        }
    }
}

/// The sentence, and the rule that it comes from (Q16).
async fn explain(client: &Client, subject: &Subject) -> Result<String, ClientError> {
    let why: Why = client.get(&["api", "explain", subject.kind, &subject.id], &[]).await?;
    let [sentence, code, rule] =
        [&*why.sentence, &*why.code, &*why.rule].map(|word| word.replace(char::is_control, "\u{fffd}"));
    Ok(format!("{sentence}\n\n{code} ({rule})"))
}

async fn carry_out(client: &Client, order: &Order, words: &str) -> Result<Value, ClientError> {
    let given = Some(words).filter(|words| !words.is_empty());
    let reason = given.map_or_else(Reason::default, Reason::because);
    let post =
        async |path: &[&str]| client.order(path, &json!({}), crate::client::Order::because(&reason)).await;
    match order {
        Order::Drain(node) => post(&["api", "nodes", node, "drain"]).await,
        Order::Resume(node) => post(&["api", "nodes", node, "resume"]).await,
        Order::Return(device) => {
            let note = given.map(str::to_owned);
            client.post(&["api", "devices", device, "return"], &DeviceReturn { note }).await
        }
        Order::Cancel(run) => post(&["api", "runs", run, "cancel"]).await,
    }
}
