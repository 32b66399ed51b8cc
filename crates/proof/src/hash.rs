//! What a worker signs, and how an output is hashed.

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
