//! Contract P as the worker speaks it: the bodies it sends, and its understanding of what comes back.

use super::{
    Assignment, Secret,
    core::{Outcome, Refusal, Spooled, Started, Submission, Submitted, Trouble},
};
use muster_contract_pool::{
    self as contract, JsonText, PollAnswer, PollRequest, ReadError, RegisterRequest, SubmitRequest,
    SubmittedItem, WorkAnswer, WorkRequest, refusal::ALREADY_SUBMITTED, to_bytes,
};
use muster_model::Millis;
use muster_proof::{KeyPair, sha256_hex};
use muster_worker_kit::{Text, call::read};
use serde::Deserialize;
use serde_json::{Map, Value};

/// The description with which a worker registers (P3).
#[derive(Clone, Debug)]
pub struct Introduction {
    /// Its name.
    pub name: Text,
    /// Its region.
    pub region: Option<Text>,
    /// Its specs.
    pub specs: Map<String, Value>,
}

impl Introduction {
    /// Writes a registration (P3).
    #[must_use]
    pub fn body(&self, key: &str) -> Vec<u8> {
        let specs = Value::Object(self.specs.clone()).to_string();
        to_bytes(&RegisterRequest {
            name: (*self.name).into(),
            region: self.region.as_deref().map(Into::into),
            specs_json: Some(JsonText::from(&*specs)),
            public_key: Some(key.into()),
        })
    }
}

/// Writes name and password as a form (P1).
#[must_use]
pub fn write_login(user: &str, password: &str) -> Vec<u8> {
    // A form is written like the query of an address.
    let mut form = reqwest::Url::parse("form:").expect("that is an address");
    form.query_pairs_mut().append_pair("username", user).append_pair("password", password);
    form.query().unwrap_or_default().into()
}

/// Writes a poll that starts what it brings (P6).
#[must_use]
pub fn write_poll(worker: u64, wait: Millis) -> Vec<u8> {
    let wait_ms = u64::try_from(wait.0).unwrap_or_default();
    to_bytes(&PollRequest { worker_id: worker, wait_ms, start: true, resume: false })
}

/// Writes a question for what is started (P6).
#[must_use]
pub fn write_resume(worker: u64) -> Vec<u8> {
    to_bytes(&PollRequest { worker_id: worker, wait_ms: 0, start: false, resume: true })
}

/// Signs a result and writes it: the bytes that are stored, and submitted as often as it takes (P7, P9).
///
/// A result that is too long for every server becomes an error.
#[must_use]
pub fn write_submission(submission: &Submission, keys: &KeyPair) -> Vec<u8> {
    let body = write(submission, keys);
    if body.len() <= BODY_BYTES_MAX {
        return body;
    }
    let error = format!("the result takes {} bytes, {BODY_BYTES_MAX} are allowed", body.len());
    write(&Submission { outcome: Outcome::Error(error.into()), ..submission.clone() }, keys)
}

fn write(submission: &Submission, keys: &KeyPair) -> Vec<u8> {
    let request = SubmitRequest {
        worker_id: Some(submission.worker),
        assignment_id: submission.assignment,
        nonce: (*submission.nonce).into(),
        ..SubmitRequest::default()
    };
    let request = match &submission.outcome {
        Outcome::Output(output) => SubmitRequest {
            output_hash: Some(sha256_hex(output.as_bytes()).into()),
            output: Some(output.clone().into()),
            ..request
        },
        Outcome::Error(error) => SubmitRequest { error_message: Some((**error).into()), ..request },
    };
    to_bytes(&request.signed(keys))
}

/// Writes results that were written to disk into one request, with one signature over all of them (P20). A result without
/// its own signature is always the same bytes, whatever else is in the request.
///
/// # Errors
/// One of the texts is not a submission.
pub fn write_batch(worker: u64, bodies: &[&[u8]], keys: &KeyPair) -> Result<Vec<u8>, ReadError> {
    let submit = bodies.iter().map(|body| serde_json::from_slice(body)).collect::<Result<_, _>>()?;
    let request =
        WorkRequest { worker_id: worker, submit, batch_signature: None, max: 0, wait_ms: 0, start: false };
    Ok(to_bytes(&request.signed(keys)))
}

