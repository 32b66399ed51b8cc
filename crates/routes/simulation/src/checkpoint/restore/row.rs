//! The rows of a checkpoint, read back: each the opposite of its writer.

use super::field;
use muster_contract_simulation::{ChunkStateWord, SessionStatusWord, limit, read_session};
use muster_http::{Fields, Item, Problem};
use muster_model::{
    ChunkRecord, ChunkState, EntryId, FrameRange, FrameTaskId, FrameTaskRecord, FrameTaskStatus, Name,
    QuarantineRecord, Removal, RendererRecord, RendererState, ReplayRecord, SessionRecord, SessionStatus,
};

/// A part of a session's frames: a range that was cut, or a stretch that was not yet.
pub(super) struct Part {
    pub(super) id: FrameTaskId,
    pub(super) range: FrameRange,
    pub(super) cut: Option<FrameTaskRecord>,
}

/// A worker. What it last said of itself is for people only.
pub(super) fn worker(item: &Item<'_>) -> Result<RendererRecord, Problem> {
    let fields = item.fields()?;
    fields.optional("currentTask").map(|item| field::task(&item)).transpose()?;
    fields.optional("frameRange").map(|item| field::pair(&item, 0..=limit::FRAMES)).transpose()?;
    fields.opt_non_negative("queueRatio")?;
    fields.opt_integer_in("lastFrame", 0..=i64::MAX)?;
    let slots = fields.integer_in("slots", 1..=limit::SLOTS)?;
    let state = worker_state(&fields)?;
    Ok(RendererRecord {
        id: field::worker(&fields.required("workerId")?)?,
        state,
        state_since: field::moment(&fields, "stateSince")?,
        token_hash: field::hash(&fields.required("tokenHash")?)?,
        endpoint: field::opt_endpoint(&fields, "endpoint")?,
        slots: u32::try_from(slots).expect("checked to be small"),
        failures: field::list(&fields, "failures", Item::timestamp)?,
        losses: field::opt_list(&fields, "losses", Item::timestamp)?,
        last_completed: fields.opt_timestamp("lastCompletedAt")?,
        removal: removal(&fields)?.filter(|_| state == RendererState::Removed),
        removed_from: field::opt_list(&fields, "removedFrom", field::session_id)?,
        registered_at: field::moment(&fields, "registeredAt")?,
        last_heartbeat: fields.opt_timestamp("lastHeartbeat")?,
        description: field::opt_object(&fields, "registration")?,
    })
}

/// A session; `seq` is its age among those here. Its body must say what its fields say.
pub(super) fn session(item: &Item<'_>, seq: u64) -> Result<SessionRecord, Problem> {
    let fields = item.fields()?;
    let status = fields.choice("status", &SessionStatusWord::ALL)?;
    let status = SessionStatus::from_word(status).expect("it is one of the words");
    let record = SessionRecord {
        id: field::session(&fields, "sessionId")?,
        seq,
        status,
        total_frames: field::whole(&fields, "totalFrames", 1..=limit::FRAMES)?,
        frames_per_task: field::whole(&fields, "framesPerTask", 1..=limit::FRAMES)?,
        strict: fields.choice("qualityMode", &["strict", "relaxed"])? == "strict",
        output: field::directory(&fields, "outputDirectory")?,
        digest: field::digest(&fields.required("digest")?)?,
        completed_frames: field::whole(&fields, "completedFrames", 0..=limit::FRAMES)?,
        failed_frames: field::opt_whole(&fields, "failedFrames", limit::FRAMES)?,
        open: !status.is_ended(),
        created_at: field::moment(&fields, "createdAt")?,
        ended_at: fields.opt_timestamp("endedAt")?,
        error: field::opt_text(&fields, "error")?,
        body: Some(field::object(&fields.required("body")?)?.0.into()),
    };
    if record.ended_at.is_some() == record.open {
        return Err(fields.refuse("endedAt", "must be told exactly when the session has ended"));
    }
    check_body(&fields, &record)?;
    Ok(record)
}

