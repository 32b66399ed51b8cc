//! Contract S in the demo: three simulation workers, a session of frames for them, and one worker that is killed at it.

use super::{
    process::{Orders, Process, arguments, cancelled, until},
    server::{Server, Tables},
    show::{Contract, Finding, RENDERER_KILLED, Show, grouped},
};
use crate::{
    client::{Client, ClientError},
    command::session::strip,
    failure::Failure,
};
use muster_contract_simulation::{Coverage, Session as SessionView, SessionDetail, SessionRequest};
use muster_manifest::{MANIFEST, Replay, verify_directory};
use muster_model::{FrameTaskStatus, SessionStatus};
use serde::Deserialize;
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    net::SocketAddr,
    ops::Range,
    path::{Path, PathBuf},
};

/// The workers and their sessions.
pub(super) struct Frames {
    workers: Vec<Worker>,
    client: Client,
    tables: Tables,
    output: PathBuf,
    /// One per round.
    sessions: Vec<Session>,
    kills: Vec<Kill>,
    /// Everything that no longer counts was moved to quarantine.
    is_tidy: bool,
    unsuccessful: Vec<String>,
}

struct Worker {
    id: &'static str,
    process: Process,
    /// Time of its last registration, by the server's clock.
    registered_at: Option<i64>,
}

/// A session that was submitted.
struct Session {
    id: String,
    /// The last response of `GET /api/v1/sessions/ID`.
    shown: SessionDetail,
    /// The demo cancelled it.
    is_cancelled: bool,
}

/// The range that a worker was killed at.
struct Kill {
    session: String,
    worker: String,
    first_frame: u64,
    end_frame: u64,
    chunk: u64,
    /// Pictures that it had made of the range.
    pictures: u64,
}

impl Frames {
    /// Starts the workers and waits until the server knows them.
    pub(super) async fn start(server: &Server) -> Result<Self, Failure> {
        let client = server.client();
        let mut workers = Vec::new();
        for (place, id) in WORKERS.into_iter().enumerate() {
            // Tasks are pushed to the last one; the others ask for theirs.
            let is_pushed_to = place + 1 == WORKERS.len();
            workers.push(Worker::start(id, is_pushed_to, server, &client).await?);
        }
        Ok(Self {
            workers,
            client,
            tables: Tables::open(server.directory())?,
            output: server.output.clone(),
            sessions: Vec::new(),
            kills: Vec::new(),
            is_tidy: false,
            unsuccessful: Vec::new(),
        })
    }

    pub(super) async fn begin_round(&mut self) -> Result<(), Failure> {
        let id = format!("demo-{}", self.sessions.len() + 1);
        let session = SessionRequest {
            session_id: id.clone(),
            total_frames: FRAMES,
            frames_per_task: FRAMES_PER_TASK,
            scenario: (&json!({"name": "people in a street", "fps": 30})).into(),
            cameras: (&json!(["front"])).into(),
            quality_mode: "strict".to_owned(),
            output_directory: None,
        };
        self.client.post::<SessionView>(&["api", "v1", "sessions"], &session).await?;
        let shown = self.client.get(&["api", "v1", "sessions", &id], &[]).await?;
        self.sessions.push(Session { id, shown, is_cancelled: false });
        Ok(())
    }

    pub(super) fn is_done(&self) -> bool {
        let is_up = |worker: &Worker| !worker.process.is_down();
        self.sessions.iter().all(Session::is_over) && self.workers.iter().all(is_up)
    }

    /// Watches the session and kills a worker in the middle of a range; cancels the session when asked to stop.
    pub(super) async fn step(&mut self, is_stopping: bool, show: &Show) -> Result<(), Failure> {
        for worker in &mut self.workers {
            if worker.process.tend().await? {
                worker.until_registered(&self.client).await?;
            }
        }
        let Some(session) = self.sessions.last_mut().filter(|session| !session.is_over()) else {
            return Ok(());
        };
        session.shown = self.client.get(&["api", "v1", "sessions", &session.id], &[]).await?;
        if is_stopping && !session.is_over() {
            return session.cancel(&self.client).await;
        }
        if let Some(kill) = self.due_kill() {
            self.kill(kill).await?;
            show.tell(&RENDERER_KILLED);
        }
        Ok(())
    }