/// Reads back a result that was written to disk.
///
/// # Errors
/// The text is not a submission.
pub fn read_spooled(bytes: &[u8]) -> Result<Spooled, ReadError> {
    let submission: SubmitRequest = serde_json::from_slice(bytes)?;
    let missing = ReadError::Field { field: "worker_id", why: "is missing" };
    Ok(Spooled {
        worker: submission.worker_id.ok_or(missing)?,
        assignment: submission.assignment_id,
        nonce: (*submission.nonce).into(),
        is_error: submission.error_message.is_some(),
    })
}

/// A token and its lifetime (P1).
#[derive(Debug, PartialEq, Eq)]
pub struct Token {
    /// The token.
    pub secret: Secret,
    /// Its lifetime, where the server names it.
    pub lasts: Option<Millis>,
}

/// Reads a token (P1).
///
/// # Errors
/// The text has no token.
pub fn read_token(bytes: &[u8]) -> Result<Token, ReadError> {
    #[derive(Deserialize)]
    struct Login {
        access_token: String,
        expires_in: Option<f64>,
    }
    let Login { access_token, expires_in } = serde_json::from_slice(bytes)?;
    if access_token.is_empty() || !access_token.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(ReadError::Field { field: "access_token", why: "does not fit in a header" });
    }
    let lasts = expires_in.filter(|seconds| *seconds > 0.0).map(|seconds| Millis((seconds * 1000.0) as i64));
    Ok(Token { secret: Secret::new(access_token), lasts })
}

/// Reads the answer to a poll (P6).
///
/// # Errors
/// The text is not an assignment.
pub fn read_assignment(bytes: &[u8]) -> Result<Assignment, ReadError> {
    contract::Assignment::read(bytes).map(Into::into)
}

/// Reads the answer to `resume` (P6).
///
/// # Errors
/// The text is not that answer.
pub fn read_started(bytes: &[u8]) -> Result<Started, ReadError> {
    Ok(match PollAnswer::read(bytes)? {
        PollAnswer::Started(list) => Started::All(list.assignments.into_iter().map(Into::into).collect()),
        PollAnswer::One(assignment) => Started::One(assignment.into()),
    })
}

/// Understands the answer to a submission (P7). The very same bytes, accepted before, are success: that answer was lost (P8).
///
/// # Errors
/// The result was not accepted, or that is unknown.
pub fn understand_submitted(
    assignment: u64,
    answer: Result<Vec<u8>, Trouble>,
    is_identical: bool,
) -> Result<Submitted, Trouble> {
    match answer {
        Ok(bytes) if read(&bytes, contract::Submitted::read_assignment)? == assignment => Ok(Submitted::Now),
        // An answer about another assignment is not an answer.
        Ok(_) => Err(Trouble::NoAnswer(None)),
        Err(Trouble::Refused(Refusal { status: 409, detail }))
            if is_identical && &*detail == ALREADY_SUBMITTED =>
        {
            Ok(Submitted::Before)
        }
        Err(trouble) => Err(trouble),
    }
}

/// Understands the answer to a batch, one for each assignment in their order (P20).
///
/// # Errors
/// No result was accepted, or that is unknown.
pub fn understand_batch(
    assignments: &[u64],
    answer: Result<Vec<u8>, Trouble>,
) -> Result<Vec<Result<Submitted, Refusal>>, Trouble> {
    let WorkAnswer { submitted, .. } = read(&answer?, WorkAnswer::read)?;
    let about = submitted.iter().map(|item| match item {
        SubmittedItem::Taken(contract::Submitted { assignment_id, .. })
        | SubmittedItem::Refused { assignment_id, .. } => *assignment_id,
    });
    // An answer about other assignments is not an answer.
    if !about.eq(assignments.iter().copied()) {
        return Err(Trouble::NoAnswer(None));
    }
    let understood = submitted.into_iter().map(|item| match item {
        SubmittedItem::Taken(_) => Ok(Submitted::Now),
        SubmittedItem::Refused { error, code: 409, identical: true, .. } if error == ALREADY_SUBMITTED => {
            Ok(Submitted::Before)
        }
        SubmittedItem::Refused { error, code, .. } => {
            Err(Refusal { status: code, detail: error.into_owned().into() })
        }
    });
    Ok(understood.collect())
}

