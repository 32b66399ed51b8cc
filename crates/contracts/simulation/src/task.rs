//! Tasks on their way to a worker, by pull or by push, and the removal of a worker (S3, S6).

use crate::{
    JsonText, Order, ResponseError, heartbeat::text, response_fields::ResponseFields, schema, to_bytes,
};
use muster_model::{FrameHandout, FrameRange, FrameRejection, IdRange, Rejection};
use muster_problem::{Problem, WireMutant, planted};
use serde::{Deserialize, Serialize, Serializer};
use std::{
    path::{Component, Path},
    sync::Arc,
};
use utoipa::ToSchema;

/// One attempt at a range of frames (S3).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Task {
    /// The task's id; the same over all attempts.
    #[serde(rename = "taskId", serialize_with = "text")]
    #[schema(value_type = String, example = "night_run.00001200")]
    pub id: Arc<str>,
    /// Its session.
    #[serde(rename = "sessionId", serialize_with = "text")]
    #[schema(value_type = String)]
    pub session: Arc<str>,
    /// What to simulate, as the session was submitted. Only the renderer looks into it.
    pub scenario: JsonText,
    /// The session's cameras, where it has some.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false)]
    pub cameras: Option<JsonText>,
    /// The frames to make.
    #[serde(rename = "frameRange", serialize_with = "frame_range")]
    #[schema(schema_with = schema::range)]
    pub frames: FrameRange,
    /// The ids that this attempt may give to what it simulates.
    #[serde(rename = "globalIdChunk", serialize_with = "id_chunk")]
    #[schema(value_type = IdChunk)]
    pub ids: IdRange,
    /// The nth try.
    pub attempt: u16,
    /// The epoch it was given out in; workers refuse a task of an older one.
    pub epoch: u64,
    /// The directory of this attempt: absolute, without `..`. It exists.
    #[serde(rename = "outputDirectory", serialize_with = "text")]
    #[schema(value_type = String)]
    pub directory: Arc<str>,
    /// True if another attempt was made before.
    pub replay: bool,
}

/// The parts of a task that its handout lacks: the session's body and the directory on disk.
#[derive(Clone, Debug)]
pub struct TaskPlace {
    /// Scenario to simulate.
    pub scenario: JsonText,
    /// The session's cameras.
    pub cameras: Option<JsonText>,
    /// The directory of the attempt, absolute.
    pub directory: Arc<str>,
}

/// Ids that are given out once and never again (S12).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct IdChunk {
    /// Its number; counts up from 1.
    pub chunk_id: u64,
    /// The ids.
    #[schema(schema_with = schema::range)]
    pub range: [u64; 2],
}

/// The response to a pull (S3).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct TaskResponse {
    /// A task, or null where there is none for now.
    pub task: Option<Task>,
    /// Orders to follow first, as in the response to a heartbeat; absent where there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<Order>,
}

/// The response to a pull as a worker reads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PullReply {
    /// Nothing for now.
    Nothing,
    /// A task.
    Task(Box<Task>),
    /// Something that is not a task.
    Wrong {
        /// The task's id and attempt, where they can be read.
        task: Option<(Arc<str>, u16)>,
        /// The fault.
        why: Arc<str>,
    },
}

/// The response of a worker to a push or a removal (S3, S6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PushResponse {
    /// True if the worker accepts.
    pub ack: bool,
}

/// The message to a worker that it was removed (S6).
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RemovalNotice {
    /// Always true: a signed task that somebody recorded must not pass for a removal.
    pub removed: bool,
    /// The worker.
    pub worker_id: String,
}

/// The reason why something is not a task.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TaskError {
    /// A name is empty, long or holds what no name does.
    #[error("{field} is no name of 1 to {NAME_CHARS_MAX} visible characters")]
    Name {
        /// The field.
        field: &'static str,
    },
    /// A range is empty or reversed.
    #[error("{field} [{start}, {end}) is empty")]
    EmptyRange {
        /// The field.
        field: &'static str,
        /// Its first number.
        start: u64,
        /// The end.
        end: u64,
    },
    /// Frames beyond the end of any session.
    #[error("frameRange ends at {0}; a session has {FRAMES_MAX} frames at most")]
    TooManyFrames(u64),
    /// The directory could lie anywhere.
    #[error("outputDirectory {0:?} is not absolute, or leads through `..`")]
    Directory(Arc<str>),
    /// The directory is not where this worker may write.
    #[error("outputDirectory {0:?} is outside of this worker's --output-root")]
    OutsideRoot(Arc<str>),
}

