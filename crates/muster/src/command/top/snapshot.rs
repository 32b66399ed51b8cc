//! Snapshots of the server: nodes with their devices, the work that has not ended; and the tasks that keep them and the feed
//! up to date.

use super::state::{Connection, Input};
use crate::client::{Answer, Client, ClientError, Events, Listing};
use muster_contract_operations::ListedRun;
use muster_contract_simulation::Session;
use muster_coordinator::instant_now;
use muster_model::JobStatus;
use serde::{
    Deserialize,
    de::{DeserializeOwned, IgnoredAny},
};
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

impl WorkCounts {
    /// The counts by the statuses that a list of sessions takes: it shows a session that waits for workers as running.
    fn as_sessions(self) -> Self {
        Self { pending: 0, running: self.running + self.pending, paused: self.paused }
    }
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
        let queue = read_queue(document, &overview);
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
    let overview: Value = client.get(&["api", "overview"], &[]).await?;
    let fleet: Value = client.get(&["api", "fleet"], &[]).await?;
    let counts: Overview = read(&overview);
    let runs = runs(client, counts.runs).await?;
    let sessions: Vec<Value> = of_status(client, &SESSIONS, counts.sessions.as_sessions()).await?;
    let server = client.servers().to_string();
    Ok(json!({"server": server, "overview": overview, "fleet": fleet, "runs": runs, "sessions": sessions}))
}

/// The runs that have not ended; those at work with how far they are.
async fn runs(client: &Client, counts: WorkCounts) -> Result<Vec<Value>, ClientError> {
    let mut runs: Vec<Answer<ListedRun>> = of_status(client, &["api", "runs"], counts).await?;
    let is_running = |run: &&mut Answer<ListedRun>| run.read.run.status == JobStatus::Running.as_str();
    for run in runs.iter_mut().filter(is_running).take(DETAILS_MAX) {
        run.raw = client.get(&["api", "runs", &run.read.run.run_id], &[]).await?;
    }
    Ok(runs.into_iter().map(|run| run.raw).collect())
}

/// The work of one kind that has not ended, asked for only where the overview counts any. The last piece of its route is
/// what its list is called.
async fn of_status<T: DeserializeOwned>(
    client: &Client,
    path: &[&str],
    counts: WorkCounts,
) -> Result<Vec<T>, ClientError> {
    let WorkCounts { pending, running, paused } = counts;
    let mut found = Vec::new();
    for (status, count) in [("running", running), ("paused", paused), ("pending", pending)] {
        if count > 0 {
            let (name, query) =
                (path.last().copied().unwrap_or_default(), vec![("status", status.to_owned())]);
            found.extend(client.list(Listing { path, name, query, limit: ROWS_MAX }).await?);
        }
    }
    Ok(found)
}

fn rows(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}

/// An object as it should be, or an empty one.
fn read<T: Default + for<'a> Deserialize<'a>>(value: &Value) -> T {
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
            // The next snapshot contains any missed events.
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

/// A node with all its devices.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Node {
    pub(super) node_id: String,
    pub(super) status: String,
    pub(super) draining: bool,
    pub(super) max_devices: Option<u64>,
    pub(super) devices: Vec<Device>,
}

/// A device: its name, what it does, and the task that it does it for. Whether it is attached is not looked at.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct Device(
    pub(super) String,
    pub(super) DeviceState,
    pub(super) Option<String>,
    #[serde(default)]
    #[allow(dead_code, reason = "a place in the row")]
    pub(super) IgnoredAny,
);

/// State of a device; in the order of bars.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(super) enum DeviceState {
    Running,
    Idle,
    Error,
    /// Also what a later server may say that this does not know.
    #[default]
    #[serde(other)]
    Offline,
}

impl DeviceState {
    pub(super) const ALL: [Self; 4] = [Self::Running, Self::Idle, Self::Error, Self::Offline];

    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Idle => "idle",
            Self::Error => "error",
            Self::Offline => "offline",
        }
    }
}

impl Node {
    pub(super) fn is_online(&self) -> bool {
        self.status == "online"
    }