    pub(super) fn line(&self) -> String {
        let Some(session) = self.sessions.last() else { return String::new() };
        let cells = strip(&session.shown, STRIP_CELLS);
        format!("{} {cells} {}/{FRAMES} frames", session.id, session.done())
    }

    /// Stops the workers, then waits until everything that was given up is in quarantine.
    pub(super) async fn finish(&mut self) -> Result<(), Failure> {
        for worker in &mut self.workers {
            self.unsuccessful.extend(worker.process.stop().await?);
        }
        let tables = &self.tables;
        let left = "SELECT count(*) FROM sim_quarantine WHERE moved = 0";
        self.is_tidy = until(async || Ok(tables.count(left, [])? == 0)).await?;
        Ok(())
    }

    pub(super) fn submitted(&self) -> impl Iterator<Item = (String, String)> {
        self.sessions.iter().map(|session| ("session".to_owned(), session.id.clone()))
    }

    pub(super) fn contract(&self) -> Contract {
        let frames: u64 = self.sessions.iter().map(Session::done).sum();
        Contract {
            name: "simulation",
            did: format!("{} sessions, {} frames", self.sessions.len(), grouped(frames)),
            faults: format!("workers killed: {}", self.kills.len()),
        }
    }

    /// Compares the tables and the files of the sessions with what was submitted.
    pub(super) fn findings(&self, tables: &Tables) -> Result<Vec<Finding>, Failure> {
        let footage = Footage::read(&self.output)?;
        let completed: Vec<Rendered> = self
            .sessions
            .iter()
            .filter(|session| !session.is_cancelled)
            .map(|session| Rendered::read(&self.output.join(format!("session_{}", session.id)), &session.id))
            .collect();
        let fragments: u64 = completed.iter().map(|session| session.fragments).sum();
        let whole = completed.iter().find_map(|session| session.fault(FRAMES));
        let open = "SELECT count(*) FROM sim_tasks WHERE status NOT IN ('completed', 'cancelled')";
        Ok(vec![
            self.sessions_as_planned(tables)?,
            Finding::none(tables.count(open, [])?, "every range of frames has ended"),
            // S14, S24
            Finding::of(whole.map_or_else(
                || {
                    let frames = grouped(FRAMES * completed.len() as u64);
                    Ok(format!("{fragments} fragments verify: one whole picture of each of {frames} frames"))
                },
                Err,
            )),
            // S13
            Finding::of(footage.ids_used_once()),
            Finding::of(self.killed_ranges_replaced(&completed, &footage)),
            // S6
            Finding::of(match self.unsuccessful.first() {
                Some(first) => Err(first.clone()),
                None => Ok("the simulation workers left on request".to_owned()),
            }),
        ])
    }

    /// The kill that is due now: a worker in the middle of a range, in the middle of the session; another worker in each
    /// round. Some pictures of the range must be there, but not nearly all: a slow machine does not see each one made.
    fn due_kill(&self) -> Option<Kill> {
        let session = self.sessions.last()?;
        let victim = WORKERS[self.sessions.len() % WORKERS.len()];
        let is_killed = self.kills.iter().any(|kill| kill.session == session.id && kill.is_midway());
        if session.is_over() || is_killed || session.done() * 4 < FRAMES {
            return None;
        }
        let mut kill = session.range_of(victim)?;
        kill.pictures = self.pictures(&kill);
        let frames = kill.end_frame - kill.first_frame;
        (kill.pictures * 8 >= frames && kill.pictures * 5 <= frames * 4).then_some(kill)
    }