/// A part of a session's frames.
pub(super) fn part(item: &Item<'_>) -> Result<Part, Problem> {
    let fields = item.fields()?;
    let range = field::frames(&fields, "frameRange")?;
    let id = FrameTaskId { session: field::session(&fields, "sessionId")?, start: range.start };
    if field::task(&fields.required("taskId")?)? != id {
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
        attempt: field::small(&fields, "attempt", 1)?,
        failures: field::small(&fields, "failures", 0)?,
        losses: field::opt_small(&fields, "losses")?,
        losers: field::list(&fields, "losers", field::worker)?,
        worker: worker_of(&fields)?,
        ids: field::ids(&ids.fields()?)?,
        created_at: field::moment(&fields, "createdAt")?,
        granted_at: field::moment(&fields, "grantedAt")?,
        confirmed_at: fields.opt_timestamp("confirmedAt")?,
        ended_at: fields.opt_timestamp("endedAt")?,
        dropped: field::whole(&fields, "droppedFrames", 0..=limit::WHOLE)?,
        digest: fields.optional("digest").map(|item| field::digest(&item)).transpose()?,
        error: field::opt_text(&fields, "error")?,
        result: field::opt_object(&fields, "result")?,
        id: id.clone(),
    };
    check_status(&fields, &record)?;
    Ok(Part { id, range, cut: Some(record) })
}

/// Granted ids.
pub(super) fn chunk(item: &Item<'_>) -> Result<ChunkRecord, Problem> {
    let fields = item.fields()?;
    let state = fields.choice("state", &ChunkStateWord::ALL)?;
    Ok(ChunkRecord {
        ids: field::ids(&fields)?,
        task: field::task(&fields.required("taskId")?)?,
        worker: worker_of(&fields)?,
        attempt: field::small(&fields, "attempt", 1)?,
        state: ChunkState::from_word(state).expect("it is one of the words"),
        reason: field::opt_text(&fields, "reason")?,
        at: field::moment(&fields, "at")?,
    })
}

/// A range that was given out anew.
pub(super) fn replay(item: &Item<'_>) -> Result<ReplayRecord, Problem> {
    let fields = item.fields()?;
    Ok(ReplayRecord {
        session: field::session(&fields, "sessionId")?,
        range: field::frames(&fields, "frameRange")?,
        retired: field::whole(&fields, "retiredChunkId", 1..=i64::MAX)?,
        new: field::whole(&fields, "newChunkId", 1..=i64::MAX)?,
        at: field::moment(&fields, "at")?,
    })
}

/// An entry of the quarantine.
pub(super) fn entry(item: &Item<'_>) -> Result<QuarantineRecord, Problem> {
    let fields = item.fields()?;
    let id: Result<EntryId, _> = fields.text("id", 2 * limit::ID_CHARS)?.parse();
    let id = id.map_err(|_| fields.refuse("id", "must be chunk-NUMBER or worker-WORKER.SESSION"))?;
    let (session, worker) = (field::session(&fields, "sessionId")?, worker_of(&fields)?);
    if matches!(&id, EntryId::Worker(of, during) if (of, during) != (&worker, &session)) {
        return Err(fields.refuse("id", "must name its workerId and its sessionId"));
    }
    Ok(QuarantineRecord {
        id,
        session,
        output: field::directory(&fields, "outputDirectory")?,
        worker,
        moved: fields.boolean("moved")?,
        files: field::whole(&fields, "files", 0..=i64::MAX)?,
        confirmed: field::opt_text(&fields, "confirmed")?,
        at: field::moment(&fields, "at")?,
    })
}

fn worker_of(fields: &Fields<'_>) -> Result<Name, Problem> {
    field::worker(&fields.required("workerId")?)
}

/// Whoever is shown as zombie was removed.
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

/// What is known of a range goes with where it stands.
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
    let (text, body) = field::object(&fields.required("body")?)?;
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

/// A range that ended with its session is not in a checkpoint.
const TASK_WORDS: [&str; 6] = ["pending", "assigned", "running", "completed", "lost", "failed"];
