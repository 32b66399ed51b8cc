//! `muster session submit|list|show|watch|diagnostics|pause|resume|cancel|retry` (S26, S26b), and `muster chunk
//! list|retire` (S13, S17, S20b).

mod frames;

pub(super) use frames::strip;

use super::{
    client_command::{Action, Conversation, Id, IdAndReason, Limit, Noun, given, json_argument, word_of},
    watch::{Reporting, WatchedWork},
};
use crate::{
    client::{Answer, Client, ClientError, Listing, Order},
    failure::{Exit, Failure},
    output,
    reach::Reason,
};
use clap::{Args, Subcommand, ValueEnum};
use frames::{FrameList, coloured, count, ranges_text};
use indicatif::ProgressBar;
use muster_contract_simulation::{
    ReasonRequest, RetryRequest, Session as SessionView, SessionDetail, SessionRequest,
};
use muster_model::SessionStatus;
use serde_json::{Value, json};
use std::io::IsTerminal;

pub(crate) type Session = Noun<SessionAction>;
pub(crate) type Chunk = Noun<ChunkAction>;

#[derive(Debug, Subcommand)]
pub(crate) enum SessionAction {
    /// Submit a session of frames
    Submit(Submit),
    /// List sessions, newest first
    List {
        /// Only with this status
        #[arg(long)]
        status: Option<String>,
        #[command(flatten)]
        limit: Limit<100>,
    },
    /// Show one session: its progress, its failed frames, and how many ranges were given out again or lack frames
    Show(Id),
    /// Wait for a session to end; ends with 1 unless it completed with all its frames. With --json: one document per line whenever something changed
    Watch(Id),
    /// List what happened in a session, newest first: messages of its workers, lost workers, ranges given out again, halved or given up
    Diagnostics {
        /// Which one
        id: String,
        #[command(flatten)]
        limit: Limit<100>,
    },
    /// Give out no more of its frames for now; what is held may be completed
    Pause(IdAndReason),
    /// Give out its frames again
    Resume(IdAndReason),
    /// End a session; workers at it are told to stop
    Cancel(IdAndReason),
    /// Render failed frames again; a session that ended runs again
    Retry {
        /// Which one
        id: String,
        /// Only these of the failed frames, such as 120-130,200: from the first up to, not including, the second; a single number is one frame [default: all that failed]
        #[arg(long, value_name = "A-B,…")]
        frames: Option<FrameList>,
        #[command(flatten)]
        reason: Reason,
    },
}

impl Action for SessionAction {
    async fn run(self, talk: &Conversation) -> Result<Exit, Failure> {
        match self {
            Self::Submit(submit) => submit.run(talk).await,
            Self::List { status, limit: Limit { limit } } => {
                let query = given([("status", status)]);
                let path = ["api", "v1", "sessions"];
                talk.list(Listing { path: &path, name: "sessions", query, limit }, &COLUMNS).await
            }
            Self::Show(Id { id }) => {
                print(&talk.client.get(&["api", "v1", "sessions", &id], &[]).await?, talk.json);
                Ok(Exit::Fine)
            }
            Self::Watch(Id { id }) => watch(talk, &id, Reporting::all_along(talk.json)).await,
            Self::Diagnostics { id, limit: Limit { limit } } => {
                let path = ["api", "v1", "sessions", &id, "diagnostics"];
                let listing = Listing { path: &path, name: "diagnostics", query: Vec::new(), limit };
                talk.list(listing, &["at", "kind", "workerId", "taskId", "text"]).await
            }
            Self::Retry { id, frames, reason } => {
                Ok(talk.print(&retry(&talk.client, &id, frames, &reason).await?))
            }
            Self::Pause(session) => steer(talk, &session, "pause").await,
            Self::Resume(session) => steer(talk, &session, "resume").await,
            Self::Cancel(session) => steer(talk, &session, "cancel").await,
        }
    }
}

async fn steer(talk: &Conversation, session: &IdAndReason, verb: &str) -> Result<Exit, Failure> {
    talk.order(&["api", "v1", "sessions", &session.id, verb], &session.reason).await
}

/// Has failed frames rendered again: those given, or all (S26b).
async fn retry(
    client: &Client,
    id: &str,
    frames: Option<FrameList>,
    reason: &Reason,
) -> Result<Value, ClientError> {
    let body = RetryRequest { frames: frames.map(|frames| frames.0) };
    client.order(&["api", "v1", "sessions", id, "retry"], &body, Order::because(reason)).await
}

