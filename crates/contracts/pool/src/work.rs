//! Requests of workers for assignments, and the responses (P6, P19, P20).

use crate::{
    JsonText, ReadError, SubmitRequest, SubmittedItem, UnverifiedBatch, UnverifiedResults, limit,
    shape::{Shape, read},
    submission::parse_result,
};
use muster_model::{PoolHandout, PoolWorkerId};
use muster_problem::{Problem, WireMutant, planted};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::{ops::Not, sync::Arc, time::Duration};
use utoipa::ToSchema;

/// The body of `POST /jobs/poll` (P6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct PollRequest {
    /// The worker that asks.
    pub worker_id: u64,
    /// Maximum time that the server waits for work.
    #[serde(skip_serializing_if = "is_zero")]
    pub wait_ms: u64,
    /// The assignment counts as started.
    #[serde(skip_serializing_if = "Not::not")]
    pub start: bool,
    /// Asks for the assignments that were started, and for nothing new.
    #[serde(skip_serializing_if = "Not::not")]
    pub resume: bool,
}

impl PollRequest {
    /// Parses the body.
    ///
    /// # Errors
    /// 422 naming every field that is wrong.
    pub fn parse(body: &[u8]) -> Result<Self, Problem> {
        read(body, |fields| Self {
            worker_id: fields.id("worker_id"),
            wait_ms: wait_ms(fields),
            start: fields.flag("start"),
            resume: fields.flag("resume"),
        })
    }

    /// The worker that asks.
    #[must_use]
    pub const fn worker(&self) -> PoolWorkerId {
        PoolWorkerId(self.worker_id)
    }

    /// Maximum time that the server waits for work.
    #[must_use]
    pub const fn wait(&self) -> Duration {
        Duration::from_millis(self.wait_ms)
    }
}

/// The body of `POST /jobs/work` (P19).
#[derive(Clone, Debug, Serialize)]
pub struct WorkRequest {
    /// The worker that submits and asks.
    pub worker_id: u64,
    /// Results, each signed by itself unless all are signed at once.
    pub submit: Vec<SubmitRequest>,
    /// One signature over all results (P20).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub batch_signature: Option<Box<str>>,
    /// Maximum number of assignments.
    pub max: u32,
    /// Maximum time that the server waits for work.
    #[serde(skip_serializing_if = "is_zero")]
    pub wait_ms: u64,
    /// The assignments count as started.
    #[serde(skip_serializing_if = "Not::not")]
    pub start: bool,
}

/// A parsed [`WorkRequest`].
#[derive(Debug)]
pub struct ParsedWork {
    /// The worker that submits and asks.
    pub worker: PoolWorkerId,
    /// Results whose signatures nobody has checked.
    pub results: UnverifiedResults,
    /// Maximum number of assignments.
    pub max: u32,
    /// The assignments count as started.
    pub start: bool,
    /// Maximum time that the server waits for work.
    pub wait: Duration,
}

impl WorkRequest {
    /// Parses the body. A call that submits something or asks for nothing does not wait: its answer must not be late.
    ///
    /// # Errors
    /// 422 naming every field that is wrong.
    pub fn parse(body: &[u8]) -> Result<ParsedWork, Problem> {
        read(body, |fields| {
            let worker = fields.id("worker_id");
            let batch_signature = fields.opt_text("batch_signature", usize::MAX);
            let results = fields.list("submit", 0..=limit::WORK_RESULTS, |item| {
                if item.optional("worker_id").is_some() && item.id("worker_id") != worker {
                    item.blame("worker_id", "Input should be the worker_id of the call");
                }
                parse_result(item, batch_signature.is_some())
            });
            let max = u32::try_from(fields.integer("max", 0..=limit::WORK_MAX)).unwrap_or_default();
            let max = max + u32::from(planted(WireMutant::PoolWorkMaxOffByOne));
            let (wait_ms, start) = (wait_ms(fields), fields.flag("start"));
            let waits = results.is_empty() && max > 0;
            let wait = if waits { Duration::from_millis(wait_ms) } else { Duration::ZERO };
            let worker = PoolWorkerId(worker);
            let results = match batch_signature {
                Some(signature) => UnverifiedResults::Batch(UnverifiedBatch { worker, results, signature }),
                None => UnverifiedResults::Single(results),
            };
            ParsedWork { worker, results, max, start, wait }
        })
    }
}

