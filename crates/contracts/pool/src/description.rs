//! The schemas of request bodies, as exact as the checks. Unknown fields are ignored.

use crate::{
    BatchRequest, HeartbeatRequest, JobRequest, KeyRequest, PollRequest, ReasonRequest, RegisterRequest,
    SubmitRequest, WorkRequest, limit,
};
use muster_problem::schema::{any, between, may, must, null, nullable, object, schema};
use std::borrow::Cow;
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{
        Object, RefOr, Schema,
        schema::{ArrayBuilder, ObjectBuilder, OneOfBuilder, Type},
    },
};

/// Gives each body its name in the description and its schema.
macro_rules! bodies {
    ($($name:ident $shown:literal => $schema:expr;)*) => {$(
        impl PartialSchema for $name {
            fn schema() -> RefOr<Schema> {
                $schema
            }
        }

        impl ToSchema for $name {
            fn name() -> Cow<'static, str> {
                Cow::Borrowed($shown)
            }
        }
    )*};
}

bodies! {
    RegisterRequest "PoolRegisterRequest" => register();
    HeartbeatRequest "PoolHeartbeatRequest" => schema(must(object(), "worker_id", id()));
    KeyRequest "PoolKeyRequest" => schema(must(object(), "public_key", text(0, limit::PUBLIC_KEY_CHARS)));
    ReasonRequest "PoolReasonRequest" => schema(must(object(), "reason", text(1, limit::REASON_CHARS)));
    PollRequest "PoolPollRequest" => poll();
    SubmitRequest "PoolSubmitRequest" => schema(must(must(result(), "signature", string()), "worker_id", id()));
    WorkRequest "PoolWorkRequest" => work();
    JobRequest "PoolJobRequest" => job();
    BatchRequest "PoolBatchRequest" => schema(object().property("jobs", list(job(), 1, limit::BATCH_JOBS)).required("jobs"));
}

fn register() -> RefOr<Schema> {
    let slots = or_null(between(1, limit::SLOTS), Type::Integer);
    let specs = may(or_null(object(), Type::Object), "slots", slots);
    let body = must(object(), "name", text(1, limit::NAME_CHARS));
    let body = may(may(body, "region", text_or_null(limit::REGION_CHARS)), "specs_json", specs);
    schema(may(body, "public_key", text_or_null(limit::PUBLIC_KEY_CHARS)))
}

fn poll() -> RefOr<Schema> {
    let body = may(must(object(), "worker_id", id()), "wait_ms", wait_ms());
    schema(may(may(body, "start", flag()), "resume", flag()))
}

fn result() -> ObjectBuilder {
    let body = must(object(), "assignment_id", id());
    let body = must(body, "nonce", text(1, limit::NONCE_CHARS));
    let body = may(body, "output", or_null(object(), Type::Object));
    let body = may(body, "error_message", or_null(string(), Type::String));
    let body = may(body, "artifact_uri", text_or_null(limit::ARTIFACT_URI_CHARS));
    let body = may(body, "output_hash", text_or_null(limit::OUTPUT_HASH_CHARS));
    may(body, "metrics_json", or_null(object(), Type::Object))
}

/// Either each result has a signature, or the request has one (P20).
fn work() -> RefOr<Schema> {
    let single = may(work_with(must(result(), "signature", string())), "batch_signature", null());
    let batch = must(work_with(may(result(), "signature", null())), "batch_signature", string());
    RefOr::T(Schema::OneOf(OneOfBuilder::new().item(single.build()).item(batch.build()).build()))
}

fn work_with(item: ObjectBuilder) -> ObjectBuilder {
    let item = schema(may(item, "worker_id", or_null(id(), Type::Integer)));
    let body = must(object(), "worker_id", id()).property("submit", list(item, 0, limit::WORK_RESULTS));
    let body = must(body, "max", between(0, limit::WORK_MAX));
    may(may(body, "wait_ms", wait_ms()), "start", flag())
}

fn job() -> RefOr<Schema> {
    let body = must(object(), "payload", any());
    let body = may(body, "priority", or_null(between(0, limit::PRIORITY), Type::Integer));
    let body = may(body, "region", text_or_null(limit::REGION_CHARS));
    let body = may(body, "requires", or_null(object(), Type::Object));
    let body = may(body, "max_attempts", or_null(between(1, limit::ATTEMPTS), Type::Integer));
    let timeout = Object::builder().exclusive_minimum(Some(0)).maximum(Some(limit::TIMEOUT_S));
    let body = may(body, "timeout_s", or_null(timeout, Type::Number));
    let body = may(body, "verify_output_hash", flag());
    schema(may(body, "redundancy", or_null(between(1, limit::REDUNDANCY), Type::Integer)))
}

fn id() -> ObjectBuilder {
    between(-limit::ID, limit::ID)
}

fn wait_ms() -> ObjectBuilder {
    or_null(between(0, limit::WAIT_MS), Type::Integer)
}

fn flag() -> ObjectBuilder {
    Object::builder().schema_type(nullable(Type::Boolean))
}

fn string() -> ObjectBuilder {
    Object::builder().schema_type(Type::String)
}

fn text(chars_min: usize, chars_max: usize) -> ObjectBuilder {
    string().min_length(Some(chars_min)).max_length(Some(chars_max))
}

fn text_or_null(chars_max: usize) -> ObjectBuilder {
    or_null(string().max_length(Some(chars_max)), Type::String)
}

fn or_null(builder: ObjectBuilder, of: Type) -> ObjectBuilder {
    builder.schema_type(nullable(of))
}

fn list(items: RefOr<Schema>, len_min: usize, len_max: usize) -> RefOr<Schema> {
    let list = ArrayBuilder::new().items(items).min_items(Some(len_min)).max_items(Some(len_max));
    RefOr::T(Schema::Array(list.build()))
}
