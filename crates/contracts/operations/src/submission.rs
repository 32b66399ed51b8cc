//! A run that a client submits (Q6, Q15).

use http::HeaderMap;
use muster_model::{Digest, JobPayload, Labels, Millis, Name, Scope, Submission, SubmissionKey};
use muster_problem::{Fields, Item, Problem, WireMutant, planted};
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use std::collections::BTreeSet;

/// Reads the body of `POST /api/runs`. A field that is not known is refused: a typo must not pass silently.
///
/// # Errors
/// 422 naming the field that is missing or wrong.
pub fn read_submission(body: &Value, attempt_timeout: Millis) -> Result<Submission, Problem> {
    let run = read_run(&Fields::of(body)?, attempt_timeout)?;
    Ok(Submission { digest: digest(&body.to_string()), ..run })
}

/// Reads the fields of a run, wherever they stand; whose repeat it would be is the caller's to say.
pub(crate) fn read_run(fields: &Fields<'_>, attempt_timeout: Millis) -> Result<Submission, Problem> {
    fields.only(&["workflow_id", "params", "scope", "queue", "timeoutMs", "max_attempts", "title"])?;
    let max_attempts = fields.opt_integer_in("max_attempts", 1..=100)?;
    let timeout_max = attempt_timeout.0 - i64::from(planted(WireMutant::RunTimeoutLimit));
    Ok(Submission {
        key: None,
        digest: Digest(0),
        queue: fields.opt_name("queue")?.map_or_else(default_queue, Ok)?,
        scope: scope(fields)?,
        max_attempts: max_attempts.and_then(|attempts| u16::try_from(attempts).ok()),
        payload: JobPayload {
            title: fields.opt_text("title", TITLE_CHARS_MAX)?.map(Into::into),
            workflow: fields.name("workflow_id")?.as_str().into(),
            params: params(fields)?,
            timeout: fields.opt_integer_in("timeoutMs", 1..=timeout_max)?.map(Millis),
            schedule: None,
        },
    })
}

/// Reads the header `Idempotency-Key`, if it is there.
///
/// # Errors
/// 422 naming the field that is missing or wrong.
pub fn read_key(headers: &HeaderMap) -> Result<Option<SubmissionKey>, Problem> {
    let mut values = headers.get_all(KEY_HEADER).iter();
    let Some(value) = values.next().filter(|_| !planted(WireMutant::RunKeyNotRead)) else {
        return Ok(None);
    };
    if values.next().is_some() {
        return Err(Problem::unprocessable(KEY_HEADER, "stands twice in the request"));
    }
    let text = value.to_str().map_err(|_| Problem::unprocessable(KEY_HEADER, "must be printable ASCII"))?;
    let key =
        SubmissionKey::new(text).map_err(|error| Problem::unprocessable(KEY_HEADER, &error.to_string()))?;
    Ok(Some(key))
}

fn default_queue() -> Result<Name, Problem> {
    Name::new("default").map_err(|error| Problem::internal(&error))
}

fn params(fields: &Fields<'_>) -> Result<Box<str>, Problem> {
    match fields.optional("params") {
        Some(params) => params.fields().map(|_| params.value.to_string().into()),
        None => Ok("{}".into()),
    }
}

fn scope(fields: &Fields<'_>) -> Result<Scope, Problem> {
    let Some(scope) = fields.opt_fields("scope")? else {
        return Ok(Scope::All);
    };
    scope.only(&["pcs", "devices", "labels"])?;
    let told: Vec<&str> = scope.object().keys().map(String::as_str).collect();
    match told[..] {
        ["pcs"] => names(&scope.required("pcs")?).map(Scope::Workers),
        ["devices"] => names(&scope.required("devices")?).map(Scope::Devices),
        ["labels"] => labels(&scope.required("labels")?).map(Scope::Labels),
        _ => Err(fields.refuse("scope", "must have exactly one of pcs, devices, labels")),
    }
}

fn names(list: &Item<'_>) -> Result<BTreeSet<Name>, Problem> {
    let items = list.items(ENTRIES_MAX)?;
    if items.is_empty() {
        return Err(list.refuse("must not be empty"));
    }
    items.iter().map(Item::name).collect()
}

fn labels(map: &Item<'_>) -> Result<Labels, Problem> {
    let labels = super::device::labels(&map.fields()?, ENTRIES_MAX)?;
    if labels.is_empty() {
        return Err(map.refuse("must not be empty"));
    }
    Ok(labels)
}

/// Tells one body from another.
pub(crate) fn digest(text: &str) -> Digest {
    let hash: [u8; 32] = Sha256::digest(text.as_bytes()).into();
    let mut half = [0; 16];
    half.copy_from_slice(&hash[..16]);
    Digest(u128::from_be_bytes(half))
}

