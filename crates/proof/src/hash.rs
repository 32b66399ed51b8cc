//! The text that a worker signs, and the hash of an output.

use crate::{
    json::write_text,
    merkle::{Hash, leaf_hash},
};
use sha2::{Digest, Sha256};
use std::io::Write;

/// SHA-256 in lower-case hexadecimal digits (P10); of an output's canonical bytes it is the `output_hash` (P11).
pub fn sha256_hex(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// Writes bytes in lower-case hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    let mut text = String::with_capacity(bytes.len() * 2);
    text.extend(digits.map(|digit| char::from(DIGITS[usize::from(digit)])));
    text
}

/// Reads a hash from 64 lower-case hexadecimal digits.
pub(crate) fn read_hash(text: &str) -> Option<Hash> {
    let digits: &[u8; 64] = text.as_bytes().try_into().ok()?;
    let value = |digit: u8| (0..).zip(DIGITS).find(|(_, known)| **known == digit).map(|(value, _)| value);
    let mut hash = Hash::default();
    for (byte, [high, low]) in hash.iter_mut().zip(digits.as_chunks().0) {
        *byte = value(*high)? << 4 | value(*low)?;
    }
    Some(hash)
}

const DIGITS: &[u8; 16] = b"0123456789abcdef";

/// The fields that a worker signs for a result (P9).
#[derive(Clone, Copy, Debug)]
pub struct SignedFields<'a> {
    /// The assignment that it is the result of.
    pub assignment_id: u64,
    /// The assignment's nonce.
    pub nonce: &'a str,
    /// The hash that is submitted, if one is.
    pub output_hash: Option<&'a str>,
}

impl SignedFields<'_> {
    /// The bytes to sign: canonical JSON of exactly these fields.
    pub fn to_bytes(self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(80 + self.nonce.len() + self.output_hash.map_or(4, str::len));
        self.write(&mut bytes);
        bytes
    }

    fn write(self, bytes: &mut Vec<u8>) {
        let Self { assignment_id, nonce, output_hash } = self;
        write!(bytes, "{{\"assignment_id\":{assignment_id},\"nonce\":").expect("a vector takes any bytes");
        write_text(nonce, bytes);
        bytes.extend_from_slice(b",\"output_hash\":");
        match output_hash {
            Some(hash) => write_text(hash, bytes),
            None => bytes.extend_from_slice(b"null"),
        }
        bytes.push(b'}');
    }
}

/// Gives the bytes that a worker signs for a result (P9); see [`SignedFields`].
pub fn signed_bytes(assignment_id: u64, nonce: &str, output_hash: Option<&str>) -> Vec<u8> {
    SignedFields { assignment_id, nonce, output_hash }.to_bytes()
}

/// Computes the hash of each result's leaf in a batch (P20): the data of a leaf are exactly the bytes that would be signed for
/// the result alone. All leaves share one buffer.
pub fn leaf_hashes<'a>(
    results: impl ExactSizeIterator<Item = SignedFields<'a>>,
) -> impl ExactSizeIterator<Item = Hash> {
    let mut bytes = Vec::with_capacity(LEAF_BYTES);
    results.map(move |fields| {
        bytes.clear();
        fields.write(&mut bytes);
        leaf_hash(&bytes)
    })
}

/// Enough for the leaf of a common result.
const LEAF_BYTES: usize = 256;

/// Gives the bytes that a worker signs for many results at once (P20): canonical JSON of exactly three fields. `root` is the
/// Merkle tree hash over the [`signed_bytes`] of the `count` results in their order.
pub fn batch_bytes(count: u64, root: &Hash, worker_id: u64) -> Vec<u8> {
    let root = hex(root);
    format!("{{\"count\":{count},\"root\":\"{root}\",\"worker_id\":{worker_id}}}").into_bytes()
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

    /// P20: exactly these fields, the root in lower case.
    #[test]
    fn count_root_and_worker_are_signed_for_a_batch() {
        let bytes = batch_bytes(3, &[0xab; 32], 7);
        let text = format!(r#"{{"count":3,"root":"{}","worker_id":7}}"#, "ab".repeat(32));
        assert_eq!((&canonical(&bytes).unwrap(), &*bytes), (&bytes, text.as_bytes()));
    }

    /// P20: the data of a leaf are the bytes that would be signed for the result alone, whatever came before it.
    #[test]
    fn leaves_are_hashes_of_signed_bytes() {
        let signed = |nonce, output_hash| SignedFields { assignment_id: 15, nonce, output_hash };
        let results = [signed("a long nonce", Some("h")), signed("n", None)];
        let expected = results.map(|one| leaf_hash(&signed_bytes(15, one.nonce, one.output_hash)));
        assert_eq!(leaf_hashes(results.into_iter()).collect::<Vec<_>>(), expected);
    }

    /// P20: a hash has one spelling.
    #[test]
    fn a_hash_is_read_from_its_digits() {
        let hash: Hash = Sha256::digest(b"x").into();
        let text = hex(&hash);
        assert_eq!(read_hash(&text), Some(hash));
        for wrong in [&text[1..], &text[2..], &text.to_uppercase(), &format!("{text}00"), &"g".repeat(64), ""]
        {
            assert_eq!(read_hash(wrong), None, "{wrong}");
        }
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
