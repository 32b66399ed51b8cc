//! The rows of a checkpoint, read back: each the opposite of its writer. Each value is checked by itself.

use muster_contract_simulation::{ChunkStateWord, SessionStatusWord, limit, read_session};
use muster_http::{Fields, Item, Problem};
use muster_manifest::is_worker_id;
use muster_model::{
    ChunkRecord, ChunkState, Digest, EntryId, FrameRange, FrameTaskId, FrameTaskRecord, FrameTaskStatus,
    IdRange, Name, QuarantineRecord, Removal, RendererRecord, RendererState, ReplayRecord, SessionId,
    SessionRecord, SessionStatus, Timestamp,
};
use serde_json::Value;
use std::ops::RangeInclusive;

/// A part of a session's frames: a range that was cut, or a stretch that was not yet.
pub(super) struct Part {
    pub(super) id: FrameTaskId,
    pub(super) range: FrameRange,
    pub(super) cut: Option<FrameTaskRecord>,
}

/// A worker. What it last said of itself is for people only.
pub(super) fn worker_row(item: &Item<'_>) -> Result<RendererRecord, Problem> {
    let fields = item.fields()?;
    fields.optional("currentTask").map(|item| task_id(&item)).transpose()?;
    fields.optional("frameRange").map(|item| pair(&item, 0..=limit::FRAMES)).transpose()?;
    fields.opt_non_negative("queueRatio")?;
    fields.opt_integer_in("lastFrame", 0..=i64::MAX)?;
    let slots = fields.integer_in("slots", 1..=limit::SLOTS)?;
    let state = worker_state(&fields)?;
    Ok(RendererRecord {
        id: worker_id(&fields.required("workerId")?)?,
        state,
        state_since: moment(&fields, "stateSince")?,
        token_hash: hash(&fields.required("tokenHash")?)?,
        endpoint: opt_endpoint(&fields, "endpoint")?,
        slots: u32::try_from(slots).expect("checked to be small"),
        failures: list(&fields, "failures", Item::timestamp)?,
        losses: opt_list(&fields, "losses", Item::timestamp)?,
        last_completed: fields.opt_timestamp("lastCompletedAt")?,
        removal: removal(&fields)?.filter(|_| state == RendererState::Removed),
        removed_from: opt_list(&fields, "removedFrom", session_id)?,
        registered_at: moment(&fields, "registeredAt")?,
        last_heartbeat: fields.opt_timestamp("lastHeartbeat")?,
        description: opt_object(&fields, "registration")?,
    })
}

/// A session; `seq` is its age among those here. Its body must say what its fields say.
pub(super) fn session_row(item: &Item<'_>, seq: u64) -> Result<SessionRecord, Problem> {
    let fields = item.fields()?;
    let status = fields.choice("status", &SessionStatusWord::ALL)?;
    let status = SessionStatus::from_word(status).expect("it is one of the words");
    let record = SessionRecord {
        id: session_of(&fields, "sessionId")?,
        seq,
        status,
        total_frames: whole(&fields, "totalFrames", 1..=limit::FRAMES)?,
        frames_per_task: whole(&fields, "framesPerTask", 1..=limit::FRAMES)?,
        strict: fields.choice("qualityMode", &["strict", "relaxed"])? == "strict",
        output: directory(&fields, "outputDirectory")?,
        digest: digest(&fields.required("digest")?)?,
        completed_frames: whole(&fields, "completedFrames", 0..=limit::FRAMES)?,
        failed_frames: opt_whole(&fields, "failedFrames", limit::FRAMES)?,
        open: !status.is_ended(),
        created_at: moment(&fields, "createdAt")?,
        ended_at: fields.opt_timestamp("endedAt")?,
        error: opt_text(&fields, "error")?,
        body: Some(object(&fields.required("body")?)?.0.into()),
    };
    if record.ended_at.is_some() == record.open {
        return Err(fields.refuse("endedAt", "must be told exactly when the session has ended"));
    }
    check_body(&fields, &record)?;
    Ok(record)
}

