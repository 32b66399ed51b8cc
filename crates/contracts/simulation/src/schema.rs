//! The OpenAPI schemas of requests, as exact as the checks. Bodies are read by hand, so that a refusal names the field.
//! Fields that are not known are kept, never refused.

use crate::{
    AssignRequest, BroadcastRequest, ChunkStateWord, CompleteRequest, ConfirmRequest, FailRequest,
    HeartbeatRequest, IdRangeRequest, Order, ProgressRequest, ReasonRequest, RebindRequest, RegisterRequest,
    RetryRequest, SessionRequest, SessionStatusWord, limit,
};
use muster_problem::{
    schema::{any, between, list, matching, may, must, non_negative, nullable, object, one_of, schema, text},
    schemas,
};
use serde_json::Value;
use utoipa::openapi::{
    RefOr, Schema,
    schema::{ArrayBuilder, ObjectBuilder, OneOfBuilder, Type},
};

schemas! {
    RegisterRequest => register();
    HeartbeatRequest => heartbeat();
    ProgressRequest => progress();
    CompleteRequest => complete();
    FailRequest => schema(must(whose(object()), "error", text(limit::ERROR_CHARS)));
    AssignRequest => schema(must(must(object(), "taskId", text(limit::ID_CHARS)), "workerId", text(limit::ID_CHARS)));
    BroadcastRequest => schema(must(object(), "command", one_of(&["PauseAll", "ResumeAll"])));
    RebindRequest => rebind();
    IdRangeRequest => id_range();
    ReasonRequest => schema(must(object(), "reason", said()));
    ConfirmRequest => schema(must(object(), "note", said()));
    SessionRequest => session();
    SessionStatusWord => schema(one_of(&SessionStatusWord::ALL));
    ChunkStateWord => schema(one_of(&ChunkStateWord::ALL));
    Order => order();
    RetryRequest => schema(object().property("frames", frames()));
}

/// The schema of a [`crate::Range`].
pub(crate) fn range() -> RefOr<Schema> {
    pair(i64::MAX)
}

/// The schema of a list of [`crate::Range`]s.
pub(crate) fn ranges() -> RefOr<Schema> {
    RefOr::T(Schema::Array(ArrayBuilder::new().items(range()).build()))
}

fn order() -> RefOr<Schema> {
    let word = one_of(&["rebind", "reregister", "pause", "resume"]);
    let stop = must(object(), "stop", text(limit::ID_CHARS));
    RefOr::T(Schema::OneOf(OneOfBuilder::new().item(word.build()).item(stop.build()).build()))
}

fn register() -> RefOr<Schema> {
    let slots = or_null(between(1, limit::SLOTS), Type::Integer);
    let capabilities = may(object().schema_type(nullable(Type::Object)), "slots", slots);
    let body = must(object(), "workerId", matching(limit::WORKER_PATTERN));
    let body = may(may(body, "role", text_or_null(limit::ROLE_CHARS)), "capabilities", capabilities);
    schema(may(may(body, "currentSession", any()), "endpoint", text_or_null(limit::ENDPOINT_CHARS)))
}

fn heartbeat() -> RefOr<Schema> {
    let body = must(object(), "queueRatio", non_negative());
    let body = may(body, "gpuUsage", or_null(non_negative(), Type::Number));
    let body = may(body, "lastFrame", or_null(between(0, limit::WHOLE), Type::Integer));
    let body = may(body, "status", text_or_null(limit::STATUS_CHARS));
    schema(may(body, "rttMs", or_null(non_negative(), Type::Number)))
}

fn progress() -> RefOr<Schema> {
    let body = must(object(), "sessionId", text(limit::ID_CHARS));
    let body = may(body, "taskId", text_or_null(limit::ID_CHARS));
    let body = must(body, "processedFrames", between(0, limit::WHOLE));
    let body = must(body, "maxQueueRatio", non_negative());
    let body = may(body, "droppedFrames", or_null(between(0, limit::WHOLE), Type::Integer));
    let body = body.property("diagnostics", list(any(), limit::DIAGNOSTIC_LINES));
    schema(body)
}

