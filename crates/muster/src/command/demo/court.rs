//! Contract C in the demo: `muster court run`, whose generals hand tasks to the demo's own fleets or to programs.
//!
//! In the first round events are submitted as files, and the court is killed while their tasks are under way. Its
//! messages go to a stand-in for Slack in the demo's own process.

use super::{
    nodes::{WORKFLOW, device_id},
    pool::BUILT_IN,
    process::{Orders, Process},
    server::{COURT, Server, Tables},
    show::{COURT_DONE, COURT_KILLED, Contract, Finding, Show},
};
use crate::failure::Failure;
use axum::{Json, Router, extract::State, http::HeaderMap, routing::post};
use muster_coordinator::instant_now;
use muster_court::{Clock, Document, Fault, Folder, Id, Kind, Place, emit::emit};
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    net::Ipv4Addr,
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::{net::TcpListener, task::JoinHandle, time::Instant};

/// The court and its events.
pub(super) struct Court {
    process: Process,
    folder: Folder,
    slack: Slack,
    events: Vec<Event>,
    /// Tasks that were in progress when the court was killed.
    interrupted: Option<usize>,
    is_over: bool,
    stopping_since: Option<Instant>,
    /// Its files, after it stopped.
    record: Record,
    unsuccessful: Option<String>,
}

/// A general as it is planned.
#[derive(Debug)]
struct GeneralPlan {
    name: &'static str,
    /// Executor of its tasks, as its manifest names it.
    executor: &'static str,
    events: usize,
}

/// An event that was submitted.
struct Event {
    general: &'static GeneralPlan,
    number: usize,
}

impl Court {
    /// Writes its configuration and starts it.
    pub(super) async fn start(server: &Server) -> Result<Self, Failure> {
        let home = server.directory().join(COURT);
        let slack = Slack::open().await?;
        configure(&home, &slack.url)?;
        let args = ["court", "run", "--server", &server.url, "--home"].map(str::to_owned);
        let process = Process::start(Orders {
            name: "the court".to_owned(),
            args: args.into_iter().chain([home.display().to_string()]).collect(),
            secrets: vec![
                ("MUSTER_TOKEN", server.admin_token.clone()),
                ("SLACK_BOT_TOKEN", slack.token.clone()),
            ],
            files: home.clone(),
            greeting: Some("court at "),
        });
        Ok(Self {
            process: process.await?,
            folder: Folder::open(&home)?,
            slack,
            events: Vec::new(),
            interrupted: None,
            is_over: false,
            stopping_since: None,
            record: Record::default(),
            unsuccessful: None,
        })
    }

    /// Submits the events; later rounds have none.
    pub(super) fn begin_round(&mut self) -> Result<(), Failure> {
        if self.events.is_empty() { self.submit(Event::planned()) } else { Ok(()) }
    }

    pub(super) fn is_done(&self) -> bool {
        let is_given_up = self.stopping_since.is_some_and(|since| since.elapsed() > PATIENCE);
        (self.is_over || is_given_up) && !self.process.is_down()
    }