const KEY_HEADER: &str = "Idempotency-Key";
pub(crate) const TITLE_CHARS_MAX: usize = 200;
const ENTRIES_MAX: usize = 10_000;

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(body: &Value) -> Result<Submission, Problem> {
        read_submission(body, Millis(1_200_000))
    }

    fn blamed(body: &Value) -> String {
        let problem = read(body).unwrap_err();
        assert_eq!(problem.status(), 422, "{body}");
        problem.field().unwrap().to_owned()
    }

    fn with(key: &str, value: Value) -> Value {
        json!({"workflow_id": "w1", key: value})
    }

    /// Q15: the least a run needs, and what the rest defaults to.
    #[test]
    fn a_run_needs_a_workflow_only() {
        for body in [
            json!({"workflow_id": "w1"}),
            json!({"workflow_id": "w1", "params": null, "scope": null, "queue": null, "timeoutMs": null,
                "max_attempts": null, "title": null}),
        ] {
            let run = read(&body).unwrap();
            assert_eq!((run.queue.as_str(), &run.scope, run.max_attempts), ("default", &Scope::All, None));
            let payload = JobPayload {
                title: None,
                workflow: "w1".into(),
                params: "{}".into(),
                timeout: None,
                schedule: None,
            };
            assert_eq!(run.payload, payload);
        }
    }

    /// Q15: every field of a run.
    #[test]
    fn a_full_run_is_understood() {
        let body = json!({"workflow_id": "w1", "params": {"b": 1, "a": [true]}, "scope": {"pcs": ["PC-02", "PC-01"]},
            "queue": "night", "timeoutMs": 180_000, "max_attempts": 5, "title": "Nightly"});
        let run = read(&body).unwrap();
        let pcs = ["PC-01", "PC-02"].map(|pc| Name::new(pc).unwrap());
        assert_eq!(run.scope, Scope::Workers(BTreeSet::from(pcs)));
        assert_eq!((run.queue.as_str(), run.max_attempts), ("night", Some(5)));
        assert_eq!(&*run.payload.params, r#"{"a":[true],"b":1}"#);
        assert_eq!(
            (run.payload.title.as_deref(), run.payload.timeout),
            (Some("Nightly"), Some(Millis(180_000)))
        );
        let labels = read(&with("scope", json!({"labels": {"rack": "7"}}))).unwrap().scope;
        assert_eq!(labels, Scope::Labels([(Name::new("rack").unwrap(), Name::new("7").unwrap())].into()));
        assert!(matches!(read(&with("scope", json!({"devices": ["d"]}))).unwrap().scope, Scope::Devices(_)));
    }

    /// Q15: a typo is refused by name instead of silently doing something else.
    #[test]
    fn an_unknown_field_is_refused() {
        assert_eq!(blamed(&with("max_attempt", json!(3))), "max_attempt");
        assert_eq!(blamed(&with("scope", json!({"pc": ["PC-01"]}))), "scope.pc");
    }

    /// Q15: a scope says exactly one thing, and says it.
    #[test]
    fn a_scope_has_one_key() {
        for bad in [json!({}), json!({"pcs": ["a"], "devices": ["b"]}), json!([]), json!("all")] {
            assert_eq!(blamed(&with("scope", bad)), "scope");
        }
        for key in ["pcs", "devices"] {
            let path = format!("scope.{key}");
            for bad in [json!([]), json!(null), json!("a"), json!(vec!["d"; ENTRIES_MAX + 1])] {
                assert_eq!(blamed(&with("scope", json!({key: bad}))), path);
            }
            assert_eq!(blamed(&with("scope", json!({key: ["ok", "../x"]}))), format!("{path}[1]"));
        }
        assert_eq!(blamed(&with("scope", json!({"labels": {}}))), "scope.labels");
        assert_eq!(blamed(&with("scope", json!({"labels": {"a": 1}}))), "scope.labels.a");
    }

    /// Q15: `timeoutMs` is at most the attempt timeout; other figures have bounds too.
    #[test]
    fn figures_have_bounds() {
        for bad in [json!(0), json!(1_200_001), json!(-1), json!("5"), json!(1.5)] {
            assert_eq!(blamed(&with("timeoutMs", bad)), "timeoutMs");
        }
        assert!(read(&with("timeoutMs", json!(1_200_000))).is_ok());
        for bad in [json!(0), json!(101), json!(true)] {
            assert_eq!(blamed(&with("max_attempts", bad)), "max_attempts");
        }
    }

    /// Q15: texts are texts, and not endless.
    #[test]
    fn texts_are_checked() {
        for bad in [json!(""), json!("a/b"), json!(7), json!("x".repeat(129)), json!(null)] {
            assert_eq!(blamed(&json!({"workflow_id": bad})), "workflow_id");
        }
        assert_eq!(blamed(&with("title", json!("x".repeat(201)))), "title");
        assert_eq!(blamed(&with("queue", json!(""))), "queue");
        for bad in [json!([]), json!("{}"), json!(1)] {
            assert_eq!(blamed(&with("params", bad)), "params");
        }
        assert_eq!(blamed(&json!("w1")), "");
    }

    /// Q15: the order of keys does not make another body; anything else does.
    #[test]
    fn a_repeat_is_recognised() {
        let of = |text: &str| read(&serde_json::from_str(text).unwrap()).unwrap().digest;
        let first = of(r#"{"workflow_id":"w","params":{"a":1,"b":2}}"#);
        assert_eq!(first, of(r#"{ "params": {"b": 2, "a": 1}, "workflow_id": "w" }"#));
        assert_ne!(first, of(r#"{"workflow_id":"w","params":{"a":1,"b":3}}"#));
    }

    /// Q15: an idempotency key has 1 to 128 printable characters and stands once.
    #[test]
    fn a_key_is_printable() {
        let read = |values: &[&[u8]]| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(KEY_HEADER, http::HeaderValue::from_bytes(value).unwrap());
            }
            read_key(&headers)
        };
        assert_eq!(read(&[]).unwrap(), None);
        assert_eq!(read(&[b"order 7"]).unwrap().unwrap().as_str(), "order 7");
        for bad in [&[b"" as &[u8]] as &[&[u8]], &[b"a\tb"], &[b"\xff"], &[&[b'x'; 129]], &[b"a", b"a"]] {
            assert_eq!(read(bad).unwrap_err().field(), Some(KEY_HEADER));
        }
    }
}
