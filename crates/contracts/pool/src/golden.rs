//! The examples of the source document: requests and responses, byte for byte.

/// The body of `POST /workers/register` (P3).
pub const REGISTER_REQUEST: &str = r#"{
  "name": "worker-owner-a",
  "region": "sa-east-1",
  "public_key": "YWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWE"
}"#;

/// Its answer, to the tenth user (P3).
pub const REGISTERED: &str = r#"{"id":1,"name":"worker-owner-a","owner_user_id":10,"status":"offline","region":"sa-east-1","specs_json":null,"public_key":"YWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWE","last_seen_at":null}"#;

/// The answer to a heartbeat (P5).
pub const SEEN: &str = r#"{"worker_id":1,"last_seen_at":"2026-02-08T12:30:45.123000Z"}"#;

/// The answer to a poll, with a nonce of ours (P6).
pub const ASSIGNMENT: &str = r#"{"assignment_id":15,"job":{"prompt": "hello"},"nonce":"00000000000000000000000000000001","cost_hint_tokens":99}"#;

/// The answer to a submission (P7).
pub const SUBMITTED: &str =
    r#"{"assignment_id":15,"status":"completed","finished_at":"2026-02-08T12:35:10.000000Z"}"#;

/// The body of `POST /jobs/work` with two results and one signature over both (P20).
pub const WORK_REQUEST: &str = r#"{"worker_id":7,"submit":[{"assignment_id":65,"nonce":"00000000000000000000000000000001"},{"assignment_id":129,"nonce":"00000000000000000000000000000002","output_hash":"h"}],"batch_signature":"Z-ifJbdwJdad58LHUjOzxYHdzvIJN4wIOQHgpzSGHZ3CI8kEw9UzMTHiWtls7y2XSaDtl60QT33PhKIObv4JDQ","max":0}"#;

