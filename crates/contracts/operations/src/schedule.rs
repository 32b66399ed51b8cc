//! Schedules: read from clients and shown to them (Q17).

use crate::submission::{digest, read_run};
use muster_cron::{Cron, CronError};
use muster_model::{
    Labels, Millis, Missed, Name, ScheduleDraft, ScheduleRecord, Scope as ModelScope, Submission, Timestamp,
};
use muster_problem::{Fields, JsonText, Problem};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
};
use utoipa::ToSchema;

/// A schedule that was made.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct ScheduleState {
    /// The schedule's id.
    pub schedule_id: String,
    /// Its first slot, epoch milliseconds.
    pub next_at: Option<i64>,
}

impl From<&ScheduleRecord> for ScheduleState {
    fn from(record: &ScheduleRecord) -> Self {
        Self { schedule_id: record.id.to_string(), next_at: record.draft.next_at.map(|at| at.0) }
    }
}

/// One schedule.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct Schedule {
    /// The schedule's id.
    pub schedule_id: String,
    /// When: minute, hour, day of month, month, day of week.
    pub cron: String,
    /// The zone it is meant in.
    pub timezone: String,
    /// What becomes of missed slots: `skip` or `once`.
    pub missed: Cow<'static, str>,
    /// What is submitted at each slot.
    pub run: ScheduledRun,
    /// The next slot, epoch milliseconds; null when none will come.
    pub next_at: Option<i64>,
    /// The latest slot that made a run.
    pub last_slot: Option<i64>,
    /// That run.
    pub last_run_id: Option<String>,
    /// When it was made.
    pub created_at: i64,
}

/// A run to be, as `POST /api/runs` takes it.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct ScheduledRun {
    /// What the agents execute.
    pub workflow_id: String,
    /// Parameters of the workflow.
    pub params: JsonText,
    /// Which devices; null: all.
    pub scope: Option<Scope>,
    /// Its queue.
    pub queue: String,
    /// How long an agent may take for one device.
    #[serde(rename = "timeoutMs")]
    pub timeout_ms: Option<i64>,
    /// Attempts in all per device; null: the server's setting.
    pub max_attempts: Option<u16>,
    /// For people.
    pub title: Option<String>,
}

/// Which devices, by exactly one of three ways.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// Those of these PCs.
    Pcs(Vec<String>),
    /// These.
    Devices(Vec<String>),
    /// Those with these labels.
    Labels(BTreeMap<String, String>),
}

/// Reads the body of `POST /api/schedules`; `now` decides which slot is the first.
///
/// # Errors
/// 422 naming the field that is missing or wrong.
pub fn read_schedule(
    body: &Value,
    attempt_timeout: Millis,
    now: Timestamp,
) -> Result<ScheduleDraft, Problem> {
    let fields = Fields::of(body)?;
    fields.only(&["cron", "timezone", "missed", "run"])?;
    let expression = fields.text("cron", CRON_CHARS_MAX)?;
    let timezone = fields.opt_text("timezone", TIMEZONE_CHARS_MAX)?.unwrap_or("UTC");
    let cron = Cron::parse(expression, timezone).map_err(|fault| refuse_cron(&fields, &fault))?;
    let never = || fields.refuse("cron", "must name a day that exists: no slot would ever come");
    let next_at = Some(cron.next_after(now).ok_or_else(never)?);
    let missed = fields.opt_choice("missed", &MISSED_WORDS)?.and_then(Missed::from_word).unwrap_or_default();
    let run = fields.required("run")?;
    let text = body.to_string();
    if text.len() > BYTES_MAX {
        return Err(run.refuse(&format!("must have at most {BYTES_MAX} bytes, with all of the schedule")));
    }
    let run = Submission { digest: digest(&text), ..read_run(&run.fields()?, attempt_timeout)? };
    Ok(ScheduleDraft { cron: expression.into(), timezone: cron.timezone().into(), missed, next_at, run })
}

/// A schedule as it stands.
///
/// # Errors
/// 422 naming the field that is missing or wrong.
pub fn show_schedule(record: ScheduleRecord) -> Result<Schedule, serde_json::Error> {
    let ScheduleDraft { cron, timezone, missed, next_at, run } = record.draft;
    Ok(Schedule {
        schedule_id: record.id.to_string(),
        cron: cron.into(),
        timezone: timezone.into(),
        missed: missed.as_str().into(),
        run: show_scheduled(run)?,
        next_at: next_at.map(|at| at.0),
        last_slot: record.last_slot.map(|at| at.0),
        last_run_id: record.last_job.map(|job| job.to_string()),
        created_at: record.created_at.0,
    })
}

fn show_scheduled(run: Submission) -> Result<ScheduledRun, serde_json::Error> {
    Ok(ScheduledRun {
        workflow_id: run.payload.workflow.into(),
        params: JsonText::new(&run.payload.params)?,
        scope: show_scope(&run.scope),
        queue: run.queue.to_string(),
        timeout_ms: run.payload.timeout.map(|timeout| timeout.0),
        max_attempts: run.max_attempts,
        title: run.payload.title.map(Into::into),
    })
}

