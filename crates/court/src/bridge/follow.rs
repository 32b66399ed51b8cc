//! One attempt at the coordinator: handed over once, followed to its end.

use super::{
    Coordinator, Fleet,
    client::{Call, Client, Trouble},
    news::News,
};
use crate::{
    Folder,
    config::seconds,
    roles::general::{Ending, GeneralMind, Start},
};
use reqwest::StatusCode;
use serde_json::Value;
use std::{
    pin::pin,
    sync::{Arc, OnceLock},
    time::Duration,
};
use tokio_util::sync::CancellationToken;

/// The way from a general to a coordinator.
pub struct Bridge {
    folder: Arc<Folder>,
    client: Client,
    fleet: Fleet,
    limit_s: f64,
    news: News,
}

/// The coordinator's no.
struct Refusal(StatusCode, String);

impl Bridge {
    /// A bridge to a coordinator.
    ///
    /// # Errors
    /// TLS cannot be spoken.
    pub fn new(
        folder: Arc<Folder>,
        (fleet, limit_s): (Fleet, f64),
        coordinator: &Coordinator,
    ) -> reqwest::Result<Self> {
        let client = Client::new(coordinator)?;
        Ok(Self { folder, client, fleet, limit_s, news: News::default() })
    }

    /// Hears what happens at the coordinator, for as long as anything is there.
    pub async fn listen(&self) {
        self.news.listen(&self.client, self.fleet).await;
    }

    /// Follows an attempt to its end; nothing is told of one that goes on while the general ends.
    pub async fn follow(&self, start: &Start, stop: &CancellationToken) -> Option<Ending> {
        let remote = OnceLock::new();
        let mut walk = pin!(self.walk(start, &remote));
        tokio::select! {
            ending = &mut walk => Some(ending),
            () = tokio::time::sleep(seconds(self.limit_s)) => {
                stop.run_until_cancelled(self.give_up(start, remote.get())).await
            }
            () = stop.cancelled() => None,
        }
    }

    async fn walk(&self, start: &Start, remote: &OnceLock<String>) -> Ending {
        let id = match &start.remote {
            Some(id) => id.clone(),
            None => match self.hand_over(start).await {
                Ok(id) => id,
                Err(Refusal(status, detail)) => {
                    return Ending::Refused(format!("the coordinator refused it: {detail} ({status})"));
                }
            },
        };
        let id = remote.get_or_init(|| id);
        let watch = self.news.watch(id);
        loop {
            match self.patiently(Call::Show(id)).await {
                Ok(answer) => {
                    if let Some(ending) = self.fleet.ending(start, (id, &answer)) {
                        return ending;
                    }
                }
                Err(Refusal(status, detail)) => {
                    let what = self.fleet.word();
                    return Ending::Refused(format!(
                        "the coordinator has no {what} {id}: {detail} ({status})"
                    ));
                }
            }
            watch.changed(LOOK_AGAIN).await;
        }
    }

    /// Hands the task in, under its key, and records where it is before anything follows from it.
    ///
    /// As often as one likes: the key makes all of it one.
    async fn hand_over(&self, start: &Start) -> Result<String, Refusal> {
        let key = Fleet::key(start);
        let body = self.fleet.body(start);
        let id = loop {
            let answer = self.patiently(Call::Submit { body: &body, key: &key }).await?;
            if let Some(id) = self.fleet.id(&answer) {
                break id;
            }
            tracing::warn!("an answer without an id: is that the coordinator?");
            tokio::time::sleep(PAUSE_MAX).await;
        };
        if let Err(fault) = GeneralMind::hand_over(&self.folder, (&start.task, self.fleet), &id) {
            // A next life hands it in again, under the same key, and gets the same id.
            tracing::warn!(task = %start.task, id, %fault, "the coordinator's id is not recorded");
        }
        Ok(id)
    }

    /// Ends what took too long; what ended by itself just then counts.
    async fn give_up(&self, start: &Start, remote: Option<&String>) -> Ending {
        let late = Ending::TimedOut(self.limit_s);
        let Some(id) = self.learn(start, remote).await else { return late };
        let id = &id;
        let cancelling = self.patiently(Call::Cancel(id));
        match tokio::time::timeout(CANCEL_MAX, cancelling).await {
            Ok(Ok(_cancelled)) => late,
            Ok(Err(_ended)) => {
                let answer = self.client.ask(self.fleet, Call::Show(id)).await.ok();
                answer.and_then(|answer| self.fleet.ending(start, (id, &answer))).unwrap_or(late)
            }
            Err(_unreachable) => {
                tracing::warn!(task = %start.task, id, "cannot be cancelled: the coordinator does not answer");
                late
            }
        }
    }

    /// The id at the coordinator. A call may have arrived though its answer did not: the same once more tells it.
    async fn learn(&self, start: &Start, remote: Option<&String>) -> Option<String> {
        if let Some(id) = remote {
            return Some(id.clone());
        }
        let learnt = tokio::time::timeout(CANCEL_MAX, self.hand_over(start)).await;
        if learnt.is_err() {
            tracing::warn!(task = %start.task, "nobody knows whether the coordinator has it: it does not answer");
        }
        learnt.ok()?.ok()
    }

    /// Calls until there is an answer, with growing pauses: either side may be gone for a while.
    async fn patiently(&self, call: Call<'_>) -> Result<Value, Refusal> {
        let mut pause = PAUSE_MIN;
        loop {
            match self.client.ask(self.fleet, call).await {
                Ok(answer) => return Ok(answer),
                Err(Trouble::Refused(status, detail)) => return Err(Refusal(status, detail)),
                Err(Trouble::Later(why, after)) => {
                    let wait = after.map_or(pause, |after| after.clamp(pause, PATIENCE_MAX));
                    tracing::warn!(why, wait_s = wait.as_secs_f64(), "the coordinator is asked again");
                    tokio::time::sleep(wait).await;
                    pause = (pause * 2).min(PAUSE_MAX);
                }
            }
        }
    }
}

/// How long no news may be believed.
const LOOK_AGAIN: Duration = Duration::from_secs(10);
pub(super) const PAUSE_MIN: Duration = Duration::from_millis(500);
pub(super) const PAUSE_MAX: Duration = Duration::from_secs(30);
const PATIENCE_MAX: Duration = Duration::from_secs(300);
const CANCEL_MAX: Duration = Duration::from_secs(30);
