//! The text that a worker signs, and the hash of an output.

use crate::json::write_text;
use sha2::{Digest, Sha256};
use std::fmt::Write;

/// SHA-256 in lower-case hexadecimal digits (P10); of an output's canonical bytes it is the `output_hash` (P11).
pub fn sha256_hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold(String::with_capacity(64), |mut text, byte| {
        write!(text, "{byte:02x}").expect("a string takes any text");
        text
    })
}

/// Gives the bytes that a worker signs for a result (P9): canonical JSON of exactly three fields.
pub fn signed_bytes(assignment_id: u64, nonce: &str, output_hash: Option<&str>) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(80 + nonce.len() + output_hash.map_or(4, str::len));
    bytes.extend_from_slice(b"{\"assignment_id\":");
    bytes.extend_from_slice(assignment_id.to_string().as_bytes());
    bytes.extend_from_slice(b",\"nonce\":");
    write_text(nonce, &mut bytes);
    bytes.extend_from_slice(b",\"output_hash\":");
    match output_hash {
        Some(hash) => write_text(hash, &mut bytes),
        None => bytes.extend_from_slice(b"null"),
    }
    bytes.push(b'}');
    bytes
}

/// Computes the vote of a result (P15): the hash of its output. With an artifact it is the SHA-256 of the canonical JSON of
/// exactly `{"artifact_uri":…,"output_hash":…}`, so that workers agree only if both are the same.
pub fn vote(output_hash: &str, artifact_uri: Option<&str>) -> String {
    let Some(artifact_uri) = artifact_uri else {
        return output_hash.to_owned();
    };
    let mut bytes = Vec::with_capacity(40 + artifact_uri.len() + output_hash.len());
    bytes.extend_from_slice(b"{\"artifact_uri\":");
    write_text(artifact_uri, &mut bytes);
    bytes.extend_from_slice(b",\"output_hash\":");
    write_text(output_hash, &mut bytes);
    bytes.push(b'}');
    sha256_hex(&bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::canonical;
    use proptest::prelude::*;

    /// P9: exactly these fields, `output_hash` null when absent.
    #[test]
    fn three_fields_are_signed() {
        let signed = signed_bytes(15, "nonce-submit-1", Some("hash-1"));
        assert_eq!(signed, br#"{"assignment_id":15,"nonce":"nonce-submit-1","output_hash":"hash-1"}"#);
        assert_eq!(signed_bytes(15, "n", None), br#"{"assignment_id":15,"nonce":"n","output_hash":null}"#);
        assert_eq!(
            signed_bytes(u64::MAX, "\"\\\n\u{1}\u{7f}\u{1f600}", Some("")),
            "{\"assignment_id\":18446744073709551615,\"nonce\":\"\\\"\\\\\\n\\u0001\u{7f}\u{1f600}\",\"output_hash\":\"\"}"
                .as_bytes()
        );
    }

    /// P10, P11: lower case, over the canonical bytes.
    #[test]
    fn an_output_is_hashed_in_its_canonical_form() {
        assert_eq!(sha256_hex(b""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
        let output = canonical(b"{ \"ok\" : true }").unwrap();
        assert_eq!(sha256_hex(&output), "4062edaf750fb8074e7e83e0c9028c94e32468a8b6f1614774328ef045150f93");
    }

    /// P15: a vote covers the artifact, if there is one; without it the vote is the hash of the output.
    #[test]
    fn a_vote_covers_output_and_artifact() {
        let hash = sha256_hex(b"{}");
        assert_eq!(vote(&hash, None), hash);
        let text = format!(r#"{{"artifact_uri":"s3://a\"b","output_hash":"{hash}"}}"#);
        assert_eq!(canonical(text.as_bytes()).unwrap(), text.as_bytes());
        assert_eq!(vote(&hash, Some("s3://a\"b")), sha256_hex(text.as_bytes()));
        assert_ne!(vote(&hash, Some("")), hash);
    }

    proptest! {
        /// P9: no nonce and no hash can break out of its field, and the bytes are canonical.
        #[test]
        fn what_is_signed_is_canonical(id in 0..1u64 << 53, nonce: String, hash: Option<String>) {
            let bytes = signed_bytes(id, &nonce, hash.as_deref());
            prop_assert_eq!(&canonical(&bytes).unwrap(), &bytes);
            let read: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
            prop_assert_eq!(read, serde_json::json!({"assignment_id": id, "nonce": nonce, "output_hash": hash}));
        }
    }
}
