//! Schemas of what clients send. Bodies are read field by field, so that a refusal names the field; these types describe
//! them as exactly as the checks do.

use muster_problem::{
    described,
    schema::{
        any, between_or_null, boolean_or_null, closed, may, must, name, name_or_null, null, nullable, schema,
        text, text_or_null,
    },
};
use utoipa::openapi::{
    Object, RefOr, Schema,
    schema::{AdditionalProperties, ArrayBuilder, ObjectBuilder, OneOfBuilder, Type},
};

described! {
    /// A run to be (Q15).
    pub struct RunRequest => {
        let run = must(closed(), "workflow_id", name());
        let run = may(run, "params", Object::builder().schema_type(nullable(Type::Object)));
        let run = may(run.property("scope", scope()), "queue", name_or_null());
        // The default of operations.attempt_timeout_s; a server with another setting takes less or more.
        let run = may(run, "timeoutMs", between_or_null(1, 1_200_000));
        let run = may(run, "max_attempts", between_or_null(1, 100));
        schema(may(run, "title", text_or_null(200)))
    };

    /// A retry of a run (Q15).
    pub struct RetryRequest => {
        let retry = may(closed(), "failure_reason", text_or_null(200).examples(["adb_offline"]));
        let retry = may(retry, "title", text_or_null(200));
        schema(may(retry, "return_to_service", boolean_or_null()))
    };

    /// A schedule to be (Q17).
    pub struct ScheduleRequest => {
        let cron = text(200)
            .min_length(Some(9))
            .pattern(Some(r"^[0-9A-Za-z*,/\t -]+$"))
            .examples(["0 6 * * MON-FRI"]);
        let schedule = must(closed(), "cron", cron);
        let schedule = may(schedule, "timezone", text_or_null(64).examples(["Europe/Vienna"]));
        let missed = crate::MISSED_WORDS.map(serde_json::Value::from);
        let missed = missed.into_iter().chain([serde_json::Value::Null]);
        let missed = any().schema_type(nullable(Type::String)).enum_values(Some(missed));
        let schedule = may(schedule, "missed", missed);
        schema(schedule.property("run", RunRequest::schema()).required("run"))
    };

    /// A change to a device: all of its labels from now on (Q15).
    pub struct DevicePatch => schema(must(closed(), "labels", labels(0, 64)));

    /// The return of a device to service (Q11).
    pub struct DeviceReturn => schema(may(closed(), "note", text_or_null(1000)));

    /// A change to a PC: how many devices may run at once there (Q3).
    pub struct PcPatch => schema(must(closed(), "max_devices", between_or_null(1, 10_000)));

    /// Arguments of `claim_task_devices_for_pc`; either of two names the PC (Q14).
    pub struct ClaimArgs => {
        let args = || {
            let args = may(closed(), "max_to_claim", between_or_null(0, 1000));
            may(args, "lease_minutes", minutes_or_null())
        };
        let by_name = may(must(args(), "runner_pc_name", name()), "runner_pc_id", null());
        let by_id = may(must(args(), "runner_pc_id", name()), "runner_pc_name", null());
        one_of([by_name, by_id])
    };

    /// Arguments of `renew_task_device_lease` (Q14).
    pub struct RenewArgs => {
        let args = must(must(closed(), "task_device_id", text(4096)), "runner_pc_id", name());
        schema(may(args, "lease_minutes", minutes_or_null()))
    };

    /// Arguments of `complete_task_device` (Q14).
    pub struct CompleteArgs => {
        let args = must(closed(), "p_task_device_id", text(4096));
        schema(may(may(args, "p_result", any()), "runner_pc_id", name_or_null()))
    };

    /// Arguments of `fail_or_retry_task_device` (Q14).
    pub struct FailArgs => {
        let args = must(closed(), "p_task_device_id", text(4096));
        schema(may(may(args, "p_error", text_or_null(8192)), "runner_pc_id", name_or_null()))
    };

    /// Arguments of `fn_timeout_tasks_and_task_devices`: none (Q14).
    pub struct SweepArgs => schema(closed());
}

/// The devices of a run, by exactly one of three ways; all of them where absent.
fn scope() -> RefOr<Schema> {
    let list = |key: &str| {
        let names = RefOr::T(Schema::Array(names().build()));
        closed().property(key, names).required(key)
    };
    one_of([list("pcs"), list("devices"), must(closed(), "labels", labels(1, ENTRIES_MAX)), null()])
}

fn one_of<const N: usize>(ways: [ObjectBuilder; N]) -> RefOr<Schema> {
    let ways = ways.into_iter().fold(OneOfBuilder::new(), |all, way| all.item(way.build()));
    RefOr::T(Schema::OneOf(ways.build()))
}

/// Some names, at least one.
fn names() -> ArrayBuilder {
    ArrayBuilder::new().items(schema(name())).min_items(Some(1)).max_items(Some(ENTRIES_MAX))
}

/// Names with names as values.
fn labels(least: usize, most: usize) -> ObjectBuilder {
    Object::builder()
        .schema_type(Type::Object)
        .property_names(Some(Schema::Object(name().build())))
        .additional_properties(Some(AdditionalProperties::RefOr(schema(name()))))
        .min_properties(Some(least))
        .max_properties(Some(most))
}

/// A lease in minutes, or nothing.
fn minutes_or_null() -> ObjectBuilder {
    Object::builder().schema_type(nullable(Type::Number)).exclusive_minimum(Some(0)).maximum(Some(1440))
}

/// The most entries that a list or a map from outside may have.
const ENTRIES_MAX: usize = 10_000;
