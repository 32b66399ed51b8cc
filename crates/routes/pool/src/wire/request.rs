//! What owners, workers and clients send. Bodies are read by hand (see `shape`); these types give their schemas, as exact as
//! the checks. Fields that are not known are ignored.

use crate::{shape::ID_MAX, translate::limit};
use muster_http::schema::{any, between, may, must, nullable, object, schema};
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{
        Object, RefOr, Schema,
        schema::{ArrayBuilder, ObjectBuilder, Type},
    },
};

/// Declares the types of bodies, each with its name in the description and its schema.
macro_rules! bodies {
    ($($(#[$doc:meta])* $name:ident $shown:literal => $schema:expr;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name;

        impl PartialSchema for $name {
            fn schema() -> RefOr<Schema> {
                $schema
            }
        }

        impl ToSchema for $name {
            fn name() -> std::borrow::Cow<'static, str> {
                std::borrow::Cow::Borrowed($shown)
            }
        }
    )*};
}

bodies! {
    /// A worker to be (P3).
    RegisterRequest "PoolRegisterRequest" => register();
    /// A sign of life (P5).
    HeartbeatRequest "PoolHeartbeatRequest" => schema(must(object(), "worker_id", id()));
    /// Another key for a worker (P3).
    KeyRequest "PoolKeyRequest" => schema(must(object(), "public_key", text(0, limit::PUBLIC_KEY_CHARS)));
    /// Why a worker is shut out or let in again (P14).
    ReasonRequest "PoolReasonRequest" => schema(must(object(), "reason", text(1, limit::REASON_CHARS)));
    /// A question for work (P6).
    PollRequest "PoolPollRequest" => poll();
    /// A result (P7).
    SubmitRequest "PoolSubmitRequest" => schema(must(result(), "worker_id", id()));
    /// Results, and a question for more work (P19).
    WorkRequest "PoolWorkRequest" => work();
    /// A job to be (P13).
    JobRequest "PoolJobRequest" => job();
    /// Jobs to be, all or none (P18).
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
    let body = must(body, "signature", string());
    let body = may(body, "output", or_null(object(), Type::Object));
    let body = may(body, "error_message", or_null(string(), Type::String));
    let body = may(body, "artifact_uri", text_or_null(limit::ARTIFACT_URI_CHARS));
    let body = may(body, "output_hash", text_or_null(limit::OUTPUT_HASH_CHARS));
    may(body, "metrics_json", or_null(object(), Type::Object))
}

fn work() -> RefOr<Schema> {
    let item = schema(may(result(), "worker_id", or_null(id(), Type::Integer)));
    let body = must(object(), "worker_id", id()).property("submit", list(item, 0, limit::WORK_RESULTS));
    let body = must(body, "max", between(0, limit::WORK_MAX));
    schema(may(may(body, "wait_ms", wait_ms()), "start", flag()))
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
    between(-ID_MAX, ID_MAX)
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
