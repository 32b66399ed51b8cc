use super::*;
use muster_model::{
    AssignmentId, Demand, Fence, PoolEndRecord, PoolJobRecord, PoolJobStatus, PoolWorkerId, PoolWorkerStatus,
    Specs, UserId,
};
use muster_proof::KeyPair;
use serde_json::json;

/// 2026-02-08T12:30:45.123Z
const AT: Timestamp = Timestamp(1_770_553_845_123);

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

/// P3: the answer of the source document, byte for byte.
#[test]
fn golden_registered() {
    let expected = r#"{"id":1,"name":"worker-owner-a","owner_user_id":10,"status":"offline","region":"sa-east-1","specs_json":null,"public_key":"YWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWE","last_seen_at":null}"#;
    assert_eq!(serde_json::to_string(&show_registered(worker())).unwrap(), expected);
}

/// P4, P15: the answer of the source document with the standing that only the coordinator knows; memory knows best when a
/// worker was seen.
#[test]
fn a_worker_shows_its_standing() {
    let shown =
        serde_json::to_value(show_worker(PoolWorkerRecord { dissents: 1, ..worker() }, Some(AT))).unwrap();
    assert_eq!(shown["last_seen_at"], "2026-02-08T12:30:45.123000Z");
    assert_eq!((&shown["reputation"], &shown["dissents"]), (&json!(0.5), &json!(1)));
    assert_eq!((&shown["draining"], &shown["ban_reason"]), (&json!(false), &json!(null)));
    let later = PoolWorkerRecord { last_seen: Some(Timestamp(AT.0 + 1)), ..worker() };
    assert_eq!(show_worker(later, Some(AT)).registered.last_seen_at, Some(Moment(Timestamp(AT.0 + 1))));
}

/// P6: the answer of the source document, with a nonce of ours.
#[test]
fn golden_assignment() {
    let handout = PoolHandout { assignment: AssignmentId(15), fence: Fence(1), priority: 99 };
    let shown = serde_json::to_string(&show_assignment(&handout, r#"{"prompt": "hello"}"#.into())).unwrap();
    let expected = r#"{"assignment_id":15,"job":{"prompt": "hello"},"nonce":"00000000000000000000000000000001","cost_hint_tokens":99}"#;
    assert_eq!(shown, expected);
}

/// P7: the answer of the source document, byte for byte.
#[test]
fn golden_submitted() {
    let taken = PoolTaken {
        assignment: AssignmentId(15),
        status: PoolJobStatus::Completed,
        at: Timestamp(1_770_554_110_000),
    };
    let expected = r#"{"assignment_id":15,"status":"completed","finished_at":"2026-02-08T12:35:10.000000Z"}"#;
    assert_eq!(serde_json::to_string(&show_taken(&taken)).unwrap(), expected);
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
    let result = Some(assignment(AssignmentState::Completed));
    let view = PoolJobView { job, running: false, end: Some(end), result };
    let expected = r#"{"id":1,"status":"completed","payload":{"prompt": "hello"},"priority":5,"region":"eu","output":{"ok": true},"output_hash":"h","error_message":null,"artifact_uri":"s3://x","metrics_json":{},"created_at":"2026-02-08T12:30:45.123000Z","finished_at":"2026-02-08T12:30:45.123000Z"}"#;
    assert_eq!(serde_json::to_string(&show_job(view)).unwrap(), expected);
}

/// P17: a receipt of ours checks out offline, with its key and against it.
#[test]
fn a_receipt_checks_out() {
    let shown = show_receipt(&assignment(AssignmentState::Completed)).unwrap();
    let text = serde_json::to_string(&shown).unwrap();
    let receipt = muster_proof::Receipt::parse(text.as_bytes()).unwrap();
    receipt.check(Some(&shown.public_key)).unwrap();
    assert_eq!(receipt.to_json(), text);
    assert!(show_receipt(&assignment(AssignmentState::Failed)).is_none());
    let bare = AssignmentRecord { result: None, ..assignment(AssignmentState::Completed) };
    assert!(show_receipt(&bare).is_none());
}