/// Waits for a session to end, with its frames as a strip on a terminal; then prints it.
async fn watch(talk: &Conversation, id: &str, reporting: Reporting) -> Result<Exit, Failure> {
    let path = ["api", "v1", "sessions", id];
    let template = "{msg}\n{wide_bar} {pos}/{len}";
    let watched = WatchedWork { path: &path, template, end_of: &end_of, show: draw, print };
    watched.until_ended(&talk.client, reporting).await
}

/// The exit code of a session that has ended (S26); a completed one with skipped frames is not complete (S23b).
fn end_of(SessionDetail { session, .. }: &SessionDetail) -> Option<Exit> {
    match SessionStatus::from_word(&session.status)? {
        SessionStatus::Completed if session.complete => Some(Exit::Fine),
        SessionStatus::Completed | SessionStatus::Failed | SessionStatus::Cancelled => Some(Exit::Failed),
        SessionStatus::Running | SessionStatus::Paused => None,
    }
}

fn draw(bar: &ProgressBar, detail: &SessionDetail) {
    bar.set_length(detail.session.total_frames);
    bar.set_position(detail.session.completed_frames);
    let strip = coloured(detail, STRIP_CELLS, output::is_colourful(std::io::stderr().is_terminal()));
    bar.set_message(format!("{strip}  {}", summary(detail)));
}

/// Summary in one line.
fn summary(detail: &SessionDetail) -> String {
    let SessionDetail { session: SessionView { status, .. }, rate, replays, drops, .. } = detail;
    let mut line = format!("{status}, {rate:.1} frames/s, {} given out anew", replays.len());
    if let Some(seconds) = detail.eta_seconds {
        line.push_str(&format!(", {seconds} s left"));
    }
    if !drops.is_empty() {
        line.push_str(&format!(", {} with dropped frames", drops.len()));
    }
    match count(&detail.failed_frames) {
        0 => {}
        failed => line.push_str(&format!(", {} failed", frames(failed))),
    }
    line
}

/// The document, or for people its members without the long lists, and its frames as a strip on a terminal.
fn print(Answer { raw, read }: &Answer<SessionDetail>, json: bool) {
    if json {
        return output::document(raw);
    }
    let mut short = raw.clone();
    if let Some(members) = short.as_object_mut() {
        for list in ["coverage", "replays", "drops", "ranges"] {
            if let Some(length) = members.get(list).and_then(Value::as_array).map(Vec::len) {
                members.insert(list.to_owned(), json!(length));
            }
        }
        let failed = Some(ranges_text(&read.failed_frames)).filter(|text| !text.is_empty());
        members.insert("failedFrames".to_owned(), json!(failed.as_deref().unwrap_or("none")));
    }
    output::members(&short);
    let is_terminal = std::io::stdout().is_terminal();
    if is_terminal {
        output::line(&coloured(read, STRIP_CELLS, output::is_colourful(is_terminal)));
    }
    if let Some(advice) = advice(read) {
        eprintln!("{advice}");
    }
}

/// Says which frames are missing for good, and what to do about them (S26b). A cancelled session cannot be retried.
fn advice(SessionDetail { session, failed_frames, .. }: &SessionDetail) -> Option<String> {
    if session.status == SessionStatus::Cancelled.as_str() {
        return None;
    }
    let (missing, them) = match count(failed_frames) {
        0 => return None,
        1 => ("1 frame is missing".to_owned(), "it"),
        count => (format!("{count} frames are missing"), "them"),
    };
    let (ranges, id) = (ranges_text(failed_frames), &session.session_id);
    Some(format!("{missing}: {ranges}. `muster session retry {id}` renders {them} again."))
}

fn frames(count: u64) -> String {
    if count == 1 { "1 frame".to_owned() } else { format!("{count} frames") }
}

const COLUMNS: [&str; 8] = [
    "sessionId",
    "status",
    "completedFrames",
    "totalFrames",
    "skippedFrames",
    "qualityMode",
    "createdAt",
    "error",
];
/// Fits a terminal of 80 columns with something beside it.
const STRIP_CELLS: usize = 40;

