//! Results: how workers sign and submit them, how the server checks them, and its answer (P7, P8, P9, P11, P15). Results
//! that share a signature have a file of their own (P20).

use crate::{
    JsonText, Moment, ReadError, limit,
    refusal::{Refusal, SIGNATURE_INVALID},
    shape::{Shape, read},
};
use muster_model::{AssignmentId, Fence, PoolRejection, PoolResult, PoolTaken, PoolWorkerId};
use muster_problem::{Problem, WireMutant, planted};
use muster_proof::{
    KeyError, KeyPair, PublicKey, SignatureError, SignedFields, decode_signature, json::Value, sha256_hex,
    vote,
};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::{borrow::Cow, ops::Not};
use utoipa::ToSchema;

/// The body of `POST /jobs/submit` (P7), and an item of `POST /jobs/work` (P19).
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct SubmitRequest {
    /// The worker that did it; in an item it may be left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worker_id: Option<u64>,
    /// The assignment that it is the result of.
    pub assignment_id: u64,
    /// The assignment's nonce.
    pub nonce: Box<str>,
    /// The signature over assignment, nonce and hash (P9); absent where the request has one for all results (P20).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signature: Option<Box<str>>,
    /// The result, a JSON object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<JsonText>,
    /// A non-empty one makes the assignment failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_message: Option<Box<str>>,
    /// Any text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub artifact_uri: Option<Box<str>>,
    /// SHA-256 of the canonical output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_hash: Option<Box<str>>,
    /// Measurements, a JSON object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metrics_json: Option<JsonText>,
}

/// A parsed [`SubmitRequest`].
#[derive(Debug)]
pub struct ParsedSubmission {
    /// The worker that submits.
    pub worker: PoolWorkerId,
    /// Its result.
    pub result: UnverifiedResult,
}

impl SubmitRequest {
    /// Signs the result (P9).
    #[must_use]
    pub fn signed(mut self, keys: &KeyPair) -> Self {
        self.signature = Some(keys.sign(&self.signed_bytes()).to_text().into());
        self
    }

    /// The bytes to sign (P9).
    pub(crate) fn signed_bytes(&self) -> Vec<u8> {
        self.signed_fields().to_bytes()
    }

    pub(crate) fn signed_fields(&self) -> SignedFields<'_> {
        let Self { assignment_id, nonce, output_hash, .. } = self;
        SignedFields { assignment_id: *assignment_id, nonce, output_hash: output_hash.as_deref() }
    }

    /// Parses the body. The digest of the result is that of the whole body (P8).
    ///
    /// # Errors
    /// 422 naming every field that is wrong.
    pub fn parse(body: &[u8]) -> Result<ParsedSubmission, Problem> {
        read(body, |fields| {
            let worker = PoolWorkerId(fields.id("worker_id"));
            let mut result = parse_result(fields, false);
            result.result.digest = Sha256::digest(body).into();
            ParsedSubmission { worker, result }
        })
    }
}

/// A result whose signature nobody has checked.
#[derive(Clone, Debug)]
pub struct UnverifiedResult {
    /// As it came: it is what was signed.
    pub nonce: Box<str>,
    /// The result, still without the key that verifies it.
    pub(crate) result: PoolResult,
}

impl UnverifiedResult {
    /// The assignment that it claims to be the result of.
    #[must_use]
    pub const fn assignment(&self) -> AssignmentId {
        self.result.assignment
    }

    /// The bytes that its signature covers, or the data of its leaf in a batch (P9, P20).
    pub(crate) fn signed_bytes(&self) -> Vec<u8> {
        self.signed_fields().to_bytes()
    }

    pub(crate) fn signed_fields(&self) -> SignedFields<'_> {
        let PoolResult { assignment, output_hash, .. } = &self.result;
        SignedFields { assignment_id: assignment.0, nonce: &self.nonce, output_hash: output_hash.as_deref() }
    }

    /// Checks the signature with the worker's key; `public_key` is the text of the key, as it was registered (P8, P9).
    ///
    /// This needs nothing but the key, so it happens before the one writer is asked, on as many cores as there are.
    ///
    /// # Errors
    /// The signature is not the worker's.
    pub fn verify(self, key: &PublicKey, public_key: Box<str>) -> Result<PoolResult, Refusal> {
        check_signature(key, &self.signed_bytes(), &self.result.signature)?;
        Ok(PoolResult { public_key, ..self.result })
    }
}

/// Checks a signature as it came (P8).
pub(crate) fn check_signature(key: &PublicKey, signed: &[u8], signature: &str) -> Result<(), Refusal> {
    let signature = decode_signature(signature).map_err(|error| match error {
        SignatureError::Encoding => Refusal::bad("Invalid signature encoding"),
        SignatureError::Length => Refusal::bad("Invalid signature length"),
    })?;
    if key.verify(signed, &signature) { Ok(()) } else { Err(Refusal::bad(SIGNATURE_INVALID)) }
}