impl From<contract::Assignment> for Assignment {
    fn from(read: contract::Assignment) -> Self {
        Self { id: read.assignment_id, nonce: read.nonce.into(), job: read.job.into_text() }
    }
}

/// A server takes no longer request by default (`server.body_limit_bytes`), and the spool no longer entry.
pub const BODY_BYTES_MAX: usize = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn submission(outcome: Outcome) -> Submission {
        Submission { entry: 1, worker: 7, assignment: 65, nonce: "n\"ö".into(), outcome }
    }

    /// P16: what is read back from disk is what was written; a result that is too long is an error before it is written.
    #[test]
    fn results_are_found_again() {
        let keys = KeyPair::from_seed(&[7; 32]);
        let found = |outcome| read_spooled(&write_submission(&submission(outcome), &keys)).unwrap();
        let output = found(Outcome::Output("{}".into()));
        assert_eq!(
            (output.worker, output.assignment, &*output.nonce, output.is_error),
            (7, 65, "n\"ö", false)
        );
        assert!(found(Outcome::Error("it \"broke\"".into())).is_error);
        let long = format!(r#"{{"a":"{}"}}"#, "x".repeat(BODY_BYTES_MAX));
        let written = write_submission(&submission(Outcome::Output(long.into())), &keys);
        assert!(written.len() < 1_000 && read_spooled(&written).unwrap().is_error);
    }

    /// P1: a form, whatever is in name and password.
    #[test]
    fn a_login_is_a_form() {
        let form = String::from_utf8(write_login("a&b", "p=ö +%")).unwrap();
        assert_eq!(form, "username=a%26b&password=p%3D%C3%B6+%2B%25");
    }

    /// P1: a token as the contract has it; one that could break a header is refused, and not shown.
    #[test]
    fn a_token_is_read() {
        let text = br#"{"access_token":"t0ken","token_type":"bearer","expires_in":900}"#;
        let token = Token { secret: Secret::new("t0ken"), lasts: Some(Millis(900_000)) };
        assert_eq!(read_token(text).unwrap(), token);
        let error = read_token(br#"{"access_token":"a\nb"}"#).unwrap_err().to_string();
        assert!(error.starts_with("access_token") && !error.contains('\n'), "{error}");
    }

    /// P3: a worker introduces itself with name, region, specs and key.
    #[test]
    fn a_worker_introduces_itself() {
        let specs = json!({"slots": 2}).as_object().unwrap().clone();
        let who = Introduction { name: "W".into(), region: Some("eu".into()), specs };
        let expected = json!({"name": "W", "region": "eu", "specs_json": {"slots": 2}, "public_key": "K"});
        assert_eq!(serde_json::from_slice::<Value>(&who.body("K")).unwrap(), expected);
    }

    /// P8: only the header and the contract's text together make a refused repeat a success.
    #[test]
    fn a_repeat_is_a_success_if_it_is_identical() {
        let refused = |detail: &str| Err(Trouble::Refused(Refusal { status: 409, detail: detail.into() }));
        assert_eq!(understand_submitted(65, refused(ALREADY_SUBMITTED), true), Ok(Submitted::Before));
        assert!(understand_submitted(65, refused(ALREADY_SUBMITTED), false).is_err());
        assert!(understand_submitted(65, refused("something else"), true).is_err());
        let accepted = || Ok(br#"{"assignment_id":65}"#.to_vec());
        assert_eq!(understand_submitted(65, accepted(), false), Ok(Submitted::Now));
        assert_eq!(understand_submitted(66, accepted(), false), Err(Trouble::NoAnswer(None)));
    }
}