#[derive(Debug, Args)]
pub(crate) struct Submit {
    /// Name of the session: a–z, 0–9, _ and -; submitting the same again is harmless
    id: String,
    /// Number of frames
    #[arg(long, value_name = "N")]
    frames: u64,
    /// Frames per task at most
    #[arg(long, value_name = "N", default_value_t = 100)]
    frames_per_task: u64,
    /// The scene: JSON, or @FILE to read it from there
    #[arg(long, value_name = "JSON|@FILE", default_value = "{}")]
    scenario: String,
    /// The cameras: JSON, or @FILE to read it from there
    #[arg(long, value_name = "JSON|@FILE", default_value = "[]")]
    cameras: String,
    /// Refuse ranges with dropped frames, or record them
    #[arg(long, value_enum, default_value_t = Quality::Strict)]
    quality: Quality,
    /// Its directory, relative to the server's output root, if not session_ and its name
    #[arg(long, value_name = "DIR")]
    output: Option<String>,
    /// Wait for the session to end; ends with 1 unless it completed with all its frames
    #[arg(long)]
    wait: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Quality {
    Strict,
    Relaxed,
}

impl Submit {
    async fn run(self, talk: &Conversation) -> Result<Exit, Failure> {
        let wait = self.wait;
        let request = self.request()?;
        let session: Value = talk.client.post(&["api", "v1", "sessions"], &request).await?;
        if wait {
            return watch(talk, &request.session_id, Reporting::once(talk.json)).await;
        }
        Ok(talk.print(&session))
    }

