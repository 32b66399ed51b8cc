//! The schema of a callback and the answer to one: six events, each flat beside `type` or inside `payload` (N4, N8 to N14).

use muster_model::{FailureReason, Recorded};
use muster_problem::schema::{
    between_or_null, event_id, may, must, name, null, nullable, one_of, schema, text, text_or_null,
    timestamp, whole,
};
use muster_problem::{WireMutant, planted};
use serde::{Deserialize, Serialize};
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

/// The answer to a callback (N4, N6b).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CallbackAnswer {
    /// Always true: the event is kept.
    pub ok: bool,
    /// The event had been taken before.
    #[serde(default, skip_serializing_if = "is_false")]
    #[schema(required = false)]
    pub duplicate: bool,
    /// The event speaks of what is past: kept, without effect.
    #[serde(default, skip_serializing_if = "is_false")]
    #[schema(required = false)]
    pub stale: bool,
}

/// Writes the answer to a callback that was recorded.
#[must_use]
pub fn answer_report(recorded: Recorded) -> CallbackAnswer {
    let is_stale = recorded == Recorded::Stale;
    let is_mistaken = is_stale && planted(WireMutant::StaleSaidDuplicate);
    CallbackAnswer {
        ok: true,
        duplicate: recorded == Recorded::Duplicate || is_mistaken,
        stale: is_stale && !is_mistaken,
    }
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
fn is_false(value: &bool) -> bool {
    !*value
}

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
    let fields = must(event(), "run_id", text(TEXT_CHARS_MAX));
    let fields = must(fields, "target_devices_count", whole());
    must(fields, "max_concurrency", whole())
}

fn run_finished() -> ObjectBuilder {
    let summary = must(Object::builder(), "succeeded", whole());
    let summary = must(must(summary, "failed", whole()), "timeout", whole());
    must(must(event(), "run_id", text(TEXT_CHARS_MAX)), "summary", summary)
}

fn task_started() -> ObjectBuilder {
    let fields = must(task(), "runtime_handle", text(TEXT_CHARS_MAX));
    must(must(fields, "workflow_id", text(TEXT_CHARS_MAX)), "timeoutMs", whole())
}

fn task_progress() -> ObjectBuilder {
    let fields = must(
        task(),
        "step",
        text(TEXT_CHARS_MAX).min_length(Some(1)).max_length(Some(64)).pattern(Some("^[A-Z0-9_]{1,64}$")),
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
    let artifact = must(must(artifact, "kind", text(TEXT_CHARS_MAX)), "storage_path", text(TEXT_CHARS_MAX));
    let artifact = must(artifact, "public_url", text(TEXT_CHARS_MAX));
    let fields = must(must(task(), "runtime_handle", text(TEXT_CHARS_MAX)), "timings", timings);
    may(
        may(fields, "artifact", artifact),
        "error_message",
        text_or_null(TEXT_CHARS_MAX).max_length(Some(8192)),
    )
}

fn task() -> ObjectBuilder {
    let fields = must(must(event(), "run_id", text(TEXT_CHARS_MAX)), "task_id", text(TEXT_CHARS_MAX));
    let fields = may(must(fields, "device_id", name()), "attempt", between_or_null(1, 65_535));
    may(fields, "lease_token", text_or_null(TEXT_CHARS_MAX))
}

fn event() -> ObjectBuilder {
    must(must(Object::builder(), "node_id", name()), "timestamp", timestamp())
}

const TEXT_CHARS_MAX: usize = 4096;
const ABOUT: &str = "One of the six events; its fields stand beside `type` or inside `payload`. \
Unknown fields are kept. A repeat of the same `event_id` changes nothing.";

#[cfg(test)]
mod tests {
    use super::*;

    /// N4, N6b: the three answers to a callback.
    #[test]
    fn callbacks_are_answered_byte_for_byte() {
        let text = |recorded| serde_json::to_string(&answer_report(recorded)).unwrap();
        assert_eq!(text(Recorded::Applied), r#"{"ok":true}"#);
        assert_eq!(text(Recorded::Duplicate), r#"{"ok":true,"duplicate":true}"#);
        assert_eq!(text(Recorded::Stale), r#"{"ok":true,"stale":true}"#);
    }
}