/// A part of a session's frames.
pub(super) fn part_row(item: &Item<'_>) -> Result<Part, Problem> {
    let fields = item.fields()?;
    let range = frames(&fields, "frameRange")?;
    let id = FrameTaskId { session: session_of(&fields, "sessionId")?, start: range.start };
    if task_id(&fields.required("taskId")?)? != id {
        return Err(fields.refuse("taskId", &format!("must be {id}, as sessionId and frameRange say")));
    }
    let status = task_status(&fields)?;
    let Some(ids) = fields.optional("globalIdChunk") else {
        if status != FrameTaskStatus::Pending || fields.integer_in("attempt", 0..=i64::MAX)? != 0 {
            return Err(fields.refuse("globalIdChunk", "is missing: it was given out"));
        }
        return Ok(Part { id, range, cut: None });
    };
    let record = FrameTaskRecord {
        end: range.end,
        status,
        attempt: small(&fields, "attempt", 1)?,
        failures: small(&fields, "failures", 0)?,
        losses: opt_small(&fields, "losses")?,
        losers: list(&fields, "losers", worker_id)?,
        worker: worker_of(&fields)?,
        ids: id_range(&ids.fields()?)?,
        created_at: moment(&fields, "createdAt")?,
        granted_at: moment(&fields, "grantedAt")?,
        confirmed_at: fields.opt_timestamp("confirmedAt")?,
        ended_at: fields.opt_timestamp("endedAt")?,
        dropped: whole(&fields, "droppedFrames", 0..=limit::WHOLE)?,
        digest: fields.optional("digest").map(|item| digest(&item)).transpose()?,
        error: opt_text(&fields, "error")?,
        result: opt_object(&fields, "result")?,
        id: id.clone(),
    };
    check_status(&fields, &record)?;
    Ok(Part { id, range, cut: Some(record) })
}

/// Granted ids.
pub(super) fn chunk_row(item: &Item<'_>) -> Result<ChunkRecord, Problem> {
    let fields = item.fields()?;
    let state = fields.choice("state", &ChunkStateWord::ALL)?;
    Ok(ChunkRecord {
        ids: id_range(&fields)?,
        task: task_id(&fields.required("taskId")?)?,
        worker: worker_of(&fields)?,
        attempt: small(&fields, "attempt", 1)?,
        state: ChunkState::from_word(state).expect("it is one of the words"),
        reason: opt_text(&fields, "reason")?,
        at: moment(&fields, "at")?,
    })
}

/// A range that was given out anew.
pub(super) fn replay_row(item: &Item<'_>) -> Result<ReplayRecord, Problem> {
    let fields = item.fields()?;
    Ok(ReplayRecord {
        session: session_of(&fields, "sessionId")?,
        range: frames(&fields, "frameRange")?,
        retired: whole(&fields, "retiredChunkId", 1..=i64::MAX)?,
        new: whole(&fields, "newChunkId", 1..=i64::MAX)?,
        at: moment(&fields, "at")?,
    })
}

/// An entry of the quarantine.
pub(super) fn entry_row(item: &Item<'_>) -> Result<QuarantineRecord, Problem> {
    let fields = item.fields()?;
    let id: Result<EntryId, _> = fields.text("id", 2 * limit::ID_CHARS)?.parse();
    let id = id.map_err(|_| fields.refuse("id", "must be chunk-NUMBER or worker-WORKER.SESSION"))?;
    let (session, worker) = (session_of(&fields, "sessionId")?, worker_of(&fields)?);
    if matches!(&id, EntryId::Worker(of, during) if (of, during) != (&worker, &session)) {
        return Err(fields.refuse("id", "must name its workerId and its sessionId"));
    }
    Ok(QuarantineRecord {
        id,
        session,
        output: directory(&fields, "outputDirectory")?,
        worker,
        moved: fields.boolean("moved")?,
        files: whole(&fields, "files", 0..=i64::MAX)?,
        confirmed: opt_text(&fields, "confirmed")?,
        at: moment(&fields, "at")?,
    })
}

fn worker_of(fields: &Fields<'_>) -> Result<Name, Problem> {
    worker_id(&fields.required("workerId")?)
}

/// A worker that is shown as zombie was removed.
fn worker_state(fields: &Fields<'_>) -> Result<RendererState, Problem> {
    let word = fields.text("state", limit::STATUS_CHARS)?;
    let state = RendererState::from_word(word);
    let state = state.or((word == "zombie").then_some(RendererState::Removed));
    state.ok_or_else(|| fields.refuse("state", "must be a state of a worker, or zombie"))
}

/// Checkpoints of version 1.0 do not have it: whoever was removed knows it.
fn removal(fields: &Fields<'_>) -> Result<Option<Removal>, Problem> {
    let words = Removal::ALL.map(Removal::as_str);
    let word = fields.opt_choice("removal", &words)?;
    Ok(Some(word.map_or(Removal::Known, |word| Removal::from_word(word).expect("it is one of the words"))))
}

fn task_status(fields: &Fields<'_>) -> Result<FrameTaskStatus, Problem> {
    let word = fields.choice("status", &TASK_WORDS)?;
    let status = FrameTaskStatus::from_word(word);
    Ok(status.expect("it is one of the words"))
}