impl IdChunk {
    /// Reads a further chunk of ids (S1).
    ///
    /// # Errors
    /// It is not a chunk, or an empty one.
    pub fn read(bytes: &[u8]) -> Result<IdRange, ResponseError> {
        let fields = ResponseFields::read(bytes)?;
        let ids = match fields.object("globalIdChunk")? {
            Some(chunk) => Self::fields(&chunk)?,
            None => Self::fields(&fields)?,
        };
        if ids.start < ids.end {
            return Ok(ids);
        }
        Err(ResponseError::Field { field: "range", why: format!("[{}, {}) is empty", ids.start, ids.end) })
    }

    fn fields(fields: &ResponseFields<'_>) -> Result<IdRange, ResponseError> {
        let (start, end) = fields.get("range")?;
        Ok(IdRange { chunk: fields.get("chunkId")?, start, end })
    }
}

impl From<IdRange> for IdChunk {
    fn from(ids: IdRange) -> Self {
        Self { chunk_id: ids.chunk, range: [ids.start, ids.end] }
    }
}

/// The response to a pull that was refused. A lost worker is told to register again, any other refusal is a problem.
///
/// # Errors
/// The problem.
pub fn phrase_pull(rejection: &Rejection) -> Result<TaskResponse, Problem> {
    match rejection {
        Rejection::Frames(FrameRejection::Lost) => {
            Ok(TaskResponse { task: None, commands: vec![Order::Reregister] })
        }
        other => Err(crate::phrase(other)),
    }
}

impl PullReply {
    /// Reads the response to a pull.
    ///
    /// # Errors
    /// It is not a response to a pull. A task that makes no sense is read as [`PullReply::Wrong`]: the server can be told.
    pub fn read(bytes: &[u8]) -> Result<Self, ResponseError> {
        let fields = ResponseFields::read(bytes)?;
        let Some(task) = fields.raw("task").filter(|task| *task != "null") else { return Ok(Self::Nothing) };
        match Task::read(task.as_bytes()) {
            Ok(task) => Ok(Self::Task(Box::new(task))),
            Err(error) => Ok(Self::Wrong { task: name_of(task), why: error.to_string().into() }),
        }
    }
}

impl RemovalNotice {
    /// The notice for a worker.
    #[must_use]
    pub fn new(worker: &str) -> Self {
        Self { worker_id: worker.to_owned(), removed: true }
    }

    /// Checks that a body is the notice for this worker.
    ///
    /// # Errors
    /// It is something else, or for another worker.
    pub fn check(bytes: &[u8], worker: &str) -> Result<(), ResponseError> {
        let fields = ResponseFields::read(bytes)?;
        if fields.get::<String>("workerId")? != worker {
            return Err(ResponseError::Field { field: "workerId", why: format!("is not {worker}") });
        }
        if !fields.get::<bool>("removed")? {
            return Err(ResponseError::Field { field: "removed", why: "is not true".to_owned() });
        }
        Ok(())
    }
}

impl Task {
    /// The task of a handout.
    #[must_use]
    pub fn new(handout: &FrameHandout, place: TaskPlace) -> Self {
        let too_long = u64::from(planted(WireMutant::FrameRangeOneTooLong));
        Self {
            id: handout.task.to_string().into(),
            session: handout.task.session.as_str().into(),
            scenario: place.scenario,
            cameras: place.cameras,
            frames: FrameRange { end: handout.range.end + too_long, ..handout.range },
            ids: handout.ids,
            attempt: handout.attempt,
            epoch: handout.epoch,
            directory: place.directory,
            replay: handout.replay,
        }
    }