    async fn kill(&mut self, mut kill: Kill) -> Result<(), Failure> {
        for worker in self.workers.iter_mut().filter(|worker| worker.id == kill.worker) {
            worker.process.kill().await?;
        }
        kill.pictures = self.pictures(&kill);
        self.kills.push(kill);
        Ok(())
    }

    fn pictures(&self, kill: &Kill) -> u64 {
        count_pictures(&self.output.join(format!("session_{}/chunks/{}", kill.session, kill.chunk)))
    }

    /// S26: each session ended as it should.
    fn sessions_as_planned(&self, tables: &Tables) -> Result<Finding, Failure> {
        for Session { id, is_cancelled, .. } in &self.sessions {
            let wanted = if *is_cancelled { "cancelled" } else { "completed" };
            let ended: Vec<String> = tables.column("SELECT status FROM sim_sessions WHERE id = ?1", [id])?;
            if ended != [wanted] {
                return Ok(Finding::of(Err(format!("the session {id} ended {ended:?}, not {wanted}"))));
            }
        }
        let cancelled = self.sessions.iter().filter(|session| session.is_cancelled).count();
        let completed = self.sessions.len() - cancelled;
        Ok(Finding::of(Ok(format!("sessions: {completed} completed, {cancelled} cancelled on request"))))
    }

    /// S15, S16: the range of a killed worker was rendered again under new ids, and its pictures are in quarantine.
    fn killed_ranges_replaced(&self, completed: &[Rendered], footage: &Footage) -> Result<String, String> {
        for session in completed {
            let kill = self.kills.iter().find(|kill| kill.session == session.id && kill.is_midway());
            let kill = kill.ok_or_else(|| format!("no worker was killed at a range of {}", session.id))?;
            let Kill { worker, first_frame, end_frame, chunk, pictures, .. } = kill;
            if !session.has_replay(*chunk, *first_frame..*end_frame) {
                return Err(format!("{worker} was killed at chunk {chunk}, and no replay names it"));
            }
            let quarantined = footage.quarantined.get(chunk).copied().unwrap_or(0);
            if quarantined < *pictures {
                return Err(format!(
                    "{worker} left {pictures} pictures of chunk {chunk}, {quarantined} are in quarantine"
                ));
            }
        }
        if !self.is_tidy {
            return Err("something that was given up is not in quarantine".to_owned());
        }
        Ok(match self.kills.as_slice() {
            [] => "no simulation worker was killed this time".to_owned(),
            [Kill { worker, first_frame, end_frame, pictures, .. }] => format!(
                "{worker} was killed at frames {first_frame} to {} (kill -9): rendered again with new ids, its {pictures} \
                 pictures quarantined",
                end_frame - 1
            ),
            more => format!(
                "workers were killed (kill -9) {} times: their ranges were rendered again",
                more.len()
            ),
        })
    }
}

impl Worker {
    async fn start(
        id: &'static str,
        is_pushed_to: bool,
        server: &Server,
        client: &Client,
    ) -> Result<Self, Failure> {
        let directory = server.directory().join("workers");
        std::fs::create_dir_all(&directory)?;
        let flags = [
            ("--server", server.url.clone()),
            ("--id", id.to_owned()),
            ("--fps", FRAMES_PER_SECOND.to_string()),
            ("--output-root", server.output.display().to_string()),
        ];
        let mut args = arguments("sim-worker", flags);
        if is_pushed_to {
            // The server pushes tasks to no other address than the one that a registration came from (S3).
            args.extend(["--listen".to_owned(), SocketAddr::new(server.address.ip(), 0).to_string()]);
        }
        let process = Process::start(Orders {
            name: format!("the worker {id}"),
            args,
            secrets: vec![("MUSTER_ENROL_SECRET", server.enrol_secret.clone())],
            files: directory.join(id),
            greeting: None,
        });
        let mut worker = Self { id, process: process.await?, registered_at: None };
        worker.until_registered(client).await?;
        Ok(worker)
    }

