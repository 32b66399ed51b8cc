//! Ranges that are handed in (S5).
//!
//! A fragment is on disk before its completion is acknowledged, and no fragment stays there whose completion was refused.
//! So the engine is asked twice: first whether it would be taken, then, with the file written, to take it.

use super::{check_claim, refuse, trouble};
use crate::{
    output::{OutputError, OutputRoot, TaskFiles},
    simulation::{Simulation, Trouble},
};
use axum::{Extension, Json};
use muster_contract_simulation::{
    AssignedRange, CompleteRequest, CompleteResponse, Manifest, ReceivedCompletion, limit, phrase,
    read_completion,
};
use muster_coordinator::Refusal;
use muster_http::{HttpState, JsonBytes, PathText, Problem, Renderer};
use muster_model::{
    ChunkRecord, Completion, FrameRange, FrameRejection, FrameTaskId, FrameTaskRecord, Name, Rejection,
};
use muster_store::{ChunkFilter, Reader, StoreError, pages};
use std::sync::Arc;
use utoipa_axum::{router::OpenApiRouter, routes};

pub(super) fn routes() -> OpenApiRouter<HttpState> {
    OpenApiRouter::default().routes(routes!(complete))
}

/// Takes a range that a worker hands in; a repeat of what was taken changes nothing.
#[utoipa::path(
    post, path = "/api/v1/tasks/{id}/complete", operation_id = "complete_task", tag = "simulation workers",
    security(("worker" = []), ("worker_token" = [])),
    params(("id" = String, Path, description = "The task")),
    request_body = CompleteRequest,
    responses(
        (status = 200, description = "The range is done, now or before", body = CompleteResponse),
        (status = 404, description = "There is no such task"),
        (status = 409, description = "The worker does not hold the task any more, the attempt was completed with another content, or frames were dropped in a strict session"),
        (status = 410, description = "The worker was removed"),
    )
)]
async fn complete(
    caller: Renderer,
    Extension(simulation): Extension<Simulation>,
    id: PathText,
    JsonBytes { bytes, value }: JsonBytes,
) -> Result<Json<CompleteResponse>, Problem> {
    let task: FrameTaskId = id.id("task")?;
    check_claim(&caller, &value)?;
    let handed = read_completion(&value, &String::from_utf8_lossy(&bytes))?;
    // Begun, it is seen through, also when its caller goes away: the turn must not pass on while a file is being written.
    let seen_through = tokio::spawn(async move {
        let _turn = simulation.0.completing.lock(task.clone()).await;
        let body = simulation.0.bodies.get(&task.session).await.map_err(task_or_refusal)?;
        let output = body.output.clone();
        HandIn { simulation: &simulation, output, worker: caller.0, task, handed }.carry_out().await
    });
    seen_through.await.map_err(|error| Problem::internal(&error))?.map(Json)
}

/// One completion on its way.
struct HandIn<'a> {
    simulation: &'a Simulation,
    /// The directory of the session, relative to the output root.
    output: Box<str>,
    worker: Name,
    task: FrameTaskId,
    handed: ReceivedCompletion,
}

/// A completion as its fragment tells it, and the fragment's bytes where they are to be kept.
struct ReadCompletion {
    completion: Completion,
    fragment: Option<Arc<[u8]>>,
}