    /// Reads a task and checks it.
    ///
    /// # Errors
    /// It is not a task; the error names the field.
    pub fn read(bytes: &[u8]) -> Result<Self, ResponseError> {
        let fields = ResponseFields::read(bytes)?;
        let chunk = fields.object("globalIdChunk")?;
        let chunk =
            chunk.ok_or(ResponseError::Field { field: "globalIdChunk", why: "is missing".to_owned() })?;
        let (start, end) = fields.get("frameRange")?;
        let raw = |field: &str| {
            fields.raw(field).map(JsonText::new).transpose().map_err(ResponseError::NotAnObject)
        };
        let task = Self {
            id: fields.get::<String>("taskId")?.into(),
            session: fields.get::<String>("sessionId")?.into(),
            scenario: raw("scenario")?.unwrap_or_else(JsonText::null),
            cameras: raw("cameras")?.filter(|cameras| cameras.as_str().starts_with('[')),
            frames: FrameRange { start, end },
            ids: IdChunk::fields(&chunk)?,
            attempt: fields.get("attempt")?,
            epoch: fields.get("epoch")?,
            directory: fields.get::<String>("outputDirectory")?.into(),
            replay: fields.find("replay")?.unwrap_or_default(),
        };
        task.check()?;
        Ok(task)
    }

    /// The body of a push: the same bytes that are signed.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        to_bytes(self)
    }

    /// True if another is the same assignment.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        self.id == other.id && self.attempt == other.attempt && self.ids.chunk == other.ids.chunk
    }

    /// Checks the fields, without looking at the disk.
    ///
    /// # Errors
    /// A field makes no sense; the error names it.
    pub fn check(&self) -> Result<(), TaskError> {
        check_name("taskId", &self.id)?;
        check_name("sessionId", &self.session)?;
        check_range("frameRange", self.frames.start, self.frames.end)?;
        check_range("globalIdChunk.range", self.ids.start, self.ids.end)?;
        if self.frames.end > FRAMES_MAX {
            return Err(TaskError::TooManyFrames(self.frames.end));
        }
        if !is_direct(Path::new(&*self.directory)) {
            return Err(TaskError::Directory(self.directory.clone()));
        }
        Ok(())
    }

    /// Checks that the files would go below a directory, as far as names tell.
    ///
    /// # Errors
    /// They would not.
    pub fn check_below(&self, root: Option<&Path>) -> Result<(), TaskError> {
        match root {
            Some(root) if !Path::new(&*self.directory).starts_with(root) => {
                Err(TaskError::OutsideRoot(self.directory.clone()))
            }
            _ => Ok(()),
        }
    }
}

fn check_name(field: &'static str, name: &str) -> Result<(), TaskError> {
    let is_name =
        (1..=NAME_CHARS_MAX).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_graphic());
    if is_name { Ok(()) } else { Err(TaskError::Name { field }) }
}

const fn check_range(field: &'static str, start: u64, end: u64) -> Result<(), TaskError> {
    if start < end { Ok(()) } else { Err(TaskError::EmptyRange { field, start, end }) }
}

