//! Snapshots of the server, and the tasks that keep them and the feed up to date.

use super::{
    fleet::{self, Item, Node},
    state::{Connection, Input},
};
use crate::client::{Client, ClientError, Events};
use muster_coordinator::instant_now;
use serde::Deserialize;
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};
use tokio::{
    sync::{Notify, mpsc::Sender},
    time::{sleep, timeout},
};

/// Everything that the screen shows, but for the events.
#[derive(Clone, Debug, Default)]
pub(super) struct Snapshot {
    pub(super) overview: Overview,
    pub(super) nodes: Vec<Node>,
    pub(super) queue: Vec<Item>,
}

/// `GET /api/overview`, as far as the screen needs it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Overview {
    /// The feed's newest number before anything was read.
    pub(super) seq: u64,
    pub(super) at: i64,
    pub(super) version: String,
    pub(super) leader: Leader,
    pub(super) nodes: NodeCounts,
    pub(super) devices: DeviceCounts,
    pub(super) slots: Slots,
    pub(super) runs: WorkCounts,
    pub(super) sessions: WorkCounts,
    pub(super) pool: Pool,
    pub(super) oldest_waiting: Option<Waiting>,
    pub(super) throughput: Throughput,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Leader {
    pub(super) address: Option<String>,
    pub(super) epoch: u64,
    pub(super) store: String,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct NodeCounts {
    pub(super) online: u64,
    pub(super) offline: u64,
    pub(super) draining: u64,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct DeviceCounts {
    pub(super) total: u64,
    pub(super) idle: u64,
    pub(super) running: u64,
    pub(super) offline: u64,
    pub(super) error: u64,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Slots {
    pub(super) used: u64,
    pub(super) target: u64,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct WorkCounts {
    pub(super) pending: u64,
    pub(super) running: u64,
    pub(super) paused: u64,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Pool {
    pub(super) jobs_waiting: u64,
    pub(super) jobs_running: u64,
    pub(super) workers_online: u64,
    pub(super) workers: u64,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Waiting {
    pub(super) kind: String,
    pub(super) id: Value,
    pub(super) since: i64,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Throughput {
    pub(super) tasks_ok: Vec<u64>,
    pub(super) tasks_failed: Vec<u64>,
    pub(super) frames: Vec<u64>,
    pub(super) jobs_ok: Vec<u64>,
    pub(super) jobs_failed: Vec<u64>,
}

impl Snapshot {
    /// Reads what [`fetch`] gave. What is missing there or is of another kind counts as nothing: a server of another
    /// version is better shown in part than not at all.
    pub(super) fn read(document: &Value) -> Self {
        let overview = read(&document["overview"]);
        let nodes = rows(&document["fleet"]["nodes"]).map(read).collect();
        let queue = fleet::read(document, &overview);
        Self { overview, nodes, queue }
    }
}

impl Overview {
    /// Number of tasks and jobs that ended in each slice of the last ten minutes, oldest first.
    pub(super) fn ended(&self) -> Vec<u64> {
        let Throughput { tasks_ok, tasks_failed, jobs_ok, jobs_failed, .. } = &self.throughput;
        let columns = [tasks_ok, tasks_failed, jobs_ok, jobs_failed];
        let length = columns.iter().map(|column| column.len()).max().unwrap_or(0);
        let at = |index: usize| columns.iter().filter_map(|column| column.get(index)).sum();
        (0..length).map(at).collect()
    }
}

/// Asks for everything, as one document: what `--json` prints.
pub(super) async fn fetch(client: &Client) -> Result<Value, ClientError> {
    let overview = client.get(&["api", "overview"], &[]).await?;
    let fleet = client.get(&["api", "fleet"], &[]).await?;
    let runs = runs(client, &overview).await?;
    let sessions = of_status(client, &SESSIONS, "sessions", &overview).await?;
    let server = client.servers().to_string();
    Ok(json!({"server": server, "overview": overview, "fleet": fleet, "runs": runs, "sessions": sessions}))
}

/// The runs that have not ended; those at work with how far they are.
async fn runs(client: &Client, overview: &Value) -> Result<Vec<Value>, ClientError> {
    let mut runs = of_status(client, &["api", "runs"], "runs", overview).await?;
    for run in runs.iter_mut().filter(|run| run["status"] == "running").take(DETAILS_MAX) {
        let Some(id) = run["run_id"].as_str() else { continue };
        *run = client.get(&["api", "runs", id], &[]).await?;
    }
    Ok(runs)
}

/// The work of one kind that has not ended, asked for only where the overview counts any.
async fn of_status(
    client: &Client,
    path: &[&str],
    kind: &str,
    overview: &Value,
) -> Result<Vec<Value>, ClientError> {
    let mut found = Vec::new();
    for status in ["running", "paused", "pending"] {
        if overview[kind][status].as_u64().unwrap_or(0) > 0 {
            let query = [("status", status.to_owned()), ("limit", ROWS_MAX.to_string())];
            let page = client.get(path, &query).await?;
            found.extend(rows(&page[kind]).cloned());
        }
    }
    Ok(found)
}

pub(super) fn rows(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}

/// An object as it should be, or an empty one.
pub(super) fn read<T: Default + for<'a> Deserialize<'a>>(value: &Value) -> T {
    T::deserialize(value).unwrap_or_default()
}

const SESSIONS: [&str; 3] = ["api", "v1", "sessions"];
/// More than any screen has lines for.
const ROWS_MAX: usize = 100;
/// Runs at work are one per queue: so many are asked for their progress.
const DETAILS_MAX: usize = 10;

/// Sender of inputs, and the signal for a new snapshot.
#[derive(Clone)]
pub(super) struct ServerLink {
    pub(super) client: Arc<Client>,
    pub(super) inputs: Sender<Input>,
    /// Told whenever something happened that a snapshot would show.
    pub(super) stale: Arc<Notify>,
}

impl ServerLink {
    /// Asks for a snapshot soon after something happened, and now and then anyway. Ends with the screen.
    ///
    /// A server that is slow to tell is asked less often, so that whoever looks on is no burden.
    pub(super) async fn ask(self) {
        let mut pause = PAUSE_MIN;
        loop {
            sleep(pause).await;
            let _ = timeout(ANYWAY, self.stale.notified()).await;
            let began = instant_now();
            let input = match fetch(&self.client).await {
                Ok(document) => Input::Snapshot(Box::new(Snapshot::read(&document))),
                Err(error) => Input::Lost(Connection::Asking, error.to_string()),
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
            if self.inputs.send(Input::Lost(Connection::Following, why)).await.is_err() {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ended_is_summed_over_the_contracts() {
        let throughput = json!({"tasks_ok": [1, 2, 3], "jobs_failed": [0, 5], "frames": [100, 100, 100]});
        let snapshot = Snapshot::read(&json!({"overview": {"seq": 7, "throughput": throughput}}));
        assert_eq!(snapshot.overview.ended(), [1, 7, 3]);
        assert_eq!(snapshot.overview.seq, 7);
    }

    #[test]
    fn a_strange_server_is_shown_in_part() {
        let snapshot = Snapshot::read(&json!({"overview": 7, "fleet": {"nodes": [{"node_id": 5}, 9]}}));
        assert_eq!((snapshot.overview.seq, snapshot.nodes.len(), snapshot.queue.len()), (0, 2, 0));
    }
}