/// Work for a worker (P6).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = PoolAssignment)]
pub struct Assignment {
    /// Its id; another one with every attempt.
    pub assignment_id: u64,
    /// The job's payload, as its client wrote it.
    pub job: JsonText,
    /// What the result must carry and sign.
    pub nonce: String,
    /// The job's priority.
    #[serde(default)]
    pub cost_hint_tokens: u8,
}

impl Assignment {
    /// Shows an assignment with the payload of its job.
    #[must_use]
    pub fn of(handout: &PoolHandout, payload: Arc<str>) -> Self {
        Self {
            assignment_id: handout.assignment.0,
            job: payload.into(),
            nonce: if planted(WireMutant::PoolNonceDropped) {
                String::new()
            } else {
                handout.fence.to_string()
            },
            cost_hint_tokens: handout.priority,
        }
    }

    /// Reads the answer to a poll.
    ///
    /// # Errors
    /// The text is not an assignment.
    pub fn read(bytes: &[u8]) -> Result<Self, ReadError> {
        let assignment: Self = serde_json::from_slice(bytes)?;
        if assignment.nonce.is_empty() || assignment.nonce.chars().count() > limit::NONCE_CHARS {
            return Err(ReadError::Field { field: "nonce", why: "has not 1 to 128 characters" });
        }
        if assignment.assignment_id > limit::ID.unsigned_abs() {
            return Err(ReadError::Field { field: "assignment_id", why: "is not below 2^53" });
        }
        Ok(assignment)
    }
}

/// The assignments that a worker has started (P6).
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = PoolAssignments)]
pub struct Assignments {
    /// Oldest first.
    pub assignments: Vec<Assignment>,
}

/// The answer to a poll: one assignment, or, to `resume`, all that were started (P6).
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = PoolPollAnswer)]
#[serde(untagged)]
pub enum PollAnswer {
    /// One.
    One(Assignment),
    /// Those that were started.
    Started(Assignments),
}

impl PollAnswer {
    /// Reads the answer to `resume`. A server that does not know the question answers it like a poll. An assignment that
    /// makes no sense is skipped: the others can be done.
    ///
    /// # Errors
    /// The text is neither.
    pub fn read(bytes: &[u8]) -> Result<Self, ReadError> {
        #[derive(Deserialize)]
        struct List<'a> {
            #[serde(borrow)]
            assignments: Option<Vec<&'a RawValue>>,
        }
        let Some(texts) = serde_json::from_slice::<List<'_>>(bytes)?.assignments else {
            return Assignment::read(bytes).map(Self::One);
        };
        let read = |text: &RawValue| {
            let read = Assignment::read(text.get().as_bytes());
            read.inspect_err(|error| tracing::warn!(%error, "an assignment makes no sense and is skipped"))
        };
        let assignments = texts.into_iter().filter_map(|text| read(text).ok()).collect();
        Ok(Self::Started(Assignments { assignments }))
    }
}

/// What became of the results, and more work (P19).
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[schema(as = PoolWorkAnswer)]
pub struct WorkAnswer {
    /// One for each result, in their order.
    pub submitted: Vec<SubmittedItem>,
    /// Oldest first.
    pub assignments: Vec<Assignment>,
}

impl WorkAnswer {
    /// Reads the answer.
    ///
    /// # Errors
    /// The text is not that answer.
    pub fn read(bytes: &[u8]) -> Result<Self, ReadError> {
        Ok(serde_json::from_slice(bytes)?)
    }
}

/// Writes [`Assignments`] or a [`WorkAnswer`] one assignment at a time: a thousand payloads may be larger than memory should
/// hold.
#[derive(Debug)]
pub struct AssignmentListWriter {
    is_first: bool,
}