    /// Waits until the server has a registration of this start.
    async fn until_registered(&mut self, client: &Client) -> Result<(), Failure> {
        let is_known = until(async || {
            self.process.tend().await?;
            let registered_at = match client.get::<Value>(&["api", "v1", "workers", self.id], &[]).await {
                Ok(worker) => worker["registeredAt"].as_i64(),
                Err(ClientError::Refused { status, .. }) if status.as_u16() == 404 => None,
                Err(error) => return Err(error.into()),
            };
            let is_new = registered_at != self.registered_at;
            self.registered_at = registered_at;
            Ok(is_new)
        });
        if is_known.await? {
            return Ok(());
        }
        Err(self.process.trouble(io::Error::other("it does not find the demo's server")))
    }
}

impl Session {
    fn is_over(&self) -> bool {
        SessionStatus::from_word(&self.shown.session.status).is_some_and(SessionStatus::is_ended)
    }

    const fn done(&self) -> u64 {
        self.shown.session.completed_frames
    }

    /// The range that a worker is at.
    fn range_of(&self, worker: &str) -> Option<Kill> {
        let is_at_it = |range: &&Coverage| {
            range.status == FrameTaskStatus::Running.as_str() && range.worker_id.as_deref() == Some(worker)
        };
        let range = self.shown.coverage.iter().find(is_at_it)?;
        let [first_frame, end_frame] = range.frame_range;
        Some(Kill {
            session: self.id.clone(),
            worker: worker.to_owned(),
            first_frame,
            end_frame,
            chunk: range.global_id_chunk_id?,
            pictures: 0,
        })
    }

    /// Cancels it, unless it ended just before.
    async fn cancel(&mut self, client: &Client) -> Result<(), Failure> {
        let path = ["api", "v1", "sessions", &self.id, "cancel"];
        self.is_cancelled |= cancelled(client.post(&path, &json!({}))).await?;
        Ok(())
    }
}

impl Kill {
    /// True if the worker had not made all pictures: then it cannot have submitted the range.
    const fn is_midway(&self) -> bool {
        self.pictures < self.end_frame - self.first_frame
    }
}

const WORKERS: [&str; 3] = ["GPU-01", "GPU-02", "GPU-03"];
const FRAMES: u64 = 600;
const FRAMES_PER_TASK: u64 = 25;
/// One for each range.
const STRIP_CELLS: usize = 24;
/// A range takes about a second, a session about ten.
const FRAMES_PER_SECOND: u32 = 24;

/// Everything below the output root.
#[derive(Debug, Default)]
struct Footage {
    /// Number of pictures in quarantine, by chunk.
    quarantined: BTreeMap<u64, u64>,
    /// The ids of all persons in all label files, quarantined or not, in order.
    persons: Vec<u64>,
    /// Label files that cannot be read.
    unreadable: Vec<String>,
}

/// A completed session.
#[derive(Debug, Default)]
struct Rendered {
    id: String,
    /// Fragments that were verified.
    fragments: u64,
    replays: Vec<Replay>,
    /// The frames that the surviving chunks have a picture of, in order.
    frames: Vec<u64>,
    /// Reasons why the manifest does not verify, and pictures that are not whole.
    faults: Vec<String>,
}

/// The members of `manifest.json` that are checked.
#[derive(Deserialize)]
struct Manifest {
    ranges: Vec<ManifestRange>,
    distributed: Distributed,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ManifestRange {
    global_id_chunk_id: u64,
}

#[derive(Deserialize)]
struct Distributed {
    replay: Vec<Replay>,
}

#[derive(Deserialize)]
struct Label {
    persons: Vec<Person>,
}

#[derive(Deserialize)]
struct Person {
    id: u64,
}

impl Footage {
    fn read(output: &Path) -> io::Result<Self> {
        let mut footage = Self::default();
        footage.read_labels(output)?;
        footage.persons.sort_unstable();
        for chunk in entries(&output.join("quarantine/dropped_chunks"))? {
            if let Some(number) = number_of(&chunk) {
                footage.quarantined.insert(number, count_pictures(&chunk));
            }
        }
        Ok(footage)
    }

