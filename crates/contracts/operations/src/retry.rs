//! Retries of failed devices, and the failures of a run by cause (Q15).

use crate::{
    Failure,
    submission::{TITLE_CHARS_MAX, digest},
};
use muster_model::{JobRecord, Millis, Name, Scope, Submission};
use muster_problem::{Fields, Problem, WireMutant, planted};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Options of a retry.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Retry {
    /// Restricts the retry to rows with this failure.
    pub failure_reason: Option<String>,
    title: Option<String>,
    /// True if devices that are out of service are returned to it, for this run and whatever comes after.
    pub return_to_service: bool,
}

/// Reads the body of `POST /api/runs/{id}/retry`, which may be absent.
///
/// # Errors
/// 422 naming the field that is missing or wrong.
pub fn read_retry(body: Option<&Value>) -> Result<Retry, Problem> {
    let Some(body) = body.filter(|body| !body.is_null()) else {
        return Ok(Retry::default());
    };
    let fields = Fields::of(body)?;
    fields.only(&["failure_reason", "title", "return_to_service"])?;
    let text = |key| fields.opt_text(key, TITLE_CHARS_MAX).map(|text| text.map(str::to_owned));
    let return_to_service = fields.opt_boolean("return_to_service")?.unwrap_or(false);
    let failure_reason = text("failure_reason")?.filter(|_| !planted(WireMutant::RetryReasonNotRead));
    Ok(Retry { failure_reason, title: text("title")?, return_to_service })
}

impl Retry {
    /// The new run; `None` for a run of which the store tells too little.
    #[must_use]
    pub fn submission(
        &self,
        job: JobRecord,
        devices: BTreeSet<Name>,
        attempt_timeout: Millis,
    ) -> Option<Submission> {
        let mut payload = job.payload?;
        payload.title = Some(self.title(payload.title.as_deref().unwrap_or(&job.id.to_string())));
        // The setting may have been another one then.
        payload.timeout = payload.timeout.map(|timeout| timeout.min(attempt_timeout));
        payload.schedule = None;
        Some(Submission {
            key: None,
            // Of what was asked for, not of what came of it: devices may have failed since the first time.
            digest: digest(&format!("retry {} {:?} {:?}", job.id, self.failure_reason, self.title)),
            queue: job.queue,
            scope: Scope::Devices(devices),
            max_attempts: Some(job.max_attempts),
            payload,
        })
    }

    /// True if a row that failed with that error is meant.
    #[must_use]
    pub fn means(&self, error: Option<&str>) -> bool {
        self.failure_reason.as_deref().is_none_or(|reason| reason == failure_of(error))
    }

    fn title(&self, of: &str) -> Box<str> {
        let title = self.title.clone().unwrap_or_else(|| format!("retry of {of}"));
        title.chars().take(TITLE_CHARS_MAX).collect::<String>().into()
    }
}

/// Class of an error, shared by errors of its kind: the failure reason if there is one, else the text before the first
/// colon.
#[must_use]
pub fn failure_of(error: Option<&str>) -> &str {
    let error = error.unwrap_or_default();
    let kind = error.split_once(": ").map_or(error, |(kind, _)| kind).trim();
    let kind = kind.char_indices().nth(TITLE_CHARS_MAX).map_or(kind, |(end, _)| &kind[..end]);
    if kind.is_empty() { "unknown" } else { kind }
}

/// Lists the failures with their counts, the most frequent first.
#[must_use]
pub fn show_failures(counts: BTreeMap<String, u64>) -> Vec<Failure> {
    let mut failures: Vec<Failure> =
        counts.into_iter().map(|(error, count)| Failure { error, count }).collect();
    failures.sort_by_key(|failure| std::cmp::Reverse(failure.count));
    failures
}

#[cfg(test)]
mod tests {
    use super::*;
    use muster_model::{JobId, JobOutcome, JobPayload, JobStatus, ScheduleId, Timestamp};
    use serde_json::json;

    fn job(title: Option<&str>) -> JobRecord {
        JobRecord {
            id: JobId::new(Timestamp(1), 7),
            seq: 1,
            queue: Name::new("night").unwrap(),
            status: JobStatus::Failed,
            outcome: JobOutcome::Failed,
            scope: Scope::All,
            max_attempts: 2,
            tasks: 3,
            open: false,
            created_at: Timestamp(1),
            started_at: None,
            completed_at: None,
            error: None,
            payload: Some(JobPayload {
                title: title.map(Into::into),
                workflow: "w".into(),
                params: r#"{"a":1}"#.into(),
                timeout: Some(Millis(90_000)),
                schedule: Some(ScheduleId(1)),
            }),
        }
    }