impl AssignmentListWriter {
    /// Begins a [`WorkAnswer`] where results were submitted, else [`Assignments`].
    ///
    /// # Errors
    /// The results cannot be written as JSON.
    pub fn begin(submitted: Option<&[SubmittedItem]>, text: &mut Vec<u8>) -> Result<Self, serde_json::Error> {
        text.push(b'{');
        if let Some(submitted) = submitted {
            text.extend_from_slice(b"\"submitted\":");
            serde_json::to_writer(&mut *text, submitted)?;
            text.push(b',');
        }
        text.extend_from_slice(b"\"assignments\":[");
        Ok(Self { is_first: true })
    }

    /// Appends one assignment.
    ///
    /// # Errors
    /// Its payload is not JSON.
    pub fn push(&mut self, assignment: &Assignment, text: &mut Vec<u8>) -> Result<(), serde_json::Error> {
        if !std::mem::take(&mut self.is_first) {
            text.push(b',');
        }
        serde_json::to_writer(text, assignment)
    }

    /// Ends the text.
    pub fn end(text: &mut Vec<u8>) {
        text.extend_from_slice(b"]}");
    }
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
const fn is_zero(millis: &u64) -> bool {
    *millis == 0
}

fn wait_ms(fields: &mut Shape<'_, '_, '_>) -> u64 {
    fields.opt_integer("wait_ms", 0..=limit::WAIT_MS).unwrap_or_default().unsigned_abs()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Submitted, to_bytes};
    use muster_model::Timestamp;