    /// S13: no id was ever given to two persons, not even by workers that were killed.
    fn ids_used_once(&self) -> Result<String, String> {
        let doubled = self.persons.windows(2).find(|pair| pair[0] == pair[1]);
        match (self.unreadable.first(), doubled) {
            (Some(unreadable), _) => Err(format!("a label file cannot be read: {unreadable}")),
            (None, Some(pair)) => Err(format!("two persons have the id {}", pair[0])),
            (None, None) => Ok(format!(
                "{} persons in all label files, also quarantined ones: no id twice",
                self.persons.len()
            )),
        }
    }

    fn read_labels(&mut self, directory: &Path) -> io::Result<()> {
        let is_of_labels = directory.ends_with("labels");
        for path in entries(directory)? {
            if path.is_dir() {
                self.read_labels(&path)?;
            } else if is_of_labels && path.extension().is_some_and(|extension| extension == "json") {
                match serde_json::from_slice::<Label>(&fs::read(&path)?) {
                    Ok(label) => self.persons.extend(label.persons.iter().map(|person| person.id)),
                    Err(error) => self.unreadable.push(format!("{}: {error}", path.display())),
                }
            }
        }
        Ok(())
    }
}

impl Rendered {
    fn read(directory: &Path, id: &str) -> Self {
        let mut session = Self { id: id.to_owned(), ..Self::default() };
        for chunk in session.verify(&directory.join("meta")) {
            for picture in pictures(&directory.join(format!("chunks/{chunk}"))) {
                match (number_of(&picture), fs::read(&picture)) {
                    (Some(frame), Ok(bytes)) if is_whole(&bytes) => session.frames.push(frame),
                    _ => session.faults.push(format!("{} is no whole picture", picture.display())),
                }
            }
        }
        session.frames.sort_unstable();
        session
    }

    /// S14, S24: the reason why this is not one whole picture of each frame with a manifest that verifies.
    fn fault(&self, frames: u64) -> Option<String> {
        let id = &self.id;
        if let Some(fault) = self.faults.first() {
            return Some(format!("{id}: {fault}"));
        }
        let missing = (0..frames).find(|frame| self.frames.binary_search(frame).is_err());
        match missing {
            Some(frame) => Some(format!("{id} has no picture of frame {frame}")),
            None if self.frames.len() as u64 != frames => Some(format!("{id} has more pictures than frames")),
            None => None,
        }
    }

    fn has_replay(&self, chunk: u64, frames: Range<u64>) -> bool {
        self.replays.iter().any(|replay| {
            replay.retired_chunk_id == chunk && (replay.frame_range.start..replay.frame_range.end) == frames
        })
    }