fn complete() -> RefOr<Schema> {
    let body = || {
        let body = whose(object()).property("poseFiles", list(text(limit::PATH_CHARS), limit::POSE_FILES));
        may(body, "metricsSnapshot", any())
    };
    let null = || object().schema_type(Type::Null);
    let inline = may(body(), "manifestFragmentPath", null())
        .property("manifestFragment", fragment())
        .required("manifestFragment");
    let by_path = may(body(), "manifestFragment", null());
    let by_path = must(by_path, "manifestFragmentPath", text(limit::PATH_CHARS));
    RefOr::T(Schema::OneOf(OneOfBuilder::new().item(inline.build()).item(by_path.build()).build()))
}

/// The fields that a fragment must have; whatever else it has is read by the merge (S21).
fn fragment() -> RefOr<Schema> {
    let fragment = object().property("frameRange", pair(limit::WHOLE)).required("frameRange");
    schema(must(fragment, "globalIdChunkId", between(1, i64::MAX)))
}

/// Ranges of frames, `[start, end]` each.
fn frames() -> RefOr<Schema> {
    let list = ArrayBuilder::new().items(pair(limit::FRAMES)).min_items(Some(1));
    RefOr::T(Schema::Array(list.max_items(Some(limit::RETRIED_RANGES)).build()))
}

fn rebind() -> RefOr<Schema> {
    let body = must(object(), "workerId", text(limit::ID_CHARS));
    let body = may(body, "epoch", or_null(between(0, limit::WHOLE), Type::Integer));
    let chunk = must(object(), "chunkId", between(1, i64::MAX));
    let task = must(object().schema_type(nullable(Type::Object)), "taskId", text(limit::ID_CHARS));
    let task = must(must(task, "attempt", between(1, i64::from(u16::MAX))), "globalIdChunk", chunk);
    schema(may(may(may(body, "currentTask", task), "lastFrame", any()), "state", any()))
}

fn id_range() -> RefOr<Schema> {
    let body = may(object(), "workerId", text_or_null(limit::ID_CHARS));
    let body = may(body, "taskId", text_or_null(limit::ID_CHARS));
    schema(must(body, "requestedCount", between(1, limit::REQUESTED_IDS)))
}

fn session() -> RefOr<Schema> {
    let body = must(object(), "sessionId", matching(limit::SESSION_PATTERN));
    let body = must(body, "totalFrames", between(1, limit::FRAMES));
    let body = must(body, "framesPerTask", between(1, limit::FRAMES));
    let body = may(may(body, "scenario", any()), "cameras", any());
    let modes = [Value::from("strict"), Value::from("relaxed"), Value::Null];
    let mode = object().schema_type(nullable(Type::String)).enum_values(Some(modes));
    schema(may(may(body, "qualityMode", mode), "outputDirectory", text_or_null(limit::PATH_CHARS)))
}

/// Adds the optional worker and attempt of a report.
fn whose(body: ObjectBuilder) -> ObjectBuilder {
    let body = may(body, "workerId", text_or_null(limit::ID_CHARS));
    may(body, "attempt", or_null(between(1, i64::from(u16::MAX)), Type::Integer))
}

/// Schema of a text that must not be blank.
fn said() -> ObjectBuilder {
    text(limit::REASON_CHARS).pattern(Some(r"^[^\u0000]*[^\u0000\s][^\u0000]*$"))
}

/// Two whole numbers up to `most`.
fn pair(most: i64) -> RefOr<Schema> {
    let pair = ArrayBuilder::new().items(schema(between(0, most)));
    RefOr::T(Schema::Array(pair.min_items(Some(2)).max_items(Some(2)).build()))
}

fn text_or_null(chars_max: usize) -> ObjectBuilder {
    or_null(text(chars_max), Type::String)
}

fn or_null(value: ObjectBuilder, of: Type) -> ObjectBuilder {
    value.schema_type(nullable(of))
}