    /// The submission as the server takes it; what was not given is left to the server.
    fn request(self) -> Result<SessionRequest, Failure> {
        Ok(SessionRequest {
            total_frames: self.frames,
            frames_per_task: self.frames_per_task,
            scenario: (&json_argument("--scenario", &self.scenario)?).into(),
            cameras: (&json_argument("--cameras", &self.cameras)?).into(),
            quality_mode: word_of(self.quality),
            output_directory: self.output,
            session_id: self.id,
        })
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum ChunkAction {
    /// List chunks of ids by number: the task, worker and attempt that each was given to
    List {
        /// Only chunks of this session
        #[arg(long, value_name = "ID")]
        session: Option<String>,
        /// Only chunks in this state
        #[arg(long, value_enum)]
        state: Option<ChunkState>,
        #[command(flatten)]
        limit: Limit<1_000>,
    },
    /// Retire a chunk: its ids are never used again, and its frames are rendered again with a new chunk
    Retire {
        /// The chunk's number, as `muster chunk list` shows it
        id: u64,
        /// Why; shown in the session's diagnostics
        #[arg(long, value_name = "TEXT")]
        reason: String,
    },
}

/// The state of a chunk (S13).
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum ChunkState {
    /// Given to an attempt that has not ended
    Live,
    /// Its fragment was accepted
    Used,
    /// Never used again
    Retired,
}

impl Action for ChunkAction {
    async fn run(self, talk: &Conversation) -> Result<Exit, Failure> {
        match self {
            Self::List { session, state, limit: Limit { limit } } => {
                let query = given([("state", state.map(word_of)), ("session", session)]);
                let listing = Listing { path: &["api", "v1", "chunks"], name: "chunks", query, limit };
                talk.list(listing, &CHUNK_COLUMNS).await
            }
            Self::Retire { id, reason } => {
                let path = ["api", "v1", "chunks", &id.to_string(), "retire"];
                Ok(talk.print(&talk.client.post::<Value>(&path, &ReasonRequest { reason }).await?))
            }
        }
    }
}

const CHUNK_COLUMNS: [&str; 9] =
    ["chunkId", "state", "range", "sessionId", "taskId", "attempt", "workerId", "at", "reason"];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{client::tests::serve, command::tests::parse_flags};
    use axum::{Json, Router, extract::OriginalUri, http::HeaderMap};
    use muster_worker_kit::http::Servers;

    /// A session that runs, with some members as given.
    pub(super) fn detail(given: Value) -> SessionDetail {
        let mut session = json!({"sessionId": "s", "status": "running", "totalFrames": 100, "completedFrames": 0,
            "complete": false, "skippedFrames": 0, "framesPerTask": 10, "qualityMode": "strict",
            "outputDirectory": "session_s", "createdAt": 1, "endedAt": null, "merging": false, "failedFrames": [],
            "ranges": [], "rangesComplete": true, "coverage": [], "coverageComplete": true, "replays": [], "drops": [],
            "rate": 0.0, "etaSeconds": null, "scenario": {}, "cameras": []});
        let Value::Object(given) = given else { panic!("no object: {given}") };
        session.as_object_mut().unwrap().extend(given);
        serde_json::from_value(session).unwrap()
    }

    /// S26b: a retry names the frames as the contract does, or none for all that failed; the reason is for the audit log.
    #[tokio::test]
    async fn a_retry_speaks_the_contract() {
        let echo = async |OriginalUri(uri): OriginalUri, headers: HeaderMap, Json(body): Json<Value>| {
            let reason = headers.get("muster-reason").map(|reason| reason.to_str().unwrap().to_owned());
            Json(json!([uri.path(), body, reason]))
        };
        let url = serve(Router::new().fallback(echo)).await;
        let client = Client::new(Servers::parse([url.as_str()]).unwrap(), None);
        let path = "/api/v1/sessions/demo/retry";
        let all = retry(&client, "demo", None, &Reason::default()).await.unwrap();
        assert_eq!(all, json!([path, {}, null]));
        let frames = Some("7,120-130".parse().unwrap());
        let some = retry(&client, "demo", frames, &Reason::because("mended")).await.unwrap();
        assert_eq!(some, json!([path, {"frames": [[7, 8], [120, 130]]}, "mended"]));
    }

    /// I4, S26: a session that failed or was cancelled ends with 1.
    #[test]
    fn the_end_of_a_session_is_the_exit_code() {
        let end = |status: &str| end_of(&detail(json!({"status": status, "complete": true})));
        assert_eq!(end("completed"), Some(Exit::Fine));
        assert_eq!(["failed", "cancelled"].map(end), [Some(Exit::Failed); 2]);
        assert_eq!(["running", "paused"].map(end), [None; 2]);
        let skipped = detail(json!({"status": "completed", "complete": false}));
        assert_eq!(end_of(&skipped), Some(Exit::Failed), "S23b: a skip is never hidden");
    }

    #[test]
    fn a_line_says_how_far_it_is() {
        let replay = json!({"frameRange": [0, 5], "retiredChunkId": 1, "newChunkId": 2});
        let session = detail(json!({"rate": 12.34, "etaSeconds": 8, "replays": [replay, replay]}));
        assert_eq!(summary(&session), "running, 12.3 frames/s, 2 given out anew, 8 s left");
        let failed = |ranges: Value| summary(&detail(json!({"failedFrames": ranges})));
        assert!(failed(json!([[3, 4]])).ends_with(", 1 frame failed"));
        assert!(failed(json!([[3, 4], [7, 9]])).ends_with(", 3 frames failed"));
        assert!(!failed(json!([])).contains("failed"));
    }

    /// S23b, S26b: the end of a session names the missing frames and the command that renders them again.
    #[test]
    fn missing_frames_come_with_advice() {
        let session = |status: &str, failed: Value| {
            advice(&detail(json!({"sessionId": "demo", "status": status, "failedFrames": failed})))
        };
        let one = "1 frame is missing: [7, 8). `muster session retry demo` renders it again.";
        assert_eq!(session("failed", json!([[7, 8]])).as_deref(), Some(one));
        let more =
            "11 frames are missing: [7, 8), [120, 130). `muster session retry demo` renders them again.";
        assert_eq!(session("completed", json!([[7, 8], [120, 130]])).as_deref(), Some(more));
        assert_eq!(session("completed", json!([])), None);
        assert_eq!(session("cancelled", json!([[7, 8]])), None);
    }

    fn body(arguments: &[&str]) -> Result<Value, Failure> {
        let line = ["submit", "s", "--frames", "10"].into_iter().chain(arguments.iter().copied());
        parse_flags::<Submit>(line).unwrap().request().map(|session| serde_json::to_value(session).unwrap())
    }

    /// S26: a submission has the names of the contract; what was not said is not sent.
    #[test]
    fn a_submission_speaks_the_contract() {
        let plain = json!({"sessionId": "s", "totalFrames": 10, "framesPerTask": 100, "scenario": {}, "cameras": [],
            "qualityMode": "strict"});
        assert_eq!(body(&[]).unwrap(), plain);
        let more = body(&[
            "--frames-per-task",
            "5",
            "--quality",
            "relaxed",
            "--output",
            "x",
            "--scenario",
            "{\"a\":1}",
        ]);
        let more = more.unwrap();
        assert_eq!((&more["framesPerTask"], &more["qualityMode"]), (&json!(5), &json!("relaxed")));
        assert_eq!((&more["outputDirectory"], &more["scenario"]), (&json!("x"), &json!({"a": 1})));
        assert_eq!(body(&["--cameras", "["]).unwrap_err().exit(), Exit::Usage);
    }
}