    fn again(body: Value, job: JobRecord) -> Submission {
        let devices = BTreeSet::from([Name::new("d1").unwrap()]);
        read_retry(Some(&body)).unwrap().submission(job, devices, Millis(60_000)).unwrap()
    }

    /// Q15: a run is tried again as it was, but for the devices that failed, and says whose repeat it is.
    #[test]
    fn a_retry_is_the_same_run_for_fewer_devices() {
        let made = again(json!({}), job(Some("Friday")));
        assert_eq!((made.queue.as_str(), made.max_attempts), ("night", Some(2)));
        assert_eq!(made.scope, Scope::Devices([Name::new("d1").unwrap()].into()));
        let JobPayload { title, workflow, params, timeout, schedule } = made.payload;
        assert_eq!((&*workflow, &*params, schedule), ("w", r#"{"a":1}"#, None));
        assert_eq!((title.as_deref(), timeout), (Some("retry of Friday"), Some(Millis(60_000))));
        let nameless = again(json!({"failure_reason": null}), job(None)).payload.title.unwrap();
        assert_eq!(&*nameless, format!("retry of {}", job(None).id));
        assert_eq!(
            again(json!({"title": "once more"}), job(None)).payload.title.as_deref(),
            Some("once more")
        );
        let long = again(json!({}), job(Some(&"é".repeat(200)))).payload.title.unwrap();
        assert_eq!(long.chars().count(), 200);
    }

    /// Q15: the same wish is recognised as a repeat, another one is not.
    #[test]
    fn a_repeat_is_recognised() {
        let first = again(json!({}), job(None)).digest;
        assert_eq!(again(json!({"title": null}), job(Some("t"))).digest, first);
        assert_ne!(again(json!({"failure_reason": "x"}), job(None)).digest, first);
        let other = JobRecord { id: JobId::new(Timestamp(1), 8), ..job(None) };
        assert_ne!(again(json!({}), other).digest, first);
    }

    /// Q15: a typo is refused by name.
    #[test]
    fn what_is_not_known_is_refused() {
        for (body, field) in [
            (json!({"reason": "x"}), "reason"),
            (json!({"failure_reason": 1}), "failure_reason"),
            (json!({"title": "x".repeat(201)}), "title"),
            (json!({"return_to_service": "yes"}), "return_to_service"),
            (json!([]), ""),
        ] {
            assert_eq!(read_retry(Some(&body)).unwrap_err().field(), Some(field));
        }
        assert_eq!(read_retry(None).unwrap(), Retry::default());
        assert_eq!(read_retry(Some(&Value::Null)).unwrap(), Retry::default());
    }

    /// Q9, Q11, N13: failures are of a kind when their reason is the same, whatever else is told.
    #[test]
    fn failures_have_kinds() {
        assert_eq!(failure_of(Some("adb_offline: e1 is gone")), "adb_offline");
        assert_eq!(failure_of(Some("adb_offline")), "adb_offline");
        assert_eq!(failure_of(Some("Task device timeout: exceeded 20 minutes")), "Task device timeout");
        assert_eq!(failure_of(Some("see http://x:1")), "see http://x:1");
        assert_eq!((failure_of(None), failure_of(Some(": x"))), ("unknown", "unknown"));
        assert_eq!(failure_of(Some(&"é".repeat(300))).chars().count(), 200);
        let retry = read_retry(Some(&json!({"failure_reason": "adb_offline"}))).unwrap();
        assert!(
            retry.means(Some("adb_offline: e2")) && !retry.means(Some("adb_missing")) && !retry.means(None)
        );
        assert!(Retry::default().means(None));
    }

    /// Q15: what fails most stands first.
    #[test]
    fn the_most_frequent_stands_first() {
        let counts = [("a", 1), ("b", 3), ("c", 1)].map(|(error, count)| (error.to_owned(), count));
        let shown = show_failures(counts.into());
        assert_eq!(shown.iter().map(|failure| &*failure.error).collect::<Vec<_>>(), ["b", "a", "c"]);
    }
}