/// A completed job, with all of the contract's fields in its order (P13).
pub const JOB: &str = r#"{"id":1,"status":"completed","payload":{"prompt": "hello"},"priority":5,"region":"eu","output":{"ok": true},"output_hash":"h","error_message":null,"artifact_uri":"s3://x","metrics_json":{},"created_at":"2026-02-08T12:30:45.123000Z","finished_at":"2026-02-08T12:30:45.123000Z"}"#;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Assignment, Job, Moment, Receipt, RegisterRequest, Registered, Seen, SubmitRequest, Submitted,
        UnverifiedResults, WorkRequest, Worker, WorkerSummary, to_bytes,
    };
    use muster_model::{
        AssignmentId, AssignmentRecord, AssignmentState, Demand, Fence, PoolEndRecord, PoolHandout,
        PoolJobDraft, PoolJobId, PoolJobRecord, PoolJobStatus, PoolResult, PoolTaken, PoolWorkerId,
        PoolWorkerRecord, PoolWorkerStatus, Specs, Timestamp, UserId,
    };
    use muster_proof::{KeyPair, signed_bytes};
    use serde::Serialize;
    use serde_json::json;
    use std::sync::Arc;

    /// 2026-02-08T12:30:45.123Z
    const AT: Timestamp = Timestamp(1_770_553_845_123);

    fn text(body: &impl Serialize) -> String {
        String::from_utf8(to_bytes(body)).unwrap()
    }

    /// P3: the request and the answer of the source document.
    #[test]
    fn golden_registered() {
        let parsed = RegisterRequest::parse(REGISTER_REQUEST.as_bytes(), UserId(10)).unwrap();
        assert_eq!((&*parsed.name, parsed.region.as_deref()), ("worker-owner-a", Some("sa-east-1")));
        assert_eq!((parsed.slots, parsed.specs_json), (1, None));
        assert_eq!(text(&Registered::of(worker())), REGISTERED);
        let read = WorkerSummary::read(REGISTERED.as_bytes(), false).unwrap();
        assert_eq!((read.id, &*read.name, read.key.is_some()), (1, "worker-owner-a", true));
    }

    /// P4, P15: the answer of the source document with the standing that only the coordinator knows; memory knows best when
    /// a worker was seen.
    #[test]
    fn a_worker_shows_its_standing() {
        let worker_of = |record, seen| serde_json::to_value(Worker::of(record, seen)).unwrap();
        let shown = worker_of(PoolWorkerRecord { dissents: 1, ..worker() }, Some(AT));
        assert_eq!(shown["last_seen_at"], "2026-02-08T12:30:45.123000Z");
        assert_eq!((&shown["reputation"], &shown["dissents"]), (&json!(0.5), &json!(1)));
        assert_eq!((&shown["draining"], &shown["ban_reason"]), (&json!(false), &json!(null)));
        let later = PoolWorkerRecord { last_seen: Some(Timestamp(AT.0 + 1)), ..worker() };
        let shown = Worker::of(later, Some(AT));
        assert_eq!(shown.registered.last_seen_at, Some(Moment(Timestamp(AT.0 + 1))));
    }

    /// P5: the answer of the source document.
    #[test]
    fn golden_seen() {
        assert_eq!(text(&Seen { worker_id: 1, last_seen_at: Moment(AT) }), SEEN);
        let read = Seen::read(SEEN.as_bytes(), false).unwrap();
        assert_eq!(read.as_deref(), Some("2026-02-08T12:30:45.123000Z"));
    }

    /// P6: the answer of the source document, with a nonce of ours.
    #[test]
    fn golden_assignment() {
        let handout = PoolHandout { assignment: AssignmentId(15), fence: Fence(1), priority: 99 };
        let shown = Assignment::of(&handout, r#"{"prompt": "hello"}"#.into());
        assert_eq!(text(&shown), ASSIGNMENT);
        assert_eq!(Assignment::read(ASSIGNMENT.as_bytes()).unwrap(), shown);
    }

    /// P7: the answer of the source document, byte for byte.
    #[test]
    fn golden_submitted() {
        let taken = PoolTaken {
            assignment: AssignmentId(15),
            status: PoolJobStatus::Completed,
            at: Timestamp(1_770_554_110_000),
        };
        assert_eq!(text(&Submitted::of(&taken)), SUBMITTED);
        assert_eq!(Submitted::read_assignment(SUBMITTED.as_bytes()).unwrap(), 15);
    }

    fn worker() -> PoolWorkerRecord {
        PoolWorkerRecord {
            id: PoolWorkerId(1),
            owner: UserId(10),
            name: "worker-owner-a".into(),
            status: PoolWorkerStatus::Offline,
            region: Some("sa-east-1".into()),
            specs: Specs::default(),
            specs_json: None,
            public_key: Some("YWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWE".into()),
            slots: 1,
            draining: false,
            ban_reason: None,
            agreements: 0,
            dissents: 0,
            last_seen: None,
            created_at: AT,
        }
    }

    fn result(pair: &KeyPair, fence: Fence) -> PoolResult {
        let signed = signed_bytes(65, &fence.to_string(), Some("h"));
        PoolResult {
            assignment: AssignmentId(65),
            nonce: Some(fence),
            signature: pair.sign(&signed).to_text().into(),
            public_key: pair.public_key().to_text().into(),
            output: Some(r#"{"ok": true}"#.into()),
            output_hash: Some("h".into()),
            hash_matches: None,
            vote: Some("v".into()),
            error: None,
            artifact_uri: Some("s3://x".into()),
            metrics: Some("{}".into()),
            digest: [0; 32],
            batch: None,
        }
    }

    fn assignment(state: AssignmentState) -> AssignmentRecord {
        let fence = Fence(9);
        AssignmentRecord {
            id: AssignmentId(65),
            worker: PoolWorkerId(4),
            owner: UserId(10),
            fence,
            state,
            granted_at: AT,
            timeout_at: None,
            ended_at: Some(AT),
            digest: None,
            output_hash: Some("h".into()),
            vote: Some("v".into()),
            result: Some(Arc::new(result(&KeyPair::from_seed(&[1; 32]), fence))),
        }
    }

    fn draft() -> PoolJobDraft {
        PoolJobDraft {
            payload: r#"{"prompt": "hello"}"#.into(),
            priority: 5,
            demand: Demand { region: Some("eu".into()), ..Demand::default() },
            requires_json: None,
            max_attempts: None,
            timeout: None,
            verify_output_hash: false,
            redundancy: 1,
        }
    }

    /// P13: a job has exactly the contract's fields, in its order, and its output as its worker wrote it.
    #[test]
    fn golden_job() {
        let job = PoolJobRecord {
            id: PoolJobId(1),
            client: UserId(1),
            max_attempts: 3,
            draft: draft(),
            created_at: AT,
        };
        let end = PoolEndRecord {
            job: job.id,
            client: job.client,
            status: PoolJobStatus::Completed,
            assignment: Some(AssignmentId(65)),
            error: None,
            at: AT,
        };
        let result = assignment(AssignmentState::Completed).result;
        let shown = Job::of(job, PoolJobStatus::Completed, Some(end), result.as_deref());
        assert_eq!(text(&shown), JOB);
        assert_eq!(text(&serde_json::from_str::<Job>(JOB).unwrap()), JOB);
        let newer: Job = serde_json::from_str(&JOB.replace("completed", "resting")).unwrap();
        assert_eq!(newer.status, "resting", "a client shows words that a newer server added");
    }

    /// P17: a receipt of ours checks out offline, with its key and against it.
    #[test]
    fn a_receipt_checks_out() {
        let shown = Receipt::of(&assignment(AssignmentState::Completed)).unwrap();
        let text = serde_json::to_string(&shown).unwrap();
        let receipt = muster_proof::Receipt::parse(text.as_bytes()).unwrap();
        receipt.check(Some(&shown.public_key)).unwrap();
        assert_eq!(receipt.to_json(), text);
        assert!(Receipt::of(&assignment(AssignmentState::Failed)).is_none());
        let bare = AssignmentRecord { result: None, ..assignment(AssignmentState::Completed) };
        assert!(Receipt::of(&bare).is_none());
    }

    /// P20: so does one whose signature covers many results.
    #[test]
    fn a_receipt_of_a_batch_checks_out() {
        let pair = KeyPair::from_seed(&[1; 32]);
        let result = |n: u64| SubmitRequest {
            assignment_id: 64 * n + 1,
            nonce: Fence(8 + u128::from(n)).to_string().into(),
            ..SubmitRequest::default()
        };
        let request = WorkRequest {
            worker_id: 4,
            submit: (1..=3).map(result).collect(),
            batch_signature: None,
            max: 0,
            wait_ms: 0,
            start: false,
        };
        let parsed = WorkRequest::parse(&to_bytes(&request.signed(&pair))).unwrap();
        let UnverifiedResults::Batch(batch) = parsed.results else { panic!("it is a batch") };
        let first = batch.verify(&pair.public_key(), &pair.public_text()).remove(0).unwrap();
        let record =
            AssignmentRecord { result: Some(Arc::new(first)), ..assignment(AssignmentState::Completed) };
        let shown = Receipt::of(&record).unwrap();
        assert_eq!((shown.signature.as_ref(), shown.batch.as_ref().unwrap().count), (None, 3));
        let text = serde_json::to_string(&shown).unwrap();
        let receipt = muster_proof::Receipt::parse(text.as_bytes()).unwrap();
        receipt.check(Some(&shown.public_key)).unwrap();
        assert_eq!(receipt.to_json(), text);
    }
}