    /// Verifies the manifest; returns the surviving chunks.
    fn verify(&mut self, meta: &Path) -> BTreeSet<u64> {
        match verify_directory(meta, None) {
            Ok(report) => {
                self.fragments = report.fragments;
                self.faults.extend(report.differences.iter().map(ToString::to_string));
                self.faults.extend((!report.is_fine()).then(|| "the manifest is not complete".to_owned()));
            }
            Err(error) => self.faults.push(error.to_string()),
        }
        let text = fs::read(meta.join(MANIFEST)).unwrap_or_default();
        match serde_json::from_slice::<Manifest>(&text) {
            Ok(manifest) => {
                self.replays = manifest.distributed.replay;
                manifest.ranges.iter().map(|range| range.global_id_chunk_id).collect()
            }
            Err(error) => {
                self.faults.push(error.to_string());
                BTreeSet::new()
            }
        }
    }
}

/// Number of pictures in the directory of a chunk.
fn count_pictures(chunk: &Path) -> u64 {
    pictures(chunk).len() as u64
}

fn pictures(chunk: &Path) -> Vec<PathBuf> {
    let mut pictures = entries(&chunk.join("frames")).unwrap_or_default();
    pictures.retain(|path| path.extension().is_some_and(|extension| extension == "png"));
    pictures
}

/// The entries of a directory; none if there is no such directory.
fn entries(directory: &Path) -> io::Result<Vec<PathBuf>> {
    match fs::read_dir(directory) {
        Ok(entries) => entries.map(|entry| entry.map(|entry| entry.path())).collect(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// The number that a file or a directory is named by.
fn number_of(path: &Path) -> Option<u64> {
    path.file_stem()?.to_str()?.parse().ok()
}

/// True for a PNG file that has its first and its last bytes.
fn is_whole(bytes: &[u8]) -> bool {
    bytes.starts_with(b"\x89PNG\r\n\x1a\n") && bytes.ends_with(b"IEND\xaeB`\x82")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(root: &Path, name: &str, content: &str) {
        let path = root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    /// S13, S15: ids are gathered from every label file; a half-written one is not a label file yet.
    #[test]
    fn labels_are_found_wherever_they_are() {
        let root = tempfile::tempdir().unwrap();
        put(root.path(), "session_demo-1/chunks/1/labels/0.json", r#"{"persons":[{"id":5},{"id":1}]}"#);
        put(root.path(), "session_demo-1/chunks/1/labels/1.json.part", r#"{"pers"#);
        put(root.path(), "quarantine/dropped_chunks/2/frames/0.png", "");
        let footage = Footage::read(root.path()).unwrap();
        assert_eq!((footage.persons.as_slice(), &footage.quarantined), (&[1, 5][..], &[(2, 1)].into()));
        assert!(footage.ids_used_once().is_ok());
        put(root.path(), "quarantine/dropped_chunks/2/labels/0.json", r#"{"persons":[{"id":5}]}"#);
        let doubled = Footage::read(root.path()).unwrap().ids_used_once();
        assert_eq!(doubled, Err("two persons have the id 5".to_owned()));
        put(root.path(), "quarantine/dropped_chunks/2/labels/1.json", "{}");
        assert!(Footage::read(root.path()).unwrap().ids_used_once().unwrap_err().contains("cannot be read"));
    }

    /// S21, S24: a session without a manifest or with a torn picture is not whole; a missing or doubled frame is found.
    #[test]
    fn a_session_that_is_not_whole_is_found() {
        let root = tempfile::tempdir().unwrap();
        assert!(Rendered::read(root.path(), "demo-1").fault(3).is_some());
        let manifest = r#"{"ranges":[{"frameRange":[0,3],"globalIdChunkId":4,"workerId":"W"}],
        "distributed":{"replay":[{"frameRange":[0,3],"retiredChunkId":1,"newChunkId":4}]}}"#;
        put(root.path(), "meta/manifest.json", manifest);
        put(root.path(), "chunks/4/frames/00000001.png", "\u{89}PNG");
        put(root.path(), "chunks/9/frames/00000002.png", "of no survivor");
        let mut torn = Rendered::read(root.path(), "demo-1");
        assert!(torn.has_replay(1, 0..3) && !torn.has_replay(4, 0..3) && !torn.has_replay(1, 0..2));
        assert!(torn.faults.last().unwrap().ends_with("is no whole picture"));
        torn.faults.clear();
        assert_eq!(torn.fault(3).unwrap(), "demo-1 has no picture of frame 0");
        torn.frames = vec![0, 1, 2];
        assert_eq!(torn.fault(3), None);
        torn.frames.push(2);
        assert_eq!(torn.fault(3).unwrap(), "demo-1 has more pictures than frames");
    }
}