    /// P6: at most 30 s; `start` and `resume` are optional.
    #[test]
    fn a_poll_is_read() {
        let poll =
            |body: &str| PollRequest::parse(body.as_bytes()).map_err(|problem| problem.detail().to_owned());
        let plain = poll(r#"{"worker_id": 4}"#).unwrap();
        assert_eq!((plain.worker(), plain.start, plain.resume), (PoolWorkerId(4), false, false));
        assert_eq!(plain.wait(), Duration::ZERO);
        let long = poll(r#"{"worker_id": 4, "wait_ms": 30000, "start": true}"#).unwrap();
        assert!(long.start && long.wait() == Duration::from_secs(30));
        assert!(poll(r#"{"worker_id": 4, "resume": true}"#).unwrap().resume);
        for wrong in ["30001", "-1", "\"1\"", "1.5"] {
            let refused = poll(&format!(r#"{{"worker_id": 4, "wait_ms": {wrong}}}"#)).err().unwrap();
            assert!(refused.starts_with("body.wait_ms: Input should be"), "{refused}");
        }
    }

    /// P19: results keep their own texts; a call that submits something does not wait.
    #[test]
    fn a_call_for_work_is_read() {
        let work =
            |body: &str| WorkRequest::parse(body.as_bytes()).map_err(|problem| problem.detail().to_owned());
        let idle = work(r#"{"worker_id": 4, "submit": [], "max": 1000, "wait_ms": 9}"#).unwrap();
        assert_eq!((idle.max, idle.wait, idle.start), (1000, Duration::from_millis(9), false));
        assert_eq!(work(r#"{"worker_id": 4, "max": 0, "wait_ms": 9}"#).unwrap().wait, Duration::ZERO);
        let item = r#"{"assignment_id": 65, "nonce": "n", "signature": "s"}"#;
        let busy =
            work(&format!(r#"{{"worker_id": 4, "submit": [{item}, {item}], "max": 0, "wait_ms": 9}}"#))
                .unwrap();
        assert_eq!(busy.wait, Duration::ZERO);
        let [first, second] = busy.results.results() else { panic!("{busy:?}") };
        assert_eq!(first.result.digest, second.result.digest);
        for (body, place) in [
            (r#"{"worker_id": 4, "submit": []}"#, "body.max: Field required"),
            (r#"{"worker_id": 4, "max": 1001}"#, "body.max: "),
            (r#"{"worker_id": 4, "max": 1, "submit": [{}]}"#, "body.submit.0.assignment_id: "),
            (
                r#"{"worker_id": 4, "max": 1, "submit": [{"worker_id": 5, "assignment_id": 1, "nonce": "n", "signature": ""}]}"#,
                "body.submit.0.worker_id: ",
            ),
        ] {
            assert!(work(body).err().unwrap().starts_with(place), "{body}");
        }
    }

    /// P6: an assignment as the contract has it; the payload is kept as it was written.
    #[test]
    fn an_assignment_is_read() {
        let text = r#"{"assignment_id":15,"job":{"a": 1e999,"n":123456789012345678901234567890},"nonce":"n",
            "cost_hint_tokens":99}"#;
        let assignment = Assignment::read(text.as_bytes()).unwrap();
        assert_eq!((assignment.assignment_id, &*assignment.nonce), (15, "n"));
        assert_eq!(assignment.job.as_str(), r#"{"a": 1e999,"n":123456789012345678901234567890}"#);
        for wrong in ["\"nonce\":\"\"", &format!("\"nonce\":\"{}\"", "x".repeat(129))] {
            let error = Assignment::read(text.replace("\"nonce\":\"n\"", wrong).as_bytes()).unwrap_err();
            assert!(error.to_string().starts_with("nonce"), "{error}");
        }
        assert!(Assignment::read(text.replace("15", "9007199254740992").as_bytes()).is_err());
    }

    /// P6: started assignments are read one by one; a server without resume answers with one, or with none.
    #[test]
    fn started_assignments_are_read() {
        let one = r#"{"assignment_id":15,"job":{},"nonce":"n","cost_hint_tokens":0}"#;
        let ids = |text: &str| match PollAnswer::read(text.as_bytes()).unwrap() {
            PollAnswer::Started(list) => list.assignments.iter().map(|one| one.assignment_id).collect(),
            PollAnswer::One(one) => vec![0, one.assignment_id],
        };
        assert!(ids(r#"{"assignments":[]}"#).is_empty());
        assert_eq!(ids(&format!(r#"{{"assignments":[{{"nonce":1}},{one}]}}"#)), [15]);
        assert_eq!(ids(one), [0, 15]);
        let deep = format!(
            r#"{{"assignments":[{{"assignment_id":1,"nonce":"n","job":{}1{}}}]}}"#,
            "[".repeat(127),
            "]".repeat(127)
        );
        assert_eq!(ids(&deep), [1]);
    }

    /// P6, P19: the server parses what a worker writes, and a worker reads what the server writes, in parts or at once.
    #[test]
    fn both_directions_agree() {
        let poll = PollRequest { worker_id: 7, wait_ms: 20_000, start: true, resume: false };
        assert_eq!(to_bytes(&poll), br#"{"worker_id":7,"wait_ms":20000,"start":true}"#);
        assert_eq!(PollRequest::parse(&to_bytes(&poll)).unwrap(), poll);
        let work = WorkRequest {
            worker_id: 7,
            submit: Vec::new(),
            batch_signature: None,
            max: 3,
            wait_ms: 9,
            start: true,
        };
        let parsed = WorkRequest::parse(&to_bytes(&work)).unwrap();
        assert_eq!((parsed.max, parsed.wait, parsed.start), (3, Duration::from_millis(9), true));

        let assignment = |id| Assignment {
            assignment_id: id,
            job: r#"{"a": 1.50}"#.into(),
            nonce: "n".to_owned(),
            cost_hint_tokens: 7,
        };
        let finished_at = crate::Moment(Timestamp(0));
        let submitted = Submitted { assignment_id: 64, status: "failed".into(), finished_at };
        let answer = WorkAnswer {
            submitted: vec![
                SubmittedItem::Taken(submitted),
                SubmittedItem::Refused {
                    assignment_id: 65,
                    error: "Invalid nonce".into(),
                    code: 400,
                    identical: false,
                },
            ],
            assignments: vec![assignment(66), assignment(67)],
        };
        let mut text = Vec::new();
        let mut writer = AssignmentListWriter::begin(Some(&answer.submitted), &mut text).unwrap();
        answer.assignments.iter().for_each(|one| writer.push(one, &mut text).unwrap());
        AssignmentListWriter::end(&mut text);
        assert_eq!(text, to_bytes(&answer));
        assert_eq!(to_bytes(&WorkAnswer::read(&text).unwrap()), text);
    }
}