/// Reads a worker's key as it was registered: any text (P3). The empty text counts as not configured.
///
/// # Errors
/// The text is not a key (P8).
pub fn read_worker_key(public_key: Option<&str>) -> Result<PublicKey, Refusal> {
    let text = public_key.filter(|text| !text.is_empty());
    let text = text.ok_or(Refusal::bad("Worker public key is not configured"))?;
    PublicKey::decode(text).map_err(|error| match error {
        KeyError::Encoding => Refusal::bad("Invalid public key encoding"),
        KeyError::Length => Refusal::bad("Invalid public key length"),
    })
}

/// Parses a result; its digest is that of its own text. In a batch it must have no signature of its own (P20).
pub(crate) fn parse_result(fields: &mut Shape<'_, '_, '_>, in_batch: bool) -> UnverifiedResult {
    let output = fields.opt_object("output");
    let output_hash = fields.opt_text("output_hash", limit::OUTPUT_HASH_CHARS);
    let output_hash = output_hash.filter(|_| !planted(WireMutant::PoolOutputHashIgnored));
    let artifact_uri = fields.opt_text("artifact_uri", limit::ARTIFACT_URI_CHARS);
    let computed = output.map(hash_of);
    let assignment = AssignmentId(fields.id("assignment_id"));
    let nonce = fields.text("nonce", 1..=limit::NONCE_CHARS);
    let result = PoolResult {
        assignment,
        nonce: fence_of(&nonce),
        signature: parse_signature(fields, in_batch),
        public_key: Box::default(),
        output: output.map(|output| output.text().into()),
        hash_matches: computed
            .as_deref()
            .zip(output_hash.as_deref())
            .map(|(computed, declared)| computed == declared),
        vote: computed.map(|hash| vote(&hash, artifact_uri.as_deref()).into()),
        output_hash,
        error: fields
            .opt_text("error_message", usize::MAX)
            .filter(|_| !planted(WireMutant::PoolErrorMessageIgnored)),
        artifact_uri,
        metrics: fields.opt_object("metrics_json").map(|metrics| metrics.text().into()),
        digest: Sha256::digest(fields.text_of_all()).into(),
        batch: None,
    };
    UnverifiedResult { nonce, result }
}

/// Parses the signature of a result. One that a batch's covers has none until that is verified.
fn parse_signature(fields: &mut Shape<'_, '_, '_>, in_batch: bool) -> Box<str> {
    if !in_batch {
        return fields.text("signature", 0..=usize::MAX);
    }
    if fields.optional("signature").is_some() {
        fields.blame("signature", "Input should be absent, because batch_signature covers the result");
    }
    Box::default()
}

/// The fence of a nonce, if it is one that we could have given: another spelling of the same number is another text (P8).
fn fence_of(nonce: &str) -> Option<Fence> {
    let fence = u128::from_str_radix(nonce, 16).ok().map(Fence)?;
    (fence.to_string() == nonce).then_some(fence)
}

/// Computes the hash of an output's canonical form (P11).
fn hash_of(output: &Value<'_>) -> String {
    let mut bytes = Vec::with_capacity(output.text().len());
    output.write_canonical(&mut bytes);
    sha256_hex(&bytes)
}

/// A result that was accepted (P7).
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[schema(as = PoolSubmitted)]
pub struct Submitted {
    /// Of which assignment.
    pub assignment_id: u64,
    /// `completed` or `failed`.
    #[schema(example = "completed")]
    pub status: Cow<'static, str>,
    /// When it was taken.
    pub finished_at: Moment,
}

impl Submitted {
    /// Shows an accepted result.
    #[must_use]
    pub const fn of(taken: &PoolTaken) -> Self {
        let status = Cow::Borrowed(taken.status.as_str());
        Self { assignment_id: taken.assignment.0, status, finished_at: Moment(taken.at) }
    }

    /// Reads which assignment has its result now; the rest is for people.
    ///
    /// # Errors
    /// The text is not that answer.
    pub fn read_assignment(bytes: &[u8]) -> Result<u64, ReadError> {
        #[derive(Deserialize)]
        struct Accepted {
            assignment_id: u64,
        }
        Ok(serde_json::from_slice::<Accepted>(bytes)?.assignment_id)
    }
}

/// What became of one result among several (P19).
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[schema(as = PoolSubmittedItem)]
#[serde(untagged)]
pub enum SubmittedItem {
    /// It was taken.
    Taken(Submitted),
    /// It was not.
    Refused {
        /// Of which assignment.
        assignment_id: u64,
        /// Why, in the words that `POST /jobs/submit` has for it.
        error: Cow<'static, str>,
        /// The status that `POST /jobs/submit` has for it.
        code: u16,
        /// There: the very same text was taken before.
        #[serde(default, skip_serializing_if = "Not::not")]
        identical: bool,
    },
}