    /// Watches the files and kills the court when enough tasks are in progress; lets it finish when asked to stop.
    pub(super) async fn step(&mut self, is_stopping: bool, show: &Show) -> Result<(), Failure> {
        self.process.tend().await?;
        if is_stopping && self.stopping_since.is_none() {
            self.stopping_since = Some(instant_now());
        }
        if self.process.is_down() || self.is_over {
            return Ok(());
        }
        match (self.count(&UNDER_WAY)?, self.interrupted.is_some() || is_stopping) {
            (0, true) => {
                self.is_over = true;
                show.tell(&COURT_DONE);
                Ok(())
            }
            // Too fast for the demo: submit more events that it can be killed at.
            (0, false) => self.submit(Event::bait(self.events.len())),
            (_, false) if self.count(&AT_WORK)? >= WORTH_KILLING => {
                self.process.kill().await?;
                let held = self.count(&AT_WORK)?;
                self.interrupted = (held > 0).then_some(held);
                show.tell(&COURT_KILLED);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    pub(super) fn line(&self) -> String {
        let done = self.folder.listed(Place::EventsCompleted).map_or(0, |ids| ids.len());
        format!("court {done}/{} events done", self.events.len())
    }

    /// Stops the court and reads its files.
    pub(super) async fn finish(&mut self) -> Result<(), Failure> {
        self.unsuccessful = self.process.stop().await?;
        self.record = Record::read(&self.folder)?;
        Ok(())
    }

    pub(super) fn contract(&self) -> Contract {
        Contract {
            name: "court",
            did: format!("{} events, {} messages", self.events.len(), self.slack.posts().len()),
            faults: format!("killed: {}", usize::from(self.interrupted.is_some())),
        }
    }

    /// Compares the court's files with the events, with the posted messages, and with the work of the server. `own` is
    /// the work that the demo submitted itself.
    pub(super) fn findings(
        &self,
        tables: &Tables,
        own: &BTreeSet<(String, String)>,
    ) -> Result<Vec<Finding>, Failure> {
        let all = tables.rows(SUBMITTED, [], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let others = all.into_iter().filter(|work| !own.contains(work)).collect();
        let checks = [
            self.events_done_once(),
            self.messages_posted(),
            self.handed_over_once(&others),
            self.kill_made_good(),
            self.left_nothing(),
        ];
        Ok(checks.into_iter().map(Finding::of).collect())
    }

    fn submit(&mut self, events: Vec<Event>) -> Result<(), Failure> {
        for event in &events {
            emit(&self.folder, event.document()?, Clock.now())?;
        }
        self.events.extend(events);
        Ok(())
    }

    fn count(&self, places: &[Place]) -> Result<usize, Failure> {
        let mut count = 0;
        for place in places {
            count += self.folder.listed(*place)?.len();
        }
        Ok(count)
    }

    /// C8, C13: each event became one task, which ended once and well.
    fn events_done_once(&self) -> Result<String, String> {
        let record = &self.record;
        for event in &self.events {
            let id = event.id();
            let mut tasks = record.tasks.iter().filter(|task| task.event == id);
            let (Some(task), None) = (tasks.next(), tasks.next()) else {
                return Err(format!("the event {id} has not one task that is over"));
            };
            let result = record.results.get(&task.id).map_or("missing", String::as_str);
            if (task.status.as_str(), result) != ("completed", "success") || !record.events.contains(&id) {
                return Err(format!(
                    "the result of {} for {id} is {result}, its task {}",
                    task.id, task.status
                ));
            }
        }
        let counts = [record.events.len(), record.tasks.len(), record.results.len()];
        match counts.iter().all(|count| *count == self.events.len()) {
            true => Ok(format!(
                "{} events of the court: one task and one result each, all success",
                self.events.len()
            )),
            false => {
                Err(format!("{} events, and {counts:?} events, tasks and results kept", self.events.len()))
            }
        }
    }

    /// C14, C18: one message tells the end of each task, and every message was posted. One that was being posted when
    /// the court was killed may have been posted again.
    fn messages_posted(&self) -> Result<String, String> {
        for task in &self.record.tasks {
            let told = self.record.sent.values().filter(|about| about.as_ref() == Some(&task.id)).count();
            if told != 1 {
                return Err(format!("{told} messages tell the end of {}", task.id));
            }
        }
        let mut posted: BTreeMap<String, usize> = BTreeMap::new();
        self.slack.posts().into_iter().for_each(|id| *posted.entry(id).or_default() += 1);
        if !posted.keys().eq(self.record.sent.keys()) {
            return Err(format!("{} messages were sent, {} arrived", self.record.sent.len(), posted.len()));
        }
        let repeated = posted.values().filter(|times| **times > 1).count();
        match repeated <= usize::from(self.interrupted.is_some()) {
            true => Ok(format!(
                "{} messages of the court were posted, {repeated} repeated by the kill",
                posted.len()
            )),
            false => Err(format!("{repeated} messages of the court were posted twice")),
        }
    }

    /// C17: each task for a fleet is one run, one session or one job of the server.
    fn handed_over_once(&self, others: &BTreeSet<(String, String)>) -> Result<String, String> {
        let remote: Vec<&(String, String)> = self.record.tasks.iter().flat_map(|task| &task.remote).collect();
        let distinct: BTreeSet<(String, String)> = remote.iter().copied().cloned().collect();
        let planned = self.events.iter().filter(|event| event.general.executor != COMMAND).count();
        match remote.len() == planned && distinct == *others {
            true => Ok(format!(
                "{planned} tasks of the court are a run, a session or a job each, handed over once"
            )),
            false => {
                Err(format!("{planned} tasks of the court were {distinct:?}; the server has {others:?}"))
            }
        }
    }

    /// C6, C16: the tasks that were under way when the court was killed were continued after its restart.
    fn kill_made_good(&self) -> Result<String, String> {
        let again: usize = self.record.tasks.iter().map(|task| task.interrupted).sum();
        match self.interrupted {
            Some(held) => Ok(format!(
                "the court was killed with {held} tasks under way (kill -9): all were continued, {again} programs began anew"
            )),
            None if self.stopping_since.is_some() => Ok("the court was not killed this time".to_owned()),
            None => Err("the court was not killed at work".to_owned()),
        }
    }

    /// C2, C12: nothing is left under way, nothing was given up or rejected.
    fn left_nothing(&self) -> Result<String, String> {
        match (&self.unsuccessful, self.record.leftovers.first()) {
            (Some(unsuccessful), _) => Err(unsuccessful.clone()),
            (None, Some(first)) => Err(format!("the court left {first}")),
            (None, None) => Ok("the court ended on request, nothing under way, nothing rejected".to_owned()),
        }
    }
}

impl GeneralPlan {
    fn manifest(&self) -> String {
        let Self { name, executor, .. } = self;
        let work = match *executor {
            COMMAND => format!("command = [\"sh\", \"-c\", '''{SOLDIER}''']"),
            executor => format!("executor = \"{executor}\""),
        };
        format!("subscribes = [\"demo.{name}\"]\n{work}\n")
    }

    /// The payload of one of its tasks: small, and on devices and workers that the plan neither wears out nor kills.
    fn payload(&self, number: usize) -> Value {
        match self.executor {
            "run" => json!({
                "workflow_id": WORKFLOW, "params": {"simulate": {"step_ms": 40, "devices": {}}}, "queue": "court",
                "scope": {"devices": [device_id(1 + number), device_id(2 + number)]},
                "title": "For the court",
            }),
            "session" => json!({
                "totalFrames": 24, "framesPerTask": 12, "scenario": {"name": "a courtyard", "fps": 30},
                "cameras": ["front"], "qualityMode": "strict",
            }),
            "job" => {
                json!({"payload": {"op": "sum", "values": [number, 1]}, "region": BUILT_IN, "priority": 100})
            }
            _ => json!({"number": number}),
        }
    }
}

impl Event {
    fn planned() -> Vec<Self> {
        let generals = GENERALS.iter().flat_map(|general| std::iter::repeat_n(general, general.events));
        generals.enumerate().map(|(number, general)| Self { general, number }).collect()
    }

    /// More events that the court can be killed at.
    fn bait(first: usize) -> Vec<Self> {
        let soldiers = GENERALS.iter().filter(|general| general.executor == COMMAND);
        let generals = soldiers.flat_map(|general| std::iter::repeat_n(general, general.events));
        (first..).zip(generals).map(|(number, general)| Self { general, number }).collect()
    }

    fn id(&self) -> String {
        format!("evt-demo-{}-{}", self.general.name, self.number)
    }

    /// The submitted members (C7); the court fills in the rest.
    fn document(&self) -> Result<Document, Failure> {
        let Self { general, number } = self;
        let event = json!({"id": self.id(), "type": format!("demo.{}", general.name), "source": "demo",
            "payload": general.payload(*number)});
        let event = Document::parse(event.to_string().as_bytes());
        Ok(event.map_err(|error| Fault::Invalid(error.to_string()))?)
    }
}

fn configure(home: &Path, slack: &str) -> Result<(), Failure> {
    fs::create_dir_all(home.join("generals"))?;
    fs::write(home.join("court.toml"), format!("[envoy]\nto = \"slack\"\nbase_url = \"{slack}\"\n"))?;
    for general in &GENERALS {
        fs::write(home.join(format!("generals/{}.toml", general.name)), general.manifest())?;
    }
    Ok(())
}

/// One for each of the demo's fleets, and one with programs of its own.
static GENERALS: [GeneralPlan; 4] = [
    GeneralPlan { name: "phones", executor: "run", events: 2 },
    GeneralPlan { name: "film", executor: "session", events: 1 },
    GeneralPlan { name: "sums", executor: "job", events: 3 },
    GeneralPlan { name: "watch", executor: COMMAND, events: 4 },
];
const COMMAND: &str = "command";
/// Takes long enough to be killed at it.
const SOLDIER: &str = r#"sleep 0.8
printf '{"task_id": "%s", "status": "success", "summary": "all is quiet"}' "$MUSTER_TASK_ID" > "$MUSTER_RESULT_PATH""#;

/// In the order in which files go through them, so that none is missed on its way.
const UNDER_WAY: [Place; 5] = [
    Place::EventsPending,
    Place::EventsDispatched,
    Place::TasksPending,
    Place::TasksInProgress,
    Place::MessagesPending,
];
const AT_WORK: [Place; 1] = [Place::TasksInProgress];
/// Tasks of more than one general.
const WORTH_KILLING: usize = 3;
/// Time that the court gets to finish when the user wants to leave.
const PATIENCE: Duration = Duration::from_secs(20);
/// Everything that was submitted to the server.
const SUBMITTED: &str = "
    SELECT 'run', id FROM tasks UNION ALL
    SELECT 'session', id FROM sim_sessions UNION ALL
    SELECT 'job', cast(id AS TEXT) FROM pool_jobs";

/// The stand-in; it stops when this is dropped.
struct Slack {
    url: String,
    /// The token that it accepts.
    token: String,
    channel: Arc<Channel>,
    listening: JoinHandle<()>,
}

/// The posted messages.
struct Channel {
    token: String,
    posts: Mutex<Vec<String>>,
}

impl Slack {
    async fn open() -> Result<Self, Failure> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let url = format!("http://{}", listener.local_addr()?);
        let token: String = rand::random::<[u8; 16]>().iter().map(|byte| format!("{byte:02x}")).collect();
        let channel = Arc::new(Channel { token: token.clone(), posts: Mutex::default() });
        let router = Router::new().route("/chat.postMessage", post(accept)).with_state(Arc::clone(&channel));
        let listening = tokio::spawn(muster_http::listen(listener, router, std::future::pending()));
        Ok(Self { url, token, channel, listening })
    }

    /// Ids of the posted messages, repeats included.
    fn posts(&self) -> Vec<String> {
        self.channel.posts().clone()
    }
}

impl Drop for Slack {
    fn drop(&mut self) {
        self.listening.abort();
    }
}

impl Channel {
    fn posts(&self) -> MutexGuard<'_, Vec<String>> {
        self.posts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Answers as Slack does: a refusal has the status 200, too.
async fn accept(
    State(channel): State<Arc<Channel>>,
    headers: HeaderMap,
    Json(message): Json<Value>,
) -> Json<Value> {
    let shown = headers.get("authorization").and_then(|value| value.to_str().ok()?.strip_prefix("Bearer "));
    if shown != Some(channel.token.as_str()) {
        return Json(json!({"ok": false, "error": "invalid_auth"}));
    }
    let Some(id) = message.pointer("/metadata/event_payload/id").and_then(Value::as_str) else {
        return Json(json!({"ok": false, "error": "invalid_metadata_format"}));
    };
    let mut posts = channel.posts();
    posts.push(id.to_owned());
    Json(json!({"ok": true, "channel": "C0DEMO", "ts": format!("{}.000100", 1_700_000_000 + posts.len())}))
}

/// The files of a court that has stopped.
#[derive(Debug, Default)]
struct Record {
    /// Events that are over, by id.
    events: BTreeSet<String>,
    tasks: Vec<TaskFile>,
    /// The status of each result, by task.
    results: BTreeMap<String, String>,
    /// Messages that were sent, with the task whose end they tell, if any.
    sent: BTreeMap<String, Option<String>>,
    /// Files that are still under way, or were given up.
    leftovers: Vec<String>,
}

/// One task.
#[derive(Clone, Debug, Default)]
struct TaskFile {
    id: String,
    event: String,
    /// Its end, from its file.
    status: String,
    /// Attempts that ended with the court.
    interrupted: usize,
    /// The kind and the id of its work at the server.
    remote: BTreeSet<(String, String)>,
}

impl Record {
    fn read(folder: &Folder) -> Result<Self, Failure> {
        let mut record = Self::default();
        for kind in [Kind::Event, Kind::Task, Kind::Message] {
            for place in kind.places() {
                for id in folder.listed(*place)? {
                    record.take(*place, &id, &folder.read(*place, &id)?);
                }
            }
        }
        for id in folder.listed(Place::Results)? {
            let status = folder.read(Place::Results, &id)?.text("status").unwrap_or_default();
            record.results.insert(id.to_string(), status);
        }
        for file in std::fs::read_dir(folder.path("rejected"))? {
            record.leftovers.push(format!("rejected/{}", file?.file_name().display()));
        }
        Ok(record)
    }

    fn take(&mut self, place: Place, id: &Id, file: &Document) {
        match place {
            Place::EventsCompleted => {
                self.events.insert(id.to_string());
            }
            Place::TasksCompleted => self.tasks.push(TaskFile::of(id, file)),
            Place::MessagesSent => {
                let tells_the_end = file.text("type").as_deref() == Some("notification");
                let task = file.object("context").and_then(|context| context.text("task_id"));
                self.sent.insert(id.to_string(), task.filter(|_| tells_the_end));
            }
            elsewhere => self.leftovers.push(format!("{}/{id}.json", elsewhere.path())),
        }
    }
}

impl TaskFile {
    fn of(id: &Id, file: &Document) -> Self {
        let attempts = file.objects("attempts");
        let is_interrupted = |attempt: &&Document| attempt.raw("interrupted") == Some("true");
        let remote = |attempt: &Document| {
            let remote = attempt.object("remote")?;
            Some((remote.text("kind")?, remote.text("id")?))
        };
        Self {
            id: id.to_string(),
            event: file.text("event_id").unwrap_or_default(),
            status: file.text("status").unwrap_or_default(),
            interrupted: attempts.iter().filter(is_interrupted).count(),
            remote: attempts.iter().filter_map(remote).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// C0, C8, C12: the court can read the manifests, and the events are valid and have ids of their own.
    #[test]
    fn events_and_manifests_are_valid() {
        let home = tempfile::tempdir().unwrap();
        configure(home.path(), "http://127.0.0.1:1").unwrap();
        let court = muster_court::config::Court::read(home.path()).unwrap();
        assert_eq!(court.generals.len(), GENERALS.len());
        assert_eq!(court.generals["watch"].command[2], SOLDIER);
        let folder = Folder::open(home.path()).unwrap();
        let events: Vec<Event> = Event::planned().into_iter().chain(Event::bait(10)).collect();
        for event in &events {
            let emitted = emit(&folder, event.document().unwrap(), Clock.now());
            assert!(matches!(emitted, Ok(muster_court::emit::Emitted::New(_))), "{emitted:?}");
        }
        assert_eq!(events.iter().map(Event::id).collect::<BTreeSet<_>>().len(), events.len());
    }
}