fn show_scope(scope: &ModelScope) -> Option<Scope> {
    let names = |names: &BTreeSet<Name>| names.iter().map(Name::to_string).collect();
    let pairs =
        |labels: &Labels| labels.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
    match scope {
        ModelScope::All => None,
        ModelScope::Workers(pcs) => Some(Scope::Pcs(names(pcs))),
        ModelScope::Devices(devices) => Some(Scope::Devices(names(devices))),
        ModelScope::Labels(labels) => Some(Scope::Labels(pairs(labels))),
    }
}

fn refuse_cron(fields: &Fields<'_>, fault: &CronError) -> Problem {
    match fault.is_about_timezone() {
        true => fields.refuse("timezone", "must be an IANA time zone such as UTC or Europe/Vienna"),
        false => fields.refuse("cron", &format!("must be a cron expression: {fault}")),
    }
}

const CRON_CHARS_MAX: usize = 200;
const TIMEZONE_CHARS_MAX: usize = 64;
/// All schedules are held in memory, so none may be large.
const BYTES_MAX: usize = 262_144;

/// Policies for missed slots.
pub const MISSED_WORDS: [&str; 2] = ["skip", "once"];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden;
    use muster_model::{ScheduleId, SubmissionKey};
    use serde_json::json;

    fn read(body: &Value) -> Result<ScheduleDraft, Problem> {
        read_schedule(body, Millis(1_200_000), Timestamp(0))
    }

    fn with(key: &str, value: Value) -> Value {
        let mut body = json!({"cron": "0 6 * * *", "run": {"workflow_id": "w1"}});
        body[key] = value;
        body
    }

    /// Q17: a schedule needs a cron expression and a run; the rest has defaults.
    #[test]
    fn the_least_a_schedule_needs() {
        let draft = read(&with("missed", Value::Null)).unwrap();
        assert_eq!((&*draft.timezone, draft.missed), ("UTC", Missed::Skip));
        assert_eq!(draft.next_at, Some(Timestamp(6 * 3_600_000)));
        assert_eq!((&*draft.run.payload.workflow, draft.run.scope), ("w1", ModelScope::All));
        let seoul = read(&with("timezone", json!("asia/seoul"))).unwrap();
        assert_eq!((&*seoul.timezone, seoul.next_at), ("Asia/Seoul", Some(Timestamp(21 * 3_600_000))));
        assert_eq!(read(&with("missed", json!("once"))).unwrap().missed, Missed::Once);
    }

    /// Q17: what is wrong is named, down to the field of the run, and the text says what is expected.
    #[test]
    fn what_is_wrong_is_named() {
        for (key, value, field, word) in [
            ("cron", json!("60 * * * *"), "cron", "minute"),
            ("cron", json!("* * * * * *"), "cron", "5: minute hour"),
            ("cron", json!("@daily"), "cron", "5: minute hour"),
            ("cron", json!("0 0 31 2 *"), "cron", "no slot would ever come"),
            ("cron", json!("1".repeat(201)), "cron", "200"),
            ("cron", json!(7), "cron", "string"),
            ("cron", Value::Null, "cron", "missing"),
            ("timezone", json!("Mars/Olympus"), "timezone", "IANA"),
            ("timezone", json!("z".repeat(65)), "timezone", "64"),
            ("missed", json!("twice"), "missed", "skip"),
            ("run", Value::Null, "run", "missing"),
            ("run", json!({}), "run.workflow_id", "missing"),
            ("run", json!({"workflow_id": "w", "scope": {"pcs": []}}), "run.scope.pcs", "empty"),
            ("run", json!({"workflow_id": "w", "cron": "x"}), "run.cron", ""),
            ("run", json!({"workflow_id": "w", "params": {"a": "x".repeat(BYTES_MAX)}}), "run", "bytes"),
            ("name", json!("x"), "name", ""),
        ] {
            let problem = read(&with(key, value)).unwrap_err();
            assert_eq!((problem.status().as_u16(), problem.field()), (422, Some(field)), "{problem}");
            assert!(problem.detail().contains(word), "{problem}");
        }
    }

    /// Q17: what is shown as `run` can be handed in again.
    #[test]
    fn a_shown_run_can_be_handed_in() {
        for scope in
            [Value::Null, json!({"pcs": ["a"]}), json!({"devices": ["b"]}), json!({"labels": {"a": "b"}})]
        {
            let full = json!({"workflow_id": "w", "params": {"n": 1.50}, "scope": scope, "queue": "q",
                "timeoutMs": 1000, "max_attempts": 2, "title": "t"});
            let mut draft = read(&with("run", full)).unwrap();
            draft.run.key = SubmissionKey::new("k").ok();
            let record = ScheduleRecord {
                id: ScheduleId(7),
                draft: draft.clone(),
                last_slot: None,
                last_job: None,
                created_at: Timestamp(1),
            };
            let view = show_schedule(record).unwrap();
            let shown = serde_json::to_value(&view).unwrap();
            golden::check(&view, &shown);
            let again = read(&with("run", shown["run"].clone())).unwrap();
            assert_eq!((again.run.scope, again.run.payload), (draft.run.scope, draft.run.payload));
        }
    }
}