/// The id and attempt of something that is not a task, where they can be read.
fn name_of(task: &str) -> Option<(Arc<str>, u16)> {
    let fields = ResponseFields::read(task.as_bytes()).ok()?;
    let id: String = fields.get("taskId").ok()?;
    Some((id.into(), fields.get("attempt").ok()?))
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference to the field")]
fn frame_range<S: Serializer>(range: &FrameRange, to: S) -> Result<S::Ok, S::Error> {
    [range.start, range.end].serialize(to)
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference to the field")]
fn id_chunk<S: Serializer>(ids: &IdRange, to: S) -> Result<S::Ok, S::Error> {
    IdChunk::from(*ids).serialize(to)
}

/// True if a path begins at the root and only goes down.
fn is_direct(path: &Path) -> bool {
    let goes_down = |part: Component<'_>| matches!(part, Component::RootDir | Component::Normal(_));
    path.is_absolute()
        && path.components().all(goes_down)
        && !path.as_os_str().as_encoded_bytes().contains(&0)
}

const NAME_CHARS_MAX: usize = 256;
/// Far more than the contract's 10,000,000, and far less than what numbers can hold.
const FRAMES_MAX: u64 = 1 << 40;

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A task that is in order.
    pub(crate) fn example() -> Task {
        Task {
            id: "demo.00000000".into(),
            session: "demo".into(),
            scenario: JsonText::new("{}").unwrap(),
            cameras: None,
            frames: FrameRange { start: 0, end: 10 },
            ids: IdRange { chunk: 5, start: 4_000_000, end: 5_000_000 },
            attempt: 1,
            epoch: 1,
            directory: "/out/session_demo/chunks/5".into(),
            replay: false,
        }
    }

    /// S27: a task that could write anywhere, or of which no sense can be made, is refused by name.
    #[test]
    fn nonsense_is_refused_by_name() {
        assert_eq!(example().check(), Ok(()));
        for directory in ["chunks/5", "", "/out/../etc", "/out/chunks/..", "/out/\0"] {
            let task = Task { directory: directory.into(), ..example() };
            assert_eq!(task.check(), Err(TaskError::Directory(directory.into())), "{directory:?}");
        }
        let wrong = |task: Task, word: &str| {
            let error = task.check().unwrap_err().to_string();
            assert!(error.starts_with(word), "{error}");
        };
        wrong(Task { id: "".into(), ..example() }, "taskId");
        wrong(Task { session: "a b".into(), ..example() }, "sessionId");
        wrong(Task { frames: FrameRange { start: 3, end: 3 }, ..example() }, "frameRange");
        wrong(Task { frames: FrameRange { start: 0, end: u64::MAX }, ..example() }, "frameRange");
        wrong(Task { ids: IdRange { chunk: 1, start: 9, end: 2 }, ..example() }, "globalIdChunk");
    }

    /// S27: `--output-root` keeps a worker below a directory.
    #[test]
    fn a_root_is_a_fence() {
        let below = |root: &str| example().check_below(Some(Path::new(root))).is_ok();
        assert!(below("/out") && below("/out/session_demo/") && below("/"));
        assert!(!below("/ou") && !below("/elsewhere"));
        assert!(example().check_below(None).is_ok());
    }

    const TASK: &str = r#"{"taskId":"demo.00000100","sessionId":"demo","scenario":{"fps": 25, "x":1.50},
        "cameras":["left", {"id": 2}],"frameRange":[100,200],"globalIdChunk":{"chunkId":2,"range":[1000000,2000000]},"attempt":1,"epoch":3,
        "outputDirectory":"/out/session_demo/chunks/2","replay":true,"later":[1]}"#;

    /// S3: a task as the contract has it; fields of a later version do no harm, the scenario stays as it was written.
    #[test]
    fn a_task_is_read() {
        let task = Task::read(TASK.as_bytes()).unwrap();
        assert_eq!(task.scenario.as_str(), r#"{"fps": 25, "x":1.50}"#);
        assert_eq!(task.cameras.as_ref().map(JsonText::as_str), Some(r#"["left", {"id": 2}]"#));
        assert_eq!(task.frames, FrameRange { start: 100, end: 200 });
        assert_eq!(task.ids, IdRange { chunk: 2, start: 1_000_000, end: 2_000_000 });
        assert_eq!((task.attempt, task.epoch, task.replay), (1, 3, true));
    }

    /// S3: whatever is wrong with a task is named, and a master that gave it can be told.
    #[test]
    fn what_is_wrong_with_a_task_is_named() {
        for (field, right, wrong) in [
            ("taskId", "\"demo.00000100\"", "7"),
            ("taskId", "\"taskId\"", "\"task\""),
            ("frameRange", "[100,200]", "[100,200,300]"),
            ("frameRange", "[100,200]", "[-1,200]"),
            ("globalIdChunk", "{\"chunkId\":2,\"range\":[1000000,2000000]}", "[1]"),
            ("chunkId", "\"chunkId\":2", "\"chunk\":2"),
            ("attempt", "\"attempt\":1", "\"attempt\":1.5"),
            ("epoch", "\"epoch\":3", "\"epoch\":null"),
            ("outputDirectory", "\"/out", "\"out"),
            ("replay", "\"replay\":true", "\"replay\":\"yes\""),
        ] {
            let text = TASK.replacen(right, wrong, 1);
            let error = Task::read(text.as_bytes()).unwrap_err().to_string();
            assert!(error.starts_with(field), "{error}");
        }
        let text = TASK.replace("[100,200]", "[200,100]");
        let PullReply::Wrong { task, why } =
            PullReply::read(format!("{{\"task\":{text}}}").as_bytes()).unwrap()
        else {
            panic!("that is no task")
        };
        assert_eq!(task, Some(("demo.00000100".into(), 1)));
        assert_eq!(&*why, "frameRange [200, 100) is empty");
    }

    /// S3: a pull brings a task or nothing.
    #[test]
    fn a_pull_is_read() {
        assert_eq!(PullReply::read(br#"{"task":null}"#).unwrap(), PullReply::Nothing);
        assert_eq!(PullReply::read(b"{}").unwrap(), PullReply::Nothing);
        let task = format!("{{\"task\":{TASK}}}");
        assert!(matches!(PullReply::read(task.as_bytes()).unwrap(), PullReply::Task(_)));
        assert!(
            PullReply::read(b"<html>").is_err()
                && PullReply::read(b"[]").is_err()
                && PullReply::read(&[0xff]).is_err()
        );
    }

    /// S3, S19: a task is read as it was written, whether by the server or by a worker.
    #[test]
    fn a_task_is_written_and_read() {
        let task = Task { cameras: Some(JsonText::new(r#"[{"id": 1}]"#).unwrap()), ..example() };
        assert_eq!(Task::read(&task.to_bytes()).unwrap(), task);
        let expected = serde_json::json!({"taskId": "demo.00000000", "sessionId": "demo", "scenario": {},
            "cameras": [{"id": 1}], "frameRange": [0, 10],
            "globalIdChunk": {"chunkId": 5, "range": [4_000_000, 5_000_000]}, "attempt": 1, "epoch": 1,
            "outputDirectory": "/out/session_demo/chunks/5", "replay": false});
        assert_eq!(serde_json::from_slice::<serde_json::Value>(&task.to_bytes()).unwrap(), expected);
        let response = TaskResponse { task: Some(task.clone()), commands: Vec::new() };
        assert_eq!(PullReply::read(&to_bytes(&response)).unwrap(), PullReply::Task(Box::new(task)));
    }

    /// S3, S8: a lost worker that asks for work is told to register again; a removed one is refused (S6).
    #[test]
    fn a_lost_worker_is_told_when_it_pulls() {
        let lost = phrase_pull(&Rejection::Frames(FrameRejection::Lost)).unwrap();
        assert_eq!(to_bytes(&lost), br#"{"task":null,"commands":["reregister"]}"#);
        let removed = phrase_pull(&Rejection::Frames(FrameRejection::Removed)).unwrap_err();
        assert_eq!(removed.status(), 410);
    }

    /// S6: a removal is for one worker, and is not a task.
    #[test]
    fn a_removal_names_its_worker() {
        let notice = to_bytes(&RemovalNotice::new("w1"));
        assert!(RemovalNotice::check(&notice, "w1").is_ok());
        assert!(RemovalNotice::check(&notice, "w2").is_err());
        assert!(RemovalNotice::check(&example().to_bytes(), "w1").is_err());
    }

    /// S1: further ids, whether named or wrapped.
    #[test]
    fn further_ids_are_read() {
        let ids = IdRange { chunk: 9, start: 5, end: 8 };
        assert_eq!(IdChunk::read(br#"{"chunkId":9,"range":[5,8]}"#).unwrap(), ids);
        assert_eq!(IdChunk::read(br#"{"globalIdChunk":{"chunkId":9,"range":[5,8]}}"#).unwrap(), ids);
        assert!(IdChunk::read(br#"{"chunkId":9,"range":[8,8]}"#).is_err());
    }
}
