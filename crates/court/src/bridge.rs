//! Hands tasks to the coordinator's fleets and brings their ends back (C17).
//!
//! A task's payload is the body of a run, a session or a job. It is handed over under a key of its own, so that
//! handing it over twice is handing it over once, and followed until it ends, whoever dies and comes back meanwhile.

mod news;

use crate::{
    Document, Folder, Id,
    config::{Executor, seconds},
    document::document,
    file::{Outcome, OutcomeStatus},
    roles::general::{Ending, GeneralMind, Start, failed_outcome},
};
use muster_contract_operations::{RunDetail, RunState};
use muster_contract_pool::Job;
use muster_contract_simulation::Session;
use muster_model::JobOutcome;
use muster_worker_kit::http::{Manner, Servers, Unanswered, because, below, body, detail, retry_after};
use news::Feed;
use reqwest::{Method, RequestBuilder, Response, StatusCode, Url};
use serde_json::Value;
use std::{
    fmt,
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
    news: Feed,
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
        fleet: Fleet,
        limit_s: f64,
        coordinator: &Coordinator,
    ) -> reqwest::Result<Self> {
        let http = coordinator.servers.client().build()?;
        let client = Client { http, coordinator: coordinator.clone() };
        Ok(Self { folder, client, fleet, limit_s, news: Feed::default() })
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
            match self.patiently(Call::Show(id), Remote::read).await {
                Ok(remote) => {
                    if let Some(ending) = remote.ending(start, id) {
                        return ending;
                    }
                }
                Err(Refusal(status, detail)) => {
                    let what = self.fleet.as_str();
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
        let id = self.patiently(Call::Submit { body: &body, key: &key }, Fleet::read_id).await?;
        if let Err(fault) = GeneralMind::hand_over(&self.folder, &start.task, self.fleet, &id) {
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
        let cancelling = self.patiently(Call::Cancel(id), |_, _| Ok(()));
        match tokio::time::timeout(CANCEL_MAX, cancelling).await {
            Ok(Ok(_cancelled)) => late,
            Ok(Err(_ended)) => {
                let remote = self.client.ask(self.fleet, Call::Show(id), Remote::read).await.ok();
                remote.and_then(|remote| remote.ending(start, id)).unwrap_or(late)
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
    async fn patiently<T>(&self, call: Call<'_>, read: Read<T>) -> Result<T, Refusal> {
        let mut pause = PAUSE_MIN;
        loop {
            match self.client.ask(self.fleet, call, read).await {
                Ok(answer) => return Ok(answer),
                Err(CallError::Refused(status, detail)) => return Err(Refusal(status, detail)),
                Err(CallError::Later(why, after)) => {
                    let wait = after.map_or(pause, |after| after.clamp(pause, PATIENCE_MAX));
                    tracing::warn!(why, wait_s = wait.as_secs_f64(), "the coordinator is asked again");
                    tokio::time::sleep(wait).await;
                    pause = (pause * 2).min(PAUSE_MAX);
                }
            }
        }
    }
}

/// Addresses and token of a coordinator.
#[derive(Clone)]
pub struct Coordinator {
    /// Its addresses.
    pub servers: Arc<Servers>,
    /// The token; none is asked for by a coordinator that trusts this host.
    pub token: Option<String>,
}

/// Shows where, never with what.
impl fmt::Debug for Coordinator {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Coordinator").field("servers", &self.servers).finish_non_exhaustive()
    }
}

/// The reason why a call failed.
#[derive(Debug)]
enum CallError {
    /// It may bring something later.
    Later(String, Option<Duration>),
    /// It never will.
    Refused(StatusCode, String),
}

/// A call to the coordinator.
#[derive(Clone, Copy)]
enum Call<'a> {
    /// To take something, once per key.
    Submit { body: &'a str, key: &'a str },
    /// Shows the state of something.
    Show(&'a str),
    /// To end something.
    Cancel(&'a str),
}

/// Reads the body of a good response.
type Read<T> = fn(Fleet, &[u8]) -> serde_json::Result<T>;

struct Client {
    http: reqwest::Client,
    coordinator: Coordinator,
}

impl Client {
    /// Makes a call. All of them may arrive twice: what is handed in is recognised, by its key or its id.
    async fn ask<T>(&self, fleet: Fleet, call: Call<'_>, read: Read<T>) -> Result<T, CallError> {
        let answer = self
            .coordinator
            .servers
            .ask(Manner::repeatable(ANSWER_MAX), |server| self.request(server, fleet, call));
        let mut answer = understood(answer.await?).await?;
        let body = body(&mut answer, ANSWER_BYTES_MAX).await.map_err(no_answer)?;
        let body = body.ok_or_else(|| not_ours("an answer that is too long"))?;
        read(fleet, &body)
            .map_err(|error| not_ours(&format!("an answer that is not the contract's ({error})")))
    }

    /// Opens the feed, after an entry that was seen.
    async fn feed(&self, last: Option<&str>) -> Result<Response, CallError> {
        let request = |server: &Url| {
            let request =
                self.at(server, Method::GET, &["api", "events"]).header("accept", "text/event-stream");
            last.into_iter().fold(request, |request, last| request.header("last-event-id", last))
        };
        let answer =
            self.coordinator.servers.ask(Manner::repeatable(ANSWER_MAX).streaming(), request).await?;
        understood(answer).await
    }

    fn request(&self, server: &Url, fleet: Fleet, call: Call<'_>) -> RequestBuilder {
        match (call, fleet) {
            (Call::Submit { body, key }, _) => {
                let request = self.at(server, Method::POST, fleet.path()).header("idempotency-key", key);
                request.header("content-type", "application/json").body(body.to_owned())
            }
            (Call::Show(id), _) => self.at(server, Method::GET, &[fleet.path(), &[id]].concat()),
            (Call::Cancel(id), Fleet::Job) => {
                self.at(server, Method::DELETE, &[fleet.path(), &[id]].concat())
            }
            (Call::Cancel(id), _) => self.at(server, Method::POST, &[fleet.path(), &[id, "cancel"]].concat()),
        }
    }

    /// A call to an address that is given in pieces, so that no id can lead elsewhere.
    fn at(&self, server: &Url, method: Method, path: &[&str]) -> RequestBuilder {
        let request = self.http.request(method, below(server, path.iter().copied()));
        self.coordinator.token.iter().fold(request, |request, token| request.bearer_auth(token))
    }
}

impl From<Unanswered> for CallError {
    fn from(error: Unanswered) -> Self {
        Self::Later(error.to_string(), error.retry_after())
    }
}

/// A good answer, or what a bad one means. A token that does not open may be mended, as a server that is down.
async fn understood(answer: Response) -> Result<Response, CallError> {
    let status = answer.status();
    if status.is_success() {
        return Ok(answer);
    }
    let waits = matches!(status.as_u16(), 401 | 403 | 408 | 425 | 429) || !status.is_client_error();
    let after = retry_after(&answer);
    let said = detail(answer).await;
    Err(if waits {
        CallError::Later(format!("{status}: {said}"), after)
    } else {
        CallError::Refused(status, said)
    })
}

fn no_answer(error: reqwest::Error) -> CallError {
    CallError::Later(because(&error.without_url()), None)
}

fn not_ours(what: &str) -> CallError {
    CallError::Later(format!("{what}: is that the coordinator?"), None)
}

muster_model::words! {
    /// The fleets of the coordinator.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Fleet {
        /// Devices, by a run.
        Run = "run",
        /// Simulation workers, by a session.
        Session = "session",
        /// The pool, by a job.
        Job = "job",
    }
}

impl Fleet {
    /// The fleet of an executor; a soldier is none.
    #[must_use]
    pub const fn of(executor: Executor) -> Option<Self> {
        match executor {
            Executor::Command => None,
            Executor::Run => Some(Self::Run),
            Executor::Session => Some(Self::Session),
            Executor::Job => Some(Self::Job),
        }
    }

    /// The path for submissions; each object's own path is below it.
    const fn path(self) -> &'static [&'static str] {
        match self {
            Self::Run => &["api", "runs"],
            Self::Session => &["api", "v1", "sessions"],
            Self::Job => &["jobs"],
        }
    }

    /// The prefix of feed entries about a change.
    const fn news(self) -> &'static str {
        match self {
            Self::Run => "job_",
            Self::Session => "session_",
            Self::Job => "pool_jobs_",
        }
    }

    /// Reads the id in the answer to a submission.
    fn read_id(self, body: &[u8]) -> serde_json::Result<String> {
        Ok(match self {
            Self::Run => serde_json::from_slice::<RunState>(body)?.run_id,
            Self::Session => serde_json::from_slice::<Session>(body)?.session_id,
            Self::Job => serde_json::from_slice::<Job>(body)?.id.to_string(),
        })
    }

    /// The body that is handed in: the payload as it is. A session is recognised by its id alone, so one without gets
    /// the attempt's.
    fn body(self, start: &Start) -> String {
        let payload = start.document.raw("payload").unwrap_or("{}").to_owned();
        if self != Self::Session {
            return payload;
        }
        match Document::parse(payload.as_bytes()) {
            Ok(mut session) if !session.has(SESSION_ID) => {
                session.set(SESSION_ID, &numbered(start, '-'));
                session.to_json()
            }
            _ => payload,
        }
    }

    /// The idempotency key.
    fn key(start: &Start) -> String {
        numbered(start, '.')
    }
}

/// Work at the coordinator, as its contract shows it.
enum Remote {
    Run(RunDetail),
    Session(Session),
    Job(Job),
}

impl Remote {
    fn read(fleet: Fleet, body: &[u8]) -> serde_json::Result<Self> {
        Ok(match fleet {
            Fleet::Run => Self::Run(serde_json::from_slice(body)?),
            Fleet::Session => Self::Session(serde_json::from_slice(body)?),
            Fleet::Job => Self::Job(serde_json::from_slice(body)?),
        })
    }

    /// The ending that this reports, if there is one.
    fn ending(&self, start: &Start, id: &str) -> Option<Ending> {
        let (status, error) = match self {
            Self::Run(RunDetail { run, .. }) => (&run.status, run.error.as_deref()),
            Self::Session(session) => (&session.status, session.error.as_deref()),
            Self::Job(job) => (&job.status, job.error_message.as_deref()),
        };
        let summary = self.summary(id);
        match &**status {
            "success" | "completed" => {
                let mut outcome = success(&start.task, &summary);
                // Readers of results can use the output of a job; the coordinator has larger outputs.
                let output = self.output().map(|output| output.to_string());
                if let Some(output) = output.filter(|output| output.len() <= OUTPUT_BYTES_MAX) {
                    outcome.document.set_raw("output", output);
                }
                Some(Ending::Remote(outcome))
            }
            "failed" => {
                let error = error.map_or_else(|| summary.clone(), |error| format!("{summary}: {error}"));
                Some(self.failure(start, &error))
            }
            // No retry, because the user who cancelled it does not want it to run again.
            "cancelled" => Some(Ending::Refused(format!("{summary}: it was cancelled at the coordinator"))),
            _ => None,
        }
    }

    /// A session whose id the payload names would only be found again as it ended.
    fn failure(&self, start: &Start, error: &str) -> Ending {
        let payload = start.document.object("payload").unwrap_or_default();
        if matches!(self, Self::Session(_)) && payload.has(SESSION_ID) {
            return Ending::Refused(error.to_owned());
        }
        Ending::Remote(failed_outcome(&start.task, OutcomeStatus::Failed, error))
    }

    /// The output of a job.
    fn output(&self) -> Option<Value> {
        let Self::Job(job) = self else { return None };
        let output = job.output.as_ref().and_then(|output| serde_json::from_str(output.as_str()).ok());
        Some(output.unwrap_or_default())
    }

    fn summary(&self, id: &str) -> String {
        match self {
            Self::Run(RunDetail { run, counts, .. }) => {
                let (completed, failed, cancelled) = (counts.completed, counts.failed, counts.cancelled);
                let counts = format!("{completed} completed, {failed} failed, {cancelled} cancelled");
                // A run with failures is never called a success alone (Q7b).
                let is_partial = run.outcome == JobOutcome::Partial.as_str();
                format!("run {id}: {}{counts}", if is_partial { "partial, " } else { "" })
            }
            Self::Session(session) => {
                let Session { status, completed_frames, total_frames, .. } = session;
                let frames = format!("session {id}: {status}, {completed_frames} of {total_frames} frames");
                // Nor is a session with skipped frames called completed alone (S23b).
                match session.skipped_frames {
                    0 => frames,
                    skipped => format!("{frames}, {skipped} skipped"),
                }
            }
            Self::Job(job) => {
                let said = self.output().and_then(|output| Some(output.get("summary")?.as_str()?.to_owned()));
                said.unwrap_or_else(|| format!("job {id}: {}", job.status))
            }
        }
    }
}

/// The task's id; from the second time on that it is handed in with the attempt's number.
fn numbered(start: &Start, separator: char) -> String {
    match start.handed_in_as() {
        1 => start.task.to_string(),
        attempt => format!("{}{separator}{attempt}", start.task),
    }
}

fn success(task: &Id, summary: &str) -> Outcome {
    let status = OutcomeStatus::Success;
    Outcome { status, document: document! {"task_id": task, "status": status.as_str(), "summary": summary} }
}

/// The longest wait without news before the state is fetched again.
const LOOK_AGAIN: Duration = Duration::from_secs(10);
const PAUSE_MIN: Duration = Duration::from_millis(500);
const PAUSE_MAX: Duration = Duration::from_secs(30);
const PATIENCE_MAX: Duration = Duration::from_secs(300);
const CANCEL_MAX: Duration = Duration::from_secs(30);
const ANSWER_MAX: Duration = Duration::from_secs(30);
/// A job's payload and its output, and some.
const ANSWER_BYTES_MAX: usize = 8 << 20;
const OUTPUT_BYTES_MAX: usize = 512 * 1024;
const SESSION_ID: &str = "sessionId";