/// Checks that the fields of a range go with its status.
fn check_status(fields: &Fields<'_>, record: &FrameTaskRecord) -> Result<(), Problem> {
    let done = record.status == FrameTaskStatus::Completed;
    let has_failed = record.status == FrameTaskStatus::Failed;
    if record.ended_at.is_some() != (done || has_failed) {
        return Err(fields.refuse("endedAt", "must be told exactly when the task is completed or failed"));
    }
    // A failed range has one if the manifest skips it, and none if it was given up.
    if record.digest.is_some() != done && !has_failed {
        return Err(fields.refuse("digest", "must be told exactly when the task is completed"));
    }
    if record.result.is_some() && !done {
        return Err(fields.refuse("result", "must be null until the task is completed"));
    }
    match (record.status, record.confirmed_at) {
        (FrameTaskStatus::Running, None) => {
            Err(fields.refuse("confirmedAt", "must be told when the task is running"))
        }
        (FrameTaskStatus::Assigned, Some(_)) => {
            Err(fields.refuse("confirmedAt", "must be null until the task is running"))
        }
        _ if record.failures > record.attempt => {
            Err(fields.refuse("failures", "must not be more than the attempts"))
        }
        _ if record.losses > record.attempt => {
            Err(fields.refuse("losses", "must not be more than the attempts"))
        }
        _ => Ok(()),
    }
}

fn check_body(fields: &Fields<'_>, record: &SessionRecord) -> Result<(), Problem> {
    let (text, body) = object(&fields.required("body")?)?;
    let said = read_session(&body, text);
    let said =
        said.map_err(|problem| fields.refuse("body", &format!("is no session: {}", problem.detail())))?;
    for (key, is_same) in [
        ("sessionId", said.session == record.id),
        ("totalFrames", said.total_frames == record.total_frames),
        ("framesPerTask", said.frames_per_task == record.frames_per_task),
        ("qualityMode", said.strict == record.strict),
        ("outputDirectory", said.output == record.output),
        ("digest", said.digest == record.digest),
    ] {
        if !is_same {
            return Err(fields.refuse(key, "is not what the session's body says"));
        }
    }
    Ok(())
}

/// A whole number within bounds.
pub(super) fn whole(fields: &Fields<'_>, key: &str, bounds: RangeInclusive<i64>) -> Result<u64, Problem> {
    fields.integer_in(key, bounds).map(i64::unsigned_abs)
}

/// A small whole number from `least` on.
fn small(fields: &Fields<'_>, key: &str, least: i64) -> Result<u16, Problem> {
    let number = fields.integer_in(key, least..=i64::from(u16::MAX))?;
    Ok(u16::try_from(number).expect("checked to be small"))
}

/// A whole number up to `most`; 0 where it is missing.
fn opt_whole(fields: &Fields<'_>, key: &str, most: i64) -> Result<u64, Problem> {
    Ok(fields.opt_integer_in(key, 0..=most)?.map_or(0, i64::unsigned_abs))
}

/// A small whole number; 0 where it is missing.
fn opt_small(fields: &Fields<'_>, key: &str) -> Result<u16, Problem> {
    let number = opt_whole(fields, key, i64::from(u16::MAX))?;
    Ok(u16::try_from(number).expect("checked to be small"))
}

/// A moment that must be told.
pub(super) fn moment(fields: &Fields<'_>, key: &str) -> Result<Timestamp, Problem> {
    fields.required(key)?.timestamp()
}

/// A list that must be there.
pub(super) fn list<'a, T>(
    fields: &Fields<'a>,
    key: &str,
    read: impl Fn(&Item<'a>) -> Result<T, Problem>,
) -> Result<Vec<T>, Problem> {
    fields.items(key, LIST_MAX)?.iter().map(read).collect()
}

/// A list that may be missing.
fn opt_list<'a, T>(
    fields: &Fields<'a>,
    key: &str,
    read: impl Fn(&Item<'a>) -> Result<T, Problem>,
) -> Result<Vec<T>, Problem> {
    fields.opt_items(key, LIST_MAX)?.unwrap_or_default().iter().map(read).collect()
}

/// A text that is kept as it is.
fn opt_text(fields: &Fields<'_>, key: &str) -> Result<Option<Box<str>>, Problem> {
    Ok(fields.opt_text(key, TEXT_CHARS)?.map(Into::into))
}

/// `[start, end]`, half-open and not empty.
fn pair(item: &Item<'_>, bounds: RangeInclusive<i64>) -> Result<(u64, u64), Problem> {
    let [start, end] = &item.items(2)?[..] else { return Err(item.refuse("must be [start, end]")) };
    let number = |item: &Item<'_>| item.integer_in(bounds.clone()).map(i64::unsigned_abs);
    let (start, end) = (number(start)?, number(end)?);
    if start < end { Ok((start, end)) } else { Err(item.refuse("must begin before it ends")) }
}

