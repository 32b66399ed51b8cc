//! Results as workers submit them, before their signature is checked (P7, P9, P11, P15).

use super::limit;
use crate::shape::{Shape, read};
use muster_http::Problem;
use muster_model::{AssignmentId, Fence, PoolWorkerId};
use muster_proof::{json::Value, sha256_hex, vote};
use sha2::{Digest, Sha256};

/// A result whose signature nobody has looked at.
#[derive(Clone, Debug)]
pub(crate) struct Handed {
    pub(crate) assignment: AssignmentId,
    /// As it came: it is what was signed.
    pub(crate) nonce: Box<str>,
    pub(crate) signature: Box<str>,
    pub(crate) output: Option<Box<str>>,
    pub(crate) output_hash: Option<Box<str>>,
    pub(crate) hash_matches: Option<bool>,
    /// Computed from what was submitted; `None` without an output (P15).
    pub(crate) vote: Option<Box<str>>,
    pub(crate) error: Option<Box<str>>,
    pub(crate) artifact_uri: Option<Box<str>>,
    pub(crate) metrics: Option<Box<str>>,
    pub(crate) digest: [u8; 32],
}

impl Handed {
    /// The nonce, if it is one that we could have given: a second spelling of it is another text (P8).
    pub(crate) fn fence(&self) -> Option<Fence> {
        let fence = u128::from_str_radix(&self.nonce, 16).ok().map(Fence)?;
        (fence.to_string() == *self.nonce).then_some(fence)
    }
}

/// Reads the body of `POST /jobs/submit`. Its digest is that of the whole body (P8).
pub(crate) fn read_result(body: &[u8]) -> Result<(PoolWorkerId, Handed), Problem> {
    read(body, |fields| {
        let worker = PoolWorkerId(fields.id("worker_id"));
        (worker, Handed { digest: Sha256::digest(body).into(), ..handed(fields) })
    })
}

/// Reads a result; its digest is that of its own text.
pub(super) fn handed(fields: &mut Shape<'_, '_, '_>) -> Handed {
    let output = fields.opt_object("output");
    let output_hash = fields.opt_text("output_hash", limit::OUTPUT_HASH_CHARS);
    let artifact_uri = fields.opt_text("artifact_uri", limit::ARTIFACT_URI_CHARS);
    let computed = output.map(hash_of);
    Handed {
        assignment: AssignmentId(fields.id("assignment_id")),
        nonce: fields.text("nonce", 1..=limit::NONCE_CHARS),
        signature: fields.text("signature", 0..=usize::MAX),
        output: output.map(|output| output.text().into()),
        hash_matches: computed
            .as_deref()
            .zip(output_hash.as_deref())
            .map(|(computed, said)| computed == said),
        vote: computed.map(|hash| vote(&hash, artifact_uri.as_deref()).into()),
        output_hash,
        error: fields.opt_text("error_message", usize::MAX),
        artifact_uri,
        metrics: fields.opt_object("metrics_json").map(|metrics| metrics.text().into()),
        digest: Sha256::digest(fields.text_of_all()).into(),
    }
}

/// Computes the hash of an output's canonical form (P11).
fn hash_of(output: &Value<'_>) -> String {
    let mut bytes = Vec::with_capacity(output.text().len());
    output.write_canonical(&mut bytes);
    sha256_hex(&bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn handed(more: &str) -> Result<Handed, String> {
        let body = format!(r#"{{"worker_id":4,"assignment_id":15,"nonce":"n","signature":"s"{more}}}"#);
        read_result(body.as_bytes()).map(|(_, handed)| handed).map_err(|problem| problem.detail().to_owned())
    }

    /// P8: one text per nonce: another spelling of the same number is no nonce of ours.
    #[test]
    fn a_nonce_has_one_spelling() {
        let given = Fence(0xab);
        let with = |nonce: &str| Handed { nonce: nonce.into(), ..handed("").unwrap() }.fence();
        assert_eq!(with(&given.to_string()), Some(given));
        for other in
            ["ab", "000000000000000000000000000000AB", "+00000000000000000000000000000ab", "nonce-submit-1"]
        {
            assert_eq!(with(other), None, "{other}");
        }
    }

    /// P11: the hash is of the canonical bytes; with one of the two missing nothing can be said.
    #[test]
    fn a_hash_is_of_the_canonical_output() {
        let hash = sha256_hex(br#"{"a":1.5,"b":"x"}"#);
        let matches = |more: &str| handed(more).unwrap().hash_matches;
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
        let vote = |more: &str| handed(more).unwrap().vote;
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
        let null = handed(
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
            assert!(handed(&more).unwrap_err().starts_with(&format!("body.{wrong}: ")), "{more:.60}");
        }
        assert!(handed(&format!(r#","output_hash":"{}""#, "\u{e4}".repeat(128))).is_ok());
        let all = read_result(b"{}").unwrap_err();
        for field in ["worker_id", "assignment_id", "nonce", "signature"] {
            assert!(all.detail().contains(&format!("body.{field}: Field required")), "{}", all.detail());
        }
    }

    /// P8: the digest is of the bytes as they came.
    #[test]
    fn the_digest_is_of_the_bytes() {
        assert_eq!(handed("").unwrap().digest, handed("").unwrap().digest);
        assert_ne!(handed("").unwrap().digest, handed(" ").unwrap().digest);
    }
}
