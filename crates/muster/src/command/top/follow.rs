//! Keeps the screen up to date: new snapshots, and the feed without a gap.

use super::{
    snapshot::{self, Snapshot},
    state::{Input, Way},
};
use crate::client::{Client, ClientError, Events};
use muster_coordinator::instant_now;
use std::{sync::Arc, time::Duration};
use tokio::{
    sync::{Notify, mpsc::Sender},
    time::{sleep, timeout},
};

/// Where inputs go, and what calls for a new snapshot.
#[derive(Clone)]
pub(super) struct Line {
    pub(super) client: Arc<Client>,
    pub(super) inputs: Sender<Input>,
    /// Told whenever something happened that a snapshot would show.
    pub(super) stale: Arc<Notify>,
}

impl Line {
    /// Asks for a snapshot soon after something happened, and now and then anyway. Ends with the screen.
    ///
    /// A server that is slow to tell is asked less often, so that whoever looks on is no burden.
    pub(super) async fn ask(self) {
        let mut pause = PAUSE_MIN;
        loop {
            sleep(pause).await;
            let _ = timeout(ANYWAY, self.stale.notified()).await;
            let began = instant_now();
            let input = match snapshot::fetch(&self.client).await {
                Ok(document) => Input::Snapshot(Box::new(Snapshot::read(&document))),
                Err(error) => Input::Lost(Way::Asking, error.to_string()),
            };
            pause = PAUSE_MIN.max(began.elapsed() * PAUSE_TO_COST);
            if self.inputs.send(input).await.is_err() {
                return;
            }
        }
    }

    /// Follows the feed after a number; goes on after the last one that was told. Ends with the screen.
    pub(super) async fn follow(self, after: u64) {
        let mut after = Some(after);
        loop {
            let lost = match self.client.events(after).await {
                Ok(events) => self.hear(events, &mut after).await,
                Err(error) => Some(error),
            };
            if lost.as_ref().is_some_and(is_gone) {
                after = None;
            }
            // What was missed, if anything was, is in the next snapshot.
            self.stale.notify_one();
            let why =
                lost.map_or_else(|| "the server ended the stream".to_owned(), |error| error.to_string());
            if self.inputs.send(Input::Lost(Way::Following, why)).await.is_err() {
                return;
            }
            sleep(BETWEEN_TRIES).await;
        }
    }

    /// Passes on what is told, until it ends; says why if that is known.
    async fn hear(&self, mut events: Events<'_>, after: &mut Option<u64>) -> Option<ClientError> {
        self.inputs.send(Input::Open).await.ok()?;
        loop {
            let entry = match events.next().await {
                Ok(entry) => entry?,
                Err(error) => return Some(error),
            };
            // Only the news that entries are gone has no number.
            *after = entry.seq;
            self.stale.notify_one();
            self.inputs.send(Input::Entry(entry)).await.ok()?;
        }
    }
}

/// The entries after a number are no longer kept, or never were: the server has another store now.
fn is_gone(error: &ClientError) -> bool {
    matches!(error, ClientError::Refused { status, .. } if status.as_u16() == 410)
}

const PAUSE_MIN: Duration = Duration::from_millis(900);
/// At most a tenth of the time is spent on asking.
const PAUSE_TO_COST: u32 = 9;
const ANYWAY: Duration = Duration::from_secs(4);
const BETWEEN_TRIES: Duration = Duration::from_millis(500);