impl HandIn<'_> {
    async fn carry_out(&self) -> Result<CompleteResponse, Problem> {
        let found = match &self.handed.manifest {
            Manifest::Inline(text) => self.found(Arc::from(text.as_bytes()))?,
            Manifest::Path(path) => self.find(path).await?,
        };
        self.check_pose_files(found.completion.chunk).await?;
        let is_placed = match self.ask(&found.completion).await {
            Ok(accepted) if accepted.repeated => return Ok(accepted),
            Ok(_) => self.place(&found).await.map(|()| true)?,
            // A question alone has no consequences; that it came too late, for one, must be written down.
            Err(Refusal::Rejected(_)) => false,
            Err(other) => return Err(refuse(other)),
        };
        let asked = self.ask(&Completion { dry: false, ..found.completion.clone() }).await;
        if let (Err(Refusal::Rejected(_)), true) = (&asked, is_placed) {
            self.withdraw(found.completion.chunk).await;
        }
        asked.map_err(refuse)
    }

    /// Writes the fragment to where the merge finds it.
    async fn place(&self, found: &ReadCompletion) -> Result<(), Problem> {
        let fragment = found.fragment.clone();
        let fragment = fragment.ok_or_else(|| Problem::conflict("the fragment is not there any more"))?;
        let (worker, chunk) = (self.worker.clone(), found.completion.chunk);
        let placed = self.on_disk(chunk, move |root, task| root.place_fragment(task, &worker, &fragment));
        placed.await.map_err(|error| trouble(error, MANIFEST))
    }

    /// Does something to the files of an attempt, off the async threads.
    async fn on_disk<T: Send + 'static>(
        &self,
        chunk: u64,
        work: impl FnOnce(&OutputRoot, TaskFiles<'_>) -> Result<T, OutputError> + Send + 'static,
    ) -> Result<T, Trouble> {
        let output = self.output.clone();
        self.simulation.on_disk(move |root| work(root, TaskFiles { output: &output, chunk })).await
    }

    async fn ask(&self, completion: &Completion) -> Result<CompleteResponse, Refusal> {
        let reply = self.simulation.0.coordinator.ask(completion.clone()).await?;
        Ok(CompleteResponse::new(&self.task, &reply))
    }

    /// A fragment without its completion must not be merged. Where it cannot be moved, the log tells.
    async fn withdraw(&self, chunk: u64) {
        let worker = self.worker.clone();
        let withdrawn = self.on_disk(chunk, move |root, task| root.withdraw_fragment(task, &worker));
        if let Err(error) = withdrawn.await {
            tracing::error!(%error, task = %self.task, chunk, "a fragment that was not accepted could not be withdrawn");
        }
    }

    async fn check_pose_files(&self, chunk: u64) -> Result<(), Problem> {
        let files = self.handed.pose_files.clone();
        let checked = self.on_disk(chunk, move |root, task| {
            let mut files = files.iter().enumerate();
            Ok(files.find_map(|(n, file)| Some((n, root.check_file(task, file).err()?))))
        });
        match checked.await.map_err(|error| trouble(error, "poseFiles"))? {
            Some((n, error)) => Err(trouble(Trouble::Output(error), &format!("poseFiles[{n}]"))),
            None => Ok(()),
        }
    }

    fn found(&self, fragment: Arc<[u8]>) -> Result<ReadCompletion, Problem> {
        let completion = self.handed.with_fragment(&fragment, self.task.clone(), &self.worker)?;
        Ok(ReadCompletion { completion, fragment: Some(fragment) })
    }

    /// Looks for a fragment that came by path. Only the directory of an attempt that the worker holds is looked into; for
    /// any other the engine is asked without it, and says what that means.
    async fn find(&self, path: &str) -> Result<ReadCompletion, Problem> {
        let task = self.task.clone();
        let record = self.simulation.0.coordinator.read(move |reader| reader.frame_task(&task)).await;
        let record = record.map_err(refuse)?.ok_or_else(|| Problem::not_found("there is no such task"))?;
        let is_attempt = self.handed.attempt.is_none_or(|attempt| attempt == record.attempt);
        if record.worker != self.worker || !is_attempt {
            return self.late(record).await;
        }
        if record.digest == Some(self.handed.digest) {
            // Acknowledgement before; the file may be gone by now.
            return Ok(self.without_fragment(&record, record.ids.chunk));
        }
        let path = path.to_owned();
        let _place = self.simulation.0.reading.acquire().await;
        let read = self.on_disk(record.ids.chunk, move |root, task| {
            root.read_fragment(task, &path, limit::FRAGMENT_BYTES)
        });
        self.found(read.await.map_err(|error| trouble(error, BY_PATH))?.into())
    }

    /// The completion of an attempt that the worker does not hold any more, by the chunk it had.
    async fn late(&self, record: FrameTaskRecord) -> Result<ReadCompletion, Problem> {
        let (task, worker, attempt) = (self.task.clone(), self.worker.clone(), self.handed.attempt);
        let chunk = self.simulation.0.coordinator.read(move |reader| {
            had_chunk(reader, &task, |chunk_worker, chunk_attempt| {
                *chunk_worker == worker && attempt.is_none_or(|attempt| attempt == chunk_attempt)
            })
        });
        match chunk.await.map_err(refuse)? {
            Some(chunk) => Ok(self.without_fragment(&record, chunk)),
            None => Err(phrase(&Rejection::Frames(FrameRejection::NotHolder { holder: None }))),
        }
    }

    fn without_fragment(&self, record: &FrameTaskRecord, chunk: u64) -> ReadCompletion {
        let range = FrameRange { start: record.id.start, end: record.end };
        let assigned = AssignedRange { task: self.task.clone(), range, chunk };
        ReadCompletion { completion: self.handed.for_range(&self.worker, assigned), fragment: None }
    }
}

/// The last chunk of a task that somebody had.
fn had_chunk(
    reader: &dyn Reader,
    task: &FrameTaskId,
    is_theirs: impl Fn(&Name, u16) -> bool,
) -> Result<Option<u64>, StoreError> {
    let filter = ChunkFilter { state: None, session: Some(task.session.clone()) };
    let is_had = |chunk: &&ChunkRecord| chunk.task == *task && is_theirs(&chunk.worker, chunk.attempt);
    let mut had = None;
    for chunks in pages(PAGE_ITEMS, |page| reader.chunks(&filter, page)) {
        had = chunks?.iter().rfind(is_had).map(|chunk| chunk.ids.chunk).or(had);
    }
    Ok(had)
}

/// A task of a session that is not there is not there.
fn task_or_refusal(refusal: Refusal) -> Problem {
    match refusal {
        Refusal::Rejected(_) => Problem::not_found("there is no such task"),
        other => refuse(other),
    }
}

const PAGE_ITEMS: u32 = 1000;
const MANIFEST: &str = "manifestFragment";
const BY_PATH: &str = "manifestFragmentPath";