    /// One word for people.
    pub(super) fn condition(&self) -> &'static str {
        match (self.is_online(), self.draining) {
            (true, false) => "online",
            (true, true) => "draining",
            (false, _) => "offline",
        }
    }

    /// Number of devices in each state, in the order of [`DeviceState::ALL`].
    pub(super) fn counts(&self) -> [usize; 4] {
        DeviceState::ALL.map(|state| self.devices.iter().filter(|device| device.1 == state).count())
    }
}

/// Shares `width` cells out among counts: every count that is not nothing has one, all have `width` together.
pub(super) fn cells(counts: [usize; 4], width: usize) -> [usize; 4] {
    let total: usize = counts.iter().sum();
    let kinds = counts.iter().filter(|count| **count > 0).count();
    if total == 0 || width < kinds {
        return [0; 4];
    }
    let mut cells = counts.map(|count| if count == 0 { 0 } else { (count * width / total).max(1) });
    while cells.iter().sum::<usize>() < width {
        // Give one more cell to the count that is furthest below its share.
        let due = |index: &usize| (counts[*index] * width).saturating_sub(cells[*index] * total);
        let poorest = (0..cells.len()).rev().max_by_key(due).unwrap_or(0);
        cells[poorest] += 1;
    }
    while cells.iter().sum::<usize>() > width {
        let richest = (0..cells.len()).max_by_key(|index| cells[*index]).unwrap_or(0);
        cells[richest] -= 1;
    }
    cells
}

/// One line of the queues.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Item {
    pub(super) kind: Kind,
    pub(super) id: String,
    pub(super) status: String,
    /// Progress: done and total, if known.
    pub(super) progress: Option<(u64, u64)>,
    pub(super) note: String,
}

/// Kind of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Run,
    Session,
    Pool,
}

impl Kind {
    /// As people, and `muster explain`, call it.
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Session => "session",
            Self::Pool => "pool",
        }
    }
}

impl Item {
    /// Everything in one line, which filters look at.
    pub(super) fn line(&self) -> String {
        format!("{} {} {} {}", self.kind.word(), self.id, self.status, self.note)
    }
}

/// The lines of a snapshot's document.
fn read_queue(document: &Value, overview: &Overview) -> Vec<Item> {
    let runs = rows(&document["runs"]).filter_map(|run| Some(of_run(ListedRun::deserialize(run).ok()?)));
    let sessions =
        rows(&document["sessions"]).filter_map(|row| Some(of_session(Session::deserialize(row).ok()?)));
    let pool = (overview.pool.workers + overview.pool.jobs_waiting + overview.pool.jobs_running > 0)
        .then(|| pool(overview.pool));
    runs.chain(sessions).chain(pool).collect()
}

fn of_run(ListedRun { run, counts, .. }: ListedRun) -> Item {
    let named = run.title.filter(|title| !title.is_empty()).unwrap_or(run.workflow_id);
    let note = match counts.failed {
        0 => named,
        failed => format!("{failed} failed, {named}"),
    };
    Item {
        kind: Kind::Run,
        id: run.run_id,
        status: run.status.into(),
        progress: Some((counts.ended(), counts.rows())),
        note,
    }
}

fn of_session(session: Session) -> Item {
    Item {
        kind: Kind::Session,
        id: session.session_id,
        status: session.status.into(),
        progress: Some((session.completed_frames, session.total_frames)),
        note: "frames".to_owned(),
    }
}

