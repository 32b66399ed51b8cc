//! Says whether a result is its worker's (P8, P9).
//!
//! This needs nothing but the key, so it happens before the one writer is asked, on as many cores as there are.

use super::{Handed, Words};
use muster_model::PoolResult;
use muster_proof::{KeyError, PublicKey, SignatureError, decode_signature, signed_bytes};

/// Reads a worker's key as it was registered, whatever that was (P3). The empty text counts as none.
pub(crate) fn read_key_text(public_key: Option<&str>) -> Result<PublicKey, Words> {
    let text = public_key.filter(|text| !text.is_empty());
    let text = text.ok_or_else(|| Words::bad("Worker public key is not configured"))?;
    PublicKey::decode(text).map_err(|error| match error {
        KeyError::Encoding => Words::bad("Invalid public key encoding"),
        KeyError::Length => Words::bad("Invalid public key length"),
    })
}

/// Checks the signature of a result; `public_key` is the key's text, as it was registered.
pub(crate) fn judge(handed: Handed, key: &PublicKey, public_key: Box<str>) -> Result<PoolResult, Words> {
    let signature = decode_signature(&handed.signature).map_err(|error| match error {
        SignatureError::Encoding => Words::bad("Invalid signature encoding"),
        SignatureError::Length => Words::bad("Invalid signature length"),
    })?;
    let signed = signed_bytes(handed.assignment.0, &handed.nonce, handed.output_hash.as_deref());
    if !key.verify(&signed, &signature) {
        return Err(Words::bad("Signature verification failed"));
    }
    let nonce = handed.fence();
    Ok(PoolResult {
        assignment: handed.assignment,
        nonce,
        signature: handed.signature,
        public_key,
        output: handed.output,
        output_hash: handed.output_hash,
        hash_matches: handed.hash_matches,
        vote: handed.vote,
        error: handed.error,
        artifact_uri: handed.artifact_uri,
        metrics: handed.metrics,
        digest: handed.digest,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::translate::read_result;
    use muster_proof::{KeyPair, encode_base64url};

    fn handed(signature: &str) -> Handed {
        let body = format!(
            r#"{{"worker_id":4,"assignment_id":15,"nonce":"nonce-submit-1","signature":"{signature}","output_hash":"hash-1"}}"#
        );
        read_result(body.as_bytes()).unwrap().1
    }

    fn text(words: Result<impl Sized, Words>) -> String {
        words.err().expect("refused").detail.into_owned()
    }

    /// P3, P8: any text is kept as a key; it is judged here, in this order.
    #[test]
    fn keys_are_judged_at_submission() {
        assert_eq!(text(read_key_text(None)), "Worker public key is not configured");
        assert_eq!(text(read_key_text(Some(""))), "Worker public key is not configured");
        assert_eq!(text(read_key_text(Some("not base64!"))), "Invalid public key encoding");
        assert_eq!(text(read_key_text(Some("YWFh"))), "Invalid public key length");
        assert!(read_key_text(Some("YWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWE")).is_ok());
    }

    /// P8, P9: exactly three fields are signed; each way to be wrong has its words.
    #[test]
    fn signatures_are_judged() {
        let pair = KeyPair::from_seed(&[7; 32]);
        let public = pair.public_key().to_text();
        let key = read_key_text(Some(&public)).unwrap();
        let good = pair.sign(br#"{"assignment_id":15,"nonce":"nonce-submit-1","output_hash":"hash-1"}"#);
        let good = good.to_text();
        for signature in [good.clone(), format!("{good}==")] {
            let result = judge(handed(&signature), &key, public.as_str().into()).unwrap();
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
            assert_eq!(text(judge(handed(signature), &key, public.as_str().into())), words, "{signature}");
        }
        // 32 bytes that are no curve point are a key under which nothing verifies.
        let no_point = encode_base64url(&[255; 32]);
        let words =
            text(judge(handed(&good), &read_key_text(Some(&no_point)).unwrap(), no_point.as_str().into()));
        assert_eq!(words, "Signature verification failed");
    }
}