/// Frames of a session.
fn frames(fields: &Fields<'_>, key: &str) -> Result<FrameRange, Problem> {
    let (start, end) = pair(&fields.required(key)?, 0..=limit::FRAMES)?;
    Ok(FrameRange { start, end })
}

/// `chunkId` and `range` of granted ids.
fn id_range(fields: &Fields<'_>) -> Result<IdRange, Problem> {
    let (start, end) = pair(&fields.required("range")?, 1..=i64::MAX)?;
    Ok(IdRange { chunk: whole(fields, "chunkId", 1..=i64::MAX)?, start, end })
}

/// The name of a worker.
fn worker_id(item: &Item<'_>) -> Result<Name, Problem> {
    let name = item.name()?;
    if is_worker_id(name.as_str()) {
        Ok(name)
    } else {
        Err(item.refuse("must be what a worker may be called"))
    }
}

/// The id of a session.
fn session_of(fields: &Fields<'_>, key: &str) -> Result<SessionId, Problem> {
    session_id(&fields.required(key)?)
}

/// The id of a session, in a list.
fn session_id(item: &Item<'_>) -> Result<SessionId, Problem> {
    let id = SessionId::new(item.text(limit::ID_CHARS)?);
    id.map_err(|_| item.refuse("must be what a session may be called"))
}

/// The id of a task.
fn task_id(item: &Item<'_>) -> Result<FrameTaskId, Problem> {
    let id = item.text(limit::ID_CHARS)?.parse();
    id.map_err(|_| item.refuse("must be a session's id, a dot and eight digits"))
}

/// A directory below the output root.
fn directory(fields: &Fields<'_>, key: &str) -> Result<Box<str>, Problem> {
    let text = fields.text(key, limit::PATH_CHARS)?;
    match crate::output::session_way(text) {
        Ok(_) => Ok(text.into()),
        Err(error) => Err(fields.refuse(key, &format!("must be a session's directory: {error}"))),
    }
}

/// SHA-256 in lower-case hex.
fn hash(item: &Item<'_>) -> Result<[u8; 32], Problem> {
    let text = item.text(64)?;
    let hash: Option<Vec<u8>> =
        lower_hex(text, 64).map(|text| text.as_bytes().chunks_exact(2).filter_map(byte).collect());
    let hash = hash.and_then(|bytes| bytes.try_into().ok());
    hash.ok_or_else(|| item.refuse("must be 64 hex digits in lower case"))
}

/// The first half of a SHA-256 in lower-case hex.
fn digest(item: &Item<'_>) -> Result<Digest, Problem> {
    let digest = lower_hex(item.text(32)?, 32).and_then(|text| u128::from_str_radix(text, 16).ok());
    digest.map(Digest).ok_or_else(|| item.refuse("must be 32 hex digits in lower case"))
}

/// A text that holds a JSON object, and the object.
fn object<'a>(item: &Item<'a>) -> Result<(&'a str, Value), Problem> {
    let text = item.text(OBJECT_CHARS)?;
    let object = serde_json::from_str(text).ok().filter(Value::is_object);
    Ok((text, object.ok_or_else(|| item.refuse("must be the text of a JSON object"))?))
}

/// A text that holds a JSON object, if any.
fn opt_object(fields: &Fields<'_>, key: &str) -> Result<Option<Box<str>>, Problem> {
    fields.optional(key).map(|item| object(&item).map(|(text, _)| text.into())).transpose()
}

/// The address that tasks are pushed to.
fn opt_endpoint(fields: &Fields<'_>, key: &str) -> Result<Option<Box<str>>, Problem> {
    let Some(text) = fields.opt_text(key, limit::ENDPOINT_CHARS)? else { return Ok(None) };
    let url = reqwest::Url::parse(text).ok();
    let is_url = url.is_some_and(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
    if is_url { Ok(Some(text.into())) } else { Err(fields.refuse(key, "must be an http or https URL")) }
}

fn lower_hex(text: &str, len: usize) -> Option<&str> {
    let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    (text.len() == len && text.bytes().all(is_digit)).then_some(text)
}

fn byte(two: &[u8]) -> Option<u8> {
    std::str::from_utf8(two).ok().and_then(|two| u8::from_str_radix(two, 16).ok())
}

/// A range that ended with its session is not in a checkpoint.
const TASK_WORDS: [&str; 6] = ["pending", "assigned", "running", "completed", "lost", "failed"];

/// More than fits a document of the largest size.
const LIST_MAX: usize = 100_000_000;
const TEXT_CHARS: usize = 64 * 1024;
const OBJECT_CHARS: usize = 64 << 20;
