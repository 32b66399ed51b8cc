//! Uploads that are allowed, and their proofs.

use crate::{
    ContentHash, Proof, ProofError, StoragePath,
    link::{self, Key},
};
use hmac::KeyInit;
use std::fmt;

/// One file that may be uploaded to one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// The path of the file in the store.
    pub path: StoragePath,
    /// The exact size in bytes.
    pub size: u64,
    /// A media type such as `image/png`, in lower case, without parameters.
    pub content_type: String,
    /// The required hash of the content, if the uploader announced one.
    pub sha256: Option<ContentHash>,
}

/// Signs and checks upload URLs.
#[derive(Clone)]
pub struct Signer(Key);

impl Signer {
    /// Creates a signer. Anyone who knows the key can make proofs.
    #[must_use]
    pub fn new(key: &[u8]) -> Self {
        Self(Key::new_from_slice(key).expect("HMAC takes keys of any length"))
    }

    /// Signs a claim for `PUT` until `expires_at` (milliseconds since 1970): 64 hexadecimal digits.
    #[must_use]
    pub fn sign(&self, claim: &Claim, expires_at: i64) -> String {
        link::sign(&self.0, &text_of(claim, expires_at))
    }

    /// Checks a proof, in constant time.
    ///
    /// # Errors
    /// `Forged` if the proof does not fit the claim, `Expired` if it does and is too late.
    pub fn verify(&self, claim: &Claim, proof: Proof<'_>, now: i64) -> Result<(), ProofError> {
        link::verify(&self.0, &text_of(claim, proof.expires_at), proof, now)
    }
}

/// The signed text. No part can contain a line break, so two claims never make the same text.
fn text_of(claim: &Claim, expires_at: i64) -> String {
    let Claim { path, size, content_type, sha256 } = claim;
    let sha256 = sha256.map_or_else(|| "-".to_owned(), |hash| hash.to_string());
    format!("muster upload 1\nPUT\n{path}\n{size}\n{content_type}\n{sha256}\n{expires_at}")
}

impl fmt::Debug for Signer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Signer(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim() -> Claim {
        let path = StoragePath::parse("videos/_/1.png").unwrap();
        Claim { path, size: 5, content_type: "image/png".to_owned(), sha256: None }
    }

    fn proof(expires_at: i64, signature: &str) -> Proof<'_> {
        Proof { expires_at, signature }
    }

    /// N21, I7: a proof fits one path, size, type, hash and expiry, and the key that made it.
    #[test]
    fn a_proof_fits_nothing_else() {
        let signer = Signer::new(b"key");
        let signature = signer.sign(&claim(), 100);
        assert_eq!(signer.verify(&claim(), proof(100, &signature), 99), Ok(()));
        let other = |change: fn(&mut Claim)| {
            let mut claim = claim();
            change(&mut claim);
            signer.verify(&claim, proof(100, &signature), 99)
        };
        assert_eq!(other(|claim| claim.path = StoragePath::parse("videos/_/2.png").unwrap()), FORGED);
        assert_eq!(other(|claim| claim.size = 6), FORGED);
        assert_eq!(other(|claim| claim.content_type = "image/jpeg".to_owned()), FORGED);
        assert_eq!(other(|claim| claim.sha256 = Some(ContentHash::of(b""))), FORGED);
        assert_eq!(signer.verify(&claim(), proof(101, &signature), 99), FORGED);
        assert_eq!(Signer::new(b"kez").verify(&claim(), proof(100, &signature), 99), FORGED);
        for bad in ["", "00", &signature[1..], &signature.replace(|_: char| true, "0")] {
            assert_eq!(signer.verify(&claim(), proof(100, bad), 99), FORGED);
        }
    }

    /// N21: a proof expires; a forged one is never called expired.
    #[test]
    fn a_proof_expires() {
        let signer = Signer::new(b"key");
        let signature = signer.sign(&claim(), 100);
        assert_eq!(signer.verify(&claim(), proof(100, &signature), 100), Err(ProofError::Expired));
        assert_eq!(signer.verify(&claim(), proof(100, &"0".repeat(64)), 100), FORGED);
    }

    /// I6: the key is not shown.
    #[test]
    fn the_key_is_not_shown() {
        assert_eq!(format!("{:?}", Signer::new(b"hunter2")), "Signer(…)");
    }

    const FORGED: Result<(), ProofError> = Err(ProofError::Forged);
}
