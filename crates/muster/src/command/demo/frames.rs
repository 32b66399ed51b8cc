//! Contract S in the demo: three simulation workers, a session of frames for them, and one worker that is killed at it.

mod footage;

use super::{
    process::{Orders, Process, arguments},
    server::Server,
    show::{RENDERER_KILLED, Show, grouped},
    summary::{Contract, Finding},
    tables::Tables,
};
use crate::{
    client::{Client, ClientError},
    command::session::strip,
    failure::Failure,
};
use footage::{Footage, Rendered, count_pictures};
use serde_json::{Value, json};
use std::{io, net::SocketAddr, path::PathBuf, time::Duration};

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
    shown: Value,
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
        let session = json!({
            "sessionId": id,
            "totalFrames": FRAMES,
            "framesPerTask": FRAMES_PER_TASK,
            "scenario": {"name": "people in a street", "fps": 30},
            "cameras": ["front"],
            "qualityMode": "strict",
        });
        let shown = self.client.post(&["api", "v1", "sessions"], &session).await?;
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
        for _ in 0..LOOKS_MAX {
            self.is_tidy = self.tables.count("SELECT count(*) FROM sim_quarantine WHERE moved = 0", [])? == 0;
            if self.is_tidy {
                break;
            }
            tokio::time::sleep(BETWEEN_LOOKS).await;
        }
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
        for _ in 0..LOOKS_MAX {
            self.process.tend().await?;
            let registered_at = match client.get(&["api", "v1", "workers", self.id], &[]).await {
                Ok(worker) => worker["registeredAt"].as_i64(),
                Err(ClientError::Refused { status, .. }) if status.as_u16() == 404 => None,
                Err(error) => return Err(error.into()),
            };
            if registered_at != self.registered_at {
                self.registered_at = registered_at;
                return Ok(());
            }
            tokio::time::sleep(BETWEEN_LOOKS).await;
        }
        Err(self.process.trouble(io::Error::other("it does not find the demo's server")))
    }
}

impl Session {
    fn is_over(&self) -> bool {
        matches!(self.shown["status"].as_str(), Some("completed" | "failed" | "cancelled"))
    }

    fn done(&self) -> u64 {
        self.shown["completedFrames"].as_u64().unwrap_or(0)
    }

    /// The range that a worker is at.
    fn range_of(&self, worker: &str) -> Option<Kill> {
        let mut ranges = self.shown["coverage"].as_array()?.iter();
        let range = ranges.find(|range| range["status"] == "running" && range["workerId"] == worker)?;
        Some(Kill {
            session: self.id.clone(),
            worker: worker.to_owned(),
            first_frame: range["frameRange"][0].as_u64()?,
            end_frame: range["frameRange"][1].as_u64()?,
            chunk: range["globalIdChunkId"].as_u64()?,
            pictures: 0,
        })
    }

    /// Cancels it, unless it ended just before.
    async fn cancel(&mut self, client: &Client) -> Result<(), Failure> {
        match client.post(&["api", "v1", "sessions", &self.id, "cancel"], &json!({})).await {
            Ok(_) => self.is_cancelled = true,
            Err(ClientError::Refused { status, .. }) if status.as_u16() == 409 => {}
            Err(error) => return Err(error.into()),
        }
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
const BETWEEN_LOOKS: Duration = Duration::from_millis(20);
/// Twenty seconds.
const LOOKS_MAX: usize = 1000;
