use super::*;
use crate::to_bytes;
use http::HeaderValue;

fn draft_of(more: &str) -> Result<PoolJobDraft, String> {
    let body = format!(r#"{{"payload": {{"prompt": "hello"}}{more}}}"#);
    let read = JobRequest::parse(body.as_bytes(), UserId(1)).map_err(|problem| problem.detail().to_owned());
    read.map(|mut submission| submission.jobs.remove(0))
}

/// P13: only the payload is needed; it is kept letter by letter, and any JSON will do.
#[test]
fn a_job_is_its_payload() {
    let job = draft_of("").unwrap();
    assert_eq!(&*job.payload, r#"{"prompt": "hello"}"#);
    assert_eq!((job.priority, job.redundancy, job.max_attempts, job.timeout), (0, 1, None, None));
    assert!(!job.verify_output_hash && job.demand == Demand::default());
    for payload in ["null", "[1, 2]", "\"x\"", "1.50"] {
        let body = format!(r#"{{"payload":{payload}}}"#);
        assert_eq!(&*JobRequest::parse(body.as_bytes(), UserId(1)).unwrap().jobs[0].payload, payload);
    }
    assert_eq!(JobRequest::parse(b"{}", UserId(1)).unwrap_err().detail(), "body.payload: Field required");
}

/// P13, P14, P15: what a job may ask for.
#[test]
fn a_job_says_what_it_needs() {
    let job = draft_of(
        r#","priority":99,"region":"sa-east-1","requires":{"vram": 16},"max_attempts":5,"timeout_s":0.0105,
        "verify_output_hash":true,"redundancy":3"#,
    )
    .unwrap();
    assert_eq!((job.priority, job.redundancy, job.max_attempts), (99, 3, Some(5)));
    assert_eq!((job.timeout, job.requires_json.as_deref()), (Some(Millis(11)), Some(r#"{"vram": 16}"#)));
    assert!(job.verify_output_hash && job.demand.requires.get("vram").is_some());
    assert_eq!(job.demand.region.as_deref(), Some("sa-east-1"));
}

/// P13, P15: what a job cannot ask for.
#[test]
fn a_job_has_limits() {
    for (more, place) in [
        (r#","priority":101"#, "priority"),
        (r#","priority":-1"#, "priority"),
        (r#","priority":"high""#, "priority"),
        (r#","requires":[]"#, "requires"),
        (r#","max_attempts":0"#, "max_attempts"),
        (r#","max_attempts":61"#, "max_attempts"),
        (r#","timeout_s":0"#, "timeout_s"),
        (r#","timeout_s":-1.5"#, "timeout_s"),
        (r#","timeout_s":2592001"#, "timeout_s"),
        (r#","timeout_s":true"#, "timeout_s"),
        (r#","redundancy":0"#, "redundancy"),
        (r#","redundancy":16"#, "redundancy"),
        (r#","redundancy":3,"max_attempts":2"#, "redundancy"),
        (r#","verify_output_hash":"yes""#, "verify_output_hash"),
    ] {
        let refused = draft_of(more).unwrap_err();
        assert!(refused.starts_with(&format!("body.{place}: Input should be")), "{more}: {refused}");
    }
    assert!(draft_of(r#","timeout_s":2592000,"priority":100,"max_attempts":60,"redundancy":15"#).is_ok());
}

/// P18: 1 to 1000 jobs; the one that is wrong is named.
#[test]
fn a_batch_names_the_job_that_is_wrong() {
    let batch = |jobs: &str| {
        BatchRequest::parse(format!(r#"{{"jobs":[{jobs}]}}"#).as_bytes(), UserId(1), 9)
            .map_err(|p| p.detail().to_owned())
    };
    assert_eq!(batch(r#"{"payload":1},{"payload":2}"#).unwrap().jobs.len(), 2);
    assert_eq!(batch(r#"{"payload":1},{"priority":2}"#).unwrap_err(), "body.jobs.1.payload: Field required");
    assert!(
        batch(r#"{"payload":"123456789"}"#)
            .unwrap_err()
            .contains("jobs.0.payload: Input should be at most 9")
    );
    assert!(batch("").unwrap_err().contains("at least 1 item"));
    let thousand = r#"{"payload":1},"#.repeat(1000);
    assert_eq!(batch(thousand.trim_end_matches(',')).unwrap().jobs.len(), 1000);
    assert!(batch(&format!(r#"{thousand}{{"payload":1}}"#)).unwrap_err().contains("at most 1000 items"));
}

/// P13: another spelling of the same body is the same body; another route is another thing.
#[test]
fn the_same_body_has_the_same_digest() {
    let of = |body: &str| JobRequest::parse(body.as_bytes(), UserId(1)).unwrap().digest;
    assert_eq!(of(r#"{"payload":1,"priority":2}"#), of(r#" {"priority": 2, "payload": 1}"#));
    assert_ne!(of(r#"{"payload":1}"#), of(r#"{"payload":2}"#));
    let body = br#"{"payload":1,"jobs":[{"payload":1}]}"#;
    let (one, batch) =
        (JobRequest::parse(body, UserId(1)).unwrap(), BatchRequest::parse(body, UserId(1), 9).unwrap());
    assert_ne!(one.digest, batch.digest);
}

/// P13: a key is one header of 1 to 128 printable characters.
#[test]
fn a_key_is_one_header() {
    let keys = |values: &[&str]| {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(IDEMPOTENCY_KEY, HeaderValue::from_str(value).unwrap());
        }
        read_idempotency_key(&headers)
    };
    assert_eq!(keys(&[]).unwrap(), None);
    assert_eq!(keys(&["order-7"]).unwrap().unwrap().as_str(), "order-7");
    for wrong in [&["a", "a"][..], &[""], &["\u{e4}"], &[&"x".repeat(129)]] {
        let refused = keys(wrong).unwrap_err();
        assert!(
            refused.status() == 422 && refused.detail().starts_with("header.Idempotency-Key: Input"),
            "{refused}"
        );
    }
}

/// P13, P18: the server parses what a client writes.
#[test]
fn jobs_are_parsed_as_they_were_written() {
    let plain = JobRequest::new(r#"{"n": 123456789012345678901234567890}"#.into());
    let text = r#"{"payload":{"n": 123456789012345678901234567890},"priority":0,"verify_output_hash":false}"#;
    assert_eq!(to_bytes(&plain), text.as_bytes());
    let full = JobRequest {
        priority: 9,
        region: Some("eu".into()),
        requires: Some(r#"{"vram":8}"#.into()),
        max_attempts: Some(5),
        timeout_s: Some(2.5),
        verify_output_hash: true,
        redundancy: Some(3),
        ..plain.clone()
    };
    let parsed = JobRequest::parse(&to_bytes(&full), UserId(1)).unwrap().jobs.remove(0);
    assert_eq!((parsed.priority, parsed.redundancy, parsed.max_attempts), (9, 3, Some(5)));
    assert_eq!(
        (parsed.timeout, parsed.requires_json.as_deref()),
        (Some(Millis(2_500)), Some(r#"{"vram":8}"#))
    );
    let whole = JobRequest { timeout_s: Some(60.0), ..plain.clone() };
    assert!(String::from_utf8(to_bytes(&whole)).unwrap().contains(r#""timeout_s":60,"#));
    let batch = BatchRequest { jobs: vec![plain, full] };
    assert_eq!(BatchRequest::parse(&to_bytes(&batch), UserId(1), 99).unwrap().jobs[1], parsed);
}