fn pool(pool: Pool) -> Item {
    let Pool { jobs_waiting, jobs_running, workers_online, workers } = pool;
    let note = format!("{jobs_waiting} waiting, {workers_online}/{workers} workers online");
    let status = format!("{jobs_running} running");
    Item { kind: Kind::Pool, id: "jobs".to_owned(), status, progress: None, note }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use serde_json::json;

    /// A run as the server lists it; counts as in [`muster_contract_operations::Counts`].
    pub(in crate::command::top) fn run(
        id: &str,
        status: &str,
        title: Option<&str>,
        counts: [u64; 5],
    ) -> Value {
        let [pending, running, completed, failed, cancelled] = counts;
        json!({"run_id": id, "status": status, "outcome": "open", "title": title, "workflow_id": "nightly",
            "queue": "default", "max_attempts": 3, "created_at": 1, "started_at": null, "completed_at": null,
            "error": null, "schedule_id": null, "total": null, "counts": {"pending": pending, "running": running,
                "completed": completed, "failed": failed, "cancelled": cancelled}})
    }

    /// A session of 100 frames as the server lists it.
    pub(in crate::command::top) fn session(id: &str, status: &str, completed_frames: u64) -> Value {
        json!({"sessionId": id, "status": status, "totalFrames": 100, "completedFrames": completed_frames,
            "complete": false, "skippedFrames": 0, "framesPerTask": 10, "qualityMode": "strict",
            "outputDirectory": "d", "createdAt": 1, "endedAt": null})
    }

    #[test]
    fn what_ended_is_summed_over_the_contracts() {
        let throughput = json!({"tasks_ok": [1, 2, 3], "jobs_failed": [0, 5], "frames": [100, 100, 100]});
        let snapshot = Snapshot::read(&json!({"overview": {"seq": 7, "throughput": throughput}}));
        assert_eq!(snapshot.overview.ended(), [1, 7, 3]);
        assert_eq!(snapshot.overview.seq, 7);
    }

    /// A list of sessions knows no status `pending` and refuses it.
    #[test]
    fn a_session_that_waits_is_listed_as_running() {
        let counts = WorkCounts { pending: 1, running: 0, paused: 2 }.as_sessions();
        assert_eq!((counts.pending, counts.running, counts.paused), (0, 1, 2));
    }

    #[test]
    fn a_strange_server_is_shown_in_part() {
        let snapshot = Snapshot::read(&json!({"overview": 7, "fleet": {"nodes": [{"node_id": 5}, 9]}}));
        assert_eq!((snapshot.overview.seq, snapshot.nodes.len(), snapshot.queue.len()), (0, 2, 0));
    }

    #[test]
    fn a_node_is_read_with_its_devices() {
        let devices = json!([["d1", "running", "t1", true], ["d2", "idle", null], ["d3", "molten", null]]);
        let node = json!({"node_id": "PC-01", "status": "online", "draining": true, "devices": devices});
        let node: Node = serde_json::from_value(node).unwrap();
        assert_eq!((node.condition(), node.counts()), ("draining", [1, 1, 0, 1]));
        assert_eq!(node.devices[0].2.as_deref(), Some("t1"));
    }

    #[test]
    fn a_bar_is_full_and_shows_every_kind() {
        assert_eq!(cells([0, 100, 0, 0], 10), [0, 10, 0, 0]);
        assert_eq!(cells([1, 998, 1, 0], 10), [1, 8, 1, 0]);
        assert_eq!(cells([33, 33, 33, 1], 10), [3, 3, 3, 1]);
        assert_eq!(cells([1, 1, 1, 0], 5), [2, 2, 1, 0]);
        assert_eq!(cells([1, 1, 1, 1], 3), [0; 4]);
        assert_eq!(cells([0; 4], 10), [0; 4]);
    }

    #[test]
    fn work_says_how_far_it_is() {
        let runs = [
            run("r1", "running", Some("warm up"), [5, 2, 2, 1, 0]),
            run("r2", "pending", None, [0; 5]),
            json!({"run_id": "a row of a strange server"}),
        ];
        let sessions = [session("s1", "paused", 40)];
        let overview = Overview { pool: Pool { workers: 2, ..Pool::default() }, ..Overview::default() };
        let items = read_queue(&json!({"runs": runs, "sessions": sessions}), &overview);
        let told: Vec<_> = items.iter().map(|item| (item.line(), item.progress)).collect();
        let expected = [
            ("run r1 running 1 failed, warm up".to_owned(), Some((3, 10))),
            ("run r2 pending nightly".to_owned(), Some((0, 0))),
            ("session s1 paused frames".to_owned(), Some((40, 100))),
            ("pool jobs 0 running 0 waiting, 0/2 workers online".to_owned(), None),
        ];
        assert_eq!(told, expected);
    }
}
