//! What a node reports: six events, each flat beside `type` or inside `payload` (N4, N8 to N14).

use super::value::{
    between_or_null, event_id, name, null, nullable, one_of, schema, text, text_or_null, timestamp, whole,
};
use muster_model::FailureReason;
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{
        Object, RefOr, Schema,
        schema::{AnyOfBuilder, ObjectBuilder, Type},
    },
};

/// The body of a callback.
///
/// Read by hand, because both shapes and all unknown fields are taken; this type gives the schema.
#[derive(Clone, Copy, Debug)]
pub struct Callback;

impl PartialSchema for Callback {
    fn schema() -> RefOr<Schema> {
        let mut shapes = AnyOfBuilder::new().description(Some(ABOUT));
        for (kind, fields) in events() {
            shapes = shapes.item(flat(kind, fields())).item(nested(kind, fields()));
        }
        RefOr::T(Schema::AnyOf(shapes.build()))
    }
}

impl ToSchema for Callback {}

type Fields = fn() -> ObjectBuilder;

fn events() -> [(&'static str, Fields); 7] {
    [
        ("node_heartbeat", heartbeat),
        ("run_started", run_started),
        ("task_started", task_started),
        ("task_progress", task_progress),
        ("task_finished", task_succeeded),
        ("task_finished", task_failed),
        ("run_finished", run_finished),
    ]
}

/// The event's fields beside `type`; a `payload` may be there and hold more.
fn flat(kind: &str, fields: ObjectBuilder) -> Object {
    let more = Object::builder().schema_type(nullable(Type::Object));
    envelope(kind, fields).property("payload", schema(more)).build()
}

/// The event's fields inside `payload`.
fn nested(kind: &str, fields: ObjectBuilder) -> Object {
    must(envelope(kind, Object::builder()), "payload", fields).build()
}

fn envelope(kind: &str, fields: ObjectBuilder) -> ObjectBuilder {
    must(must(fields, "event_id", event_id()), "type", one_of(&[kind]))
}

fn heartbeat() -> ObjectBuilder {
    let fields = must(event(), "connected_devices_count", whole());
    let fields = must(fields, "running_devices_count", whole());
    let fields = must(fields, "queue_devices_count", whole());
    let fields = must(fields, "vendor_ws_ok", Object::builder().schema_type(Type::Boolean));
    may(fields, "degraded", Object::builder().schema_type(nullable(Type::Boolean)))
}

fn run_started() -> ObjectBuilder {
    let fields = must(event(), "run_id", text());
    let fields = must(fields, "target_devices_count", whole());
    must(fields, "max_concurrency", whole())
}

fn run_finished() -> ObjectBuilder {
    let summary = must(Object::builder(), "succeeded", whole());
    let summary = must(must(summary, "failed", whole()), "timeout", whole());
    must(must(event(), "run_id", text()), "summary", summary)
}

fn task_started() -> ObjectBuilder {
    let fields = must(task(), "runtime_handle", text());
    must(must(fields, "workflow_id", text()), "timeoutMs", whole())
}

fn task_progress() -> ObjectBuilder {
    let fields = must(
        task(),
        "step",
        text().min_length(Some(1)).max_length(Some(64)).pattern(Some("^[A-Z0-9_]{1,64}$")),
    );
    must(fields, "status", one_of(&["running", "done"]))
}

fn task_succeeded() -> ObjectBuilder {
    let fields = must(finished(), "status", one_of(&["succeeded", "success", "completed"]));
    may(fields, "failure_reason", null())
}

fn task_failed() -> ObjectBuilder {
    let reasons = FailureReason::ALL.map(FailureReason::as_str);
    must(must(finished(), "status", one_of(&["failed"])), "failure_reason", one_of(&reasons))
}

fn finished() -> ObjectBuilder {
    let timings = must(must(Object::builder(), "startedAt", timestamp()), "endedAt", timestamp());
    let artifact = Object::builder().schema_type(nullable(Type::Object));
    let artifact = must(must(artifact, "kind", text()), "storage_path", text());
    let artifact = must(artifact, "public_url", text());
    let fields = must(must(task(), "runtime_handle", text()), "timings", timings);
    may(may(fields, "artifact", artifact), "error_message", text_or_null().max_length(Some(8192)))
}

fn task() -> ObjectBuilder {
    let fields = must(must(event(), "run_id", text()), "task_id", text());
    let fields = may(must(fields, "device_id", name()), "attempt", between_or_null(1, 65_535));
    may(fields, "lease_token", text_or_null())
}

fn event() -> ObjectBuilder {
    must(must(Object::builder(), "node_id", name()), "timestamp", timestamp())
}

fn must(fields: ObjectBuilder, field: &str, value: ObjectBuilder) -> ObjectBuilder {
    may(fields, field, value).required(field)
}

fn may(fields: ObjectBuilder, field: &str, value: ObjectBuilder) -> ObjectBuilder {
    fields.property(field, schema(value))
}

const ABOUT: &str = "One of the six events; its fields stand beside `type` or inside `payload`. \
Unknown fields are kept. A repeat of the same `event_id` changes nothing.";