impl SubmittedItem {
    /// Shows what was decided about a result.
    #[must_use]
    pub fn of(assignment_id: u64, decided: &Result<PoolTaken, PoolRejection>) -> Self {
        match decided {
            Ok(taken) => Self::Taken(Submitted::of(taken)),
            Err(rejection) => Self::refused(assignment_id, Refusal::from(rejection)),
        }
    }

    /// Shows a result that was refused.
    #[must_use]
    pub fn refused(assignment_id: u64, refusal: Refusal) -> Self {
        let Refusal { status, detail, identical } = refusal;
        let identical = identical && !planted(WireMutant::PoolItemIdenticalDropped);
        Self::Refused { assignment_id, error: detail, code: status.as_u16(), identical }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::to_bytes;
    use muster_proof::{canonical, encode_base64url};

    fn parsed(more: &str) -> Result<PoolResult, String> {
        let body = format!(r#"{{"worker_id":4,"assignment_id":15,"nonce":"n","signature":"s"{more}}}"#);
        let parsed = SubmitRequest::parse(body.as_bytes()).map_err(|problem| problem.detail().to_owned());
        parsed.map(|submission| submission.result.result)
    }

    /// P8: one text per nonce: another spelling of the same number is no nonce of ours.
    #[test]
    fn a_nonce_has_one_spelling() {
        let given = Fence(0xab);
        assert_eq!(fence_of(&given.to_string()), Some(given));
        for other in
            ["ab", "000000000000000000000000000000AB", "+00000000000000000000000000000ab", "nonce-submit-1"]
        {
            assert_eq!(fence_of(other), None, "{other}");
        }
    }

    /// P11: the hash is of the canonical bytes; with one of the two missing nothing can be said.
    #[test]
    fn a_hash_is_of_the_canonical_output() {
        let hash = sha256_hex(br#"{"a":1.5,"b":"x"}"#);
        let matches = |more: &str| parsed(more).unwrap().hash_matches;
        assert_eq!(
            matches(&format!(r#","output":{{ "b":"x", "a":1.50}},"output_hash":"{hash}""#)),
            Some(true)
        );
        assert_eq!(matches(r#","output":{},"output_hash":"hash-1""#), Some(false));
        assert_eq!(matches(&format!(r#","output_hash":"{hash}""#)), None);
        assert_eq!(matches(r#","output":{}"#), None);
    }

    /// P15: a vote is computed from the canonical output and the artifact, whatever hash is declared.
    #[test]
    fn a_vote_is_of_what_was_submitted() {
        let hash = sha256_hex(br#"{"a":1}"#);
        let vote = |more: &str| parsed(more).unwrap().vote;
        for declared in ["", r#","output_hash":null"#, r#","output_hash":"hash-1""#] {
            let more = format!(r#","output":{{ "a": 1 }}{declared}"#);
            assert_eq!(vote(&more).as_deref(), Some(&*hash), "{declared}");
        }
        let text = format!(r#"{{"artifact_uri":"s3://x","output_hash":"{hash}"}}"#);
        let both = vote(r#","output":{"a":1},"artifact_uri":"s3://x""#);
        assert_eq!(both.as_deref(), Some(&*sha256_hex(text.as_bytes())));
        assert_eq!(vote(&format!(r#","output_hash":"{hash}","artifact_uri":"s3://x""#)), None);
    }

    /// P7: objects or null, lengths; what is null is absent.
    #[test]
    fn shapes_are_the_contracts() {
        let null = parsed(
            r#","output":null,"error_message":null,"artifact_uri":null,"output_hash":null,"metrics_json":null"#,
        );
        assert_eq!(null.unwrap().output, None);
        for (more, wrong) in [
            (r#","output":[]"#.to_owned(), "output"),
            (r#","output":"x""#.to_owned(), "output"),
            (r#","metrics_json":1"#.to_owned(), "metrics_json"),
            (r#","error_message":{}"#.to_owned(), "error_message"),
            (format!(r#","output_hash":"{}""#, "h".repeat(129)), "output_hash"),
            (format!(r#","artifact_uri":"{}""#, "h".repeat(2049)), "artifact_uri"),
        ] {
            assert!(parsed(&more).unwrap_err().starts_with(&format!("body.{wrong}: ")), "{more:.60}");
        }
        assert!(parsed(&format!(r#","output_hash":"{}""#, "\u{e4}".repeat(128))).is_ok());
        let all = SubmitRequest::parse(b"{}").unwrap_err();
        for field in ["worker_id", "assignment_id", "nonce", "signature"] {
            assert!(all.detail().contains(&format!("body.{field}: Field required")), "{}", all.detail());
        }
    }

    /// P8: the digest is of the bytes as they came.
    #[test]
    fn the_digest_is_of_the_bytes() {
        assert_eq!(parsed("").unwrap().digest, parsed("").unwrap().digest);
        assert_ne!(parsed("").unwrap().digest, parsed(" ").unwrap().digest);
    }

    fn unverified(signature: &str) -> UnverifiedResult {
        let body = format!(
            r#"{{"worker_id":4,"assignment_id":15,"nonce":"nonce-submit-1","signature":"{signature}","output_hash":"hash-1"}}"#
        );
        SubmitRequest::parse(body.as_bytes()).unwrap().result
    }

    fn text(refused: Result<impl Sized, Refusal>) -> String {
        refused.err().expect("refused").detail.into_owned()
    }

    /// P3, P8: any text is stored as a key; it is checked at submission, in this order.
    #[test]
    fn keys_are_checked_at_submission() {
        assert_eq!(text(read_worker_key(None)), "Worker public key is not configured");
        assert_eq!(text(read_worker_key(Some(""))), "Worker public key is not configured");
        assert_eq!(text(read_worker_key(Some("not base64!"))), "Invalid public key encoding");
        assert_eq!(text(read_worker_key(Some("YWFh"))), "Invalid public key length");
        assert!(read_worker_key(Some("YWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWE")).is_ok());
    }

    /// P8, P9: exactly three fields are signed; each way to be wrong has its words.
    #[test]
    fn signatures_are_checked() {
        let pair = KeyPair::from_seed(&[7; 32]);
        let public = pair.public_key().to_text();
        let key = read_worker_key(Some(&public)).unwrap();
        let good = pair.sign(br#"{"assignment_id":15,"nonce":"nonce-submit-1","output_hash":"hash-1"}"#);
        let good = good.to_text();
        for signature in [good.clone(), format!("{good}==")] {
            let result = unverified(&signature).verify(&key, public.as_str().into()).unwrap();
            assert_eq!((result.assignment.0, result.nonce, &*result.public_key), (15, None, &*public));
        }
        let other =
            pair.sign(br#"{"assignment_id":15,"nonce":"nonce-submit-1","output_hash":null}"#).to_text();
        for (signature, words) in [
            ("!", "Invalid signature encoding"),
            ("", "Invalid signature length"),
            ("YWFh", "Invalid signature length"),
            (&encode_base64url(&[0; 64]), "Signature verification failed"),
            (&other, "Signature verification failed"),
        ] {
            assert_eq!(
                text(unverified(signature).verify(&key, public.as_str().into())),
                words,
                "{signature}"
            );
        }
        // 32 bytes that are no curve point are a key under which nothing verifies.
        let no_point = encode_base64url(&[255; 32]);
        let no_key = read_worker_key(Some(&no_point)).unwrap();
        let refused = unverified(&good).verify(&no_key, no_point.as_str().into());
        assert_eq!(text(refused), "Signature verification failed");
    }

    /// P7, P9, P11: the server accepts what a worker signs and writes; the same result is the same bytes.
    #[test]
    fn a_result_is_signed_written_and_verified() {
        let keys = KeyPair::from_seed(&[7; 32]);
        let output = String::from_utf8(canonical(br#"{"b": 1.0, "a": "\u00f6"}"#).unwrap()).unwrap();
        let nonce: Box<str> = Fence(0xab).to_string().into();
        let good = SubmitRequest {
            worker_id: Some(7),
            assignment_id: 65,
            nonce: nonce.clone(),
            output_hash: Some(sha256_hex(output.as_bytes()).into()),
            output: Some(output.as_str().into()),
            ..SubmitRequest::default()
        };
        let error = SubmitRequest {
            worker_id: Some(7),
            assignment_id: 65,
            nonce,
            error_message: Some("it \"broke\"".into()),
            ..SubmitRequest::default()
        };
        let public = keys.public_key().to_text();
        let accept = |request: &SubmitRequest| {
            let written = to_bytes(&request.clone().signed(&keys));
            assert_eq!(written, to_bytes(&request.clone().signed(&keys)));
            let parsed = SubmitRequest::parse(&written).unwrap();
            assert_eq!(parsed.worker, PoolWorkerId(7));
            parsed.result.verify(&keys.public_key(), public.as_str().into()).unwrap()
        };
        let result = accept(&good);
        assert_eq!((result.nonce, result.hash_matches), (Some(Fence(0xab)), Some(true)));
        assert_eq!(result.output.as_deref(), Some(r#"{"a":"ö","b":1.0}"#));
        assert_eq!(accept(&error).error.as_deref(), Some("it \"broke\""));
    }
}
