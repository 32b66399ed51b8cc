//! What clients send, with schemas as exact as the checks. Bodies are read field by field, so that a refusal names the field;
//! clients write them from these types.

use crate::Scope;
use muster_problem::{
    JsonText, described,
    schema::{
        any, between_or_null, boolean_or_null, closed, may, must, name, name_or_null, null, nullable, schema,
        text, text_or_null,
    },
    schemas,
};
use serde::Serialize;
use utoipa::openapi::{
    Object, RefOr, Schema,
    schema::{AdditionalProperties, ArrayBuilder, ObjectBuilder, OneOfBuilder, Type},
};

/// A run to be (Q15). What is not given is left to the server.
#[derive(Clone, Debug, Serialize)]
pub struct RunRequest {
    /// The workflow that the agents execute.
    pub workflow_id: String,
    /// Parameters of the workflow: a JSON object.
    pub params: JsonText,
    /// The devices; all of them if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<Scope>,
    /// Its queue.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue: Option<String>,
    /// Time limit of one attempt.
    #[serde(rename = "timeoutMs", skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// Attempts per device in all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_attempts: Option<u16>,
    /// For people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
}

/// A retry of a run (Q15).
#[derive(Clone, Debug, Default, Serialize)]
pub struct RetryRequest {
    /// Restricts the retry to devices that failed so.
    pub failure_reason: Option<String>,
    /// For people.
    pub title: Option<String>,
    /// True if devices that are out of service are returned to it.
    pub return_to_service: bool,
}

/// A schedule to be (Q17).
#[derive(Clone, Debug, Serialize)]
pub struct ScheduleRequest {
    /// Minute, hour, day of month, month, day of week.
    pub cron: String,
    /// The IANA time zone of the expression.
    pub timezone: String,
    /// Treatment of missed slots: one of [`crate::MISSED_WORDS`].
    pub missed: String,
    /// The run that is submitted at each slot.
    pub run: RunRequest,
}

/// The return of a device to service (Q11).
#[derive(Clone, Debug, Default, Serialize)]
pub struct DeviceReturn {
    /// Note on what was done about it.
    pub note: Option<String>,
}

schemas! {
    RunRequest => {
        let run = must(closed(), "workflow_id", name());
        let run = may(run, "params", Object::builder().schema_type(nullable(Type::Object)));
        let run = may(run.property("scope", scope()), "queue", name_or_null());
        // The default of operations.attempt_timeout_s; a server with another setting takes less or more.
        let run = may(run, "timeoutMs", between_or_null(1, 1_200_000));
        let run = may(run, "max_attempts", between_or_null(1, 100));
        schema(may(run, "title", text_or_null(200)))
    };

    RetryRequest => {
        let retry = may(closed(), "failure_reason", text_or_null(200).examples(["adb_offline"]));
        let retry = may(retry, "title", text_or_null(200));
        schema(may(retry, "return_to_service", boolean_or_null()))
    };

    ScheduleRequest => {
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

    DeviceReturn => schema(may(closed(), "note", text_or_null(1000)));
}

described! {
    /// A change to a device: all of its labels from now on (Q15).
    pub struct DevicePatch => schema(must(closed(), "labels", labels(0, 64)));

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{read_note, read_retry, read_schedule, read_submission};
    use muster_model::{Millis, Timestamp};
    use serde_json::{Value, json, to_value};

    /// Q11, Q15, Q17: the server reads what a client writes; what is not given is not sent with a run.
    #[test]
    fn requests_are_read_as_they_were_written() {
        let least = RunRequest {
            workflow_id: "w".to_owned(),
            params: (&json!({})).into(),
            scope: None,
            queue: None,
            timeout_ms: None,
            max_attempts: None,
            title: None,
        };
        assert_eq!(to_value(&least).unwrap(), json!({"workflow_id": "w", "params": {}}));
        let run = RunRequest {
            scope: Some(Scope::Pcs(vec!["PC-01".to_owned()])),
            queue: Some("night".to_owned()),
            timeout_ms: Some(5),
            max_attempts: Some(2),
            title: Some("t".to_owned()),
            ..least
        };
        let written = json!({"workflow_id": "w", "params": {}, "scope": {"pcs": ["PC-01"]}, "queue": "night",
            "timeoutMs": 5, "max_attempts": 2, "title": "t"});
        assert_eq!(to_value(&run).unwrap(), written);
        let schedule = ScheduleRequest {
            cron: "0 6 * * *".to_owned(),
            timezone: "UTC".to_owned(),
            missed: "once".to_owned(),
            run,
        };
        let draft = read_schedule(&to_value(&schedule).unwrap(), Millis(10), Timestamp(0)).unwrap();
        let submission = read_submission(&written, Millis(10)).unwrap();
        assert_eq!((draft.run.payload, draft.run.scope), (submission.payload, submission.scope));
        let retry =
            RetryRequest { failure_reason: Some("x".to_owned()), title: None, return_to_service: true };
        let read = read_retry(Some(&to_value(&retry).unwrap())).unwrap();
        assert_eq!((read.failure_reason.as_deref(), read.return_to_service), (Some("x"), true));
        let note: Value = to_value(DeviceReturn { note: Some("new cable".to_owned()) }).unwrap();
        assert_eq!(read_note(Some(&note)).unwrap().as_deref(), Some("new cable"));
    }
}
