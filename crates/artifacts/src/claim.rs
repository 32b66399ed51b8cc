//! What may be uploaded, and the proof of it.

use crate::{ContentHash, StoragePath, hash::bytes_of};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use std::fmt;

/// One file that may be uploaded to one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// Where to.
    pub path: StoragePath,
    /// Exactly so many bytes.
    pub size: u64,
    /// Such as `image/png`, in lower case, without parameters.
    pub content_type: String,
    /// What its content must hash to, if that was said.
    pub sha256: Option<ContentHash>,
}

/// Makes and checks proofs that a claim was handed out here.
#[derive(Clone)]
pub struct Signer(Hmac<Sha256>);

/// Why a proof does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProofError {
    /// It was made by somebody else, or for another claim.
    #[error("the signature does not fit")]
    Forged,
    /// It was ours, and its time is over.
    #[error("the signature has expired")]
    Expired,
}

impl Signer {
    /// A signer with a key of its own; whoever knows the key can make proofs.
    #[must_use]
    pub fn new(key: &[u8]) -> Self {
        Self(Hmac::new_from_slice(key).expect("HMAC takes keys of any length"))
    }

    /// The proof for a claim, good for `PUT` until `expires_at` (milliseconds since 1970): 64 hexadecimal digits.
    #[must_use]
    pub fn sign(&self, claim: &Claim, expires_at: i64) -> String {
        let bytes: [u8; 32] = self.mac(claim, expires_at).finalize().into_bytes().into();
        bytes.iter().fold(String::with_capacity(64), |text, byte| text + &format!("{byte:02x}"))
    }

    /// Checks a proof, in constant time.
    ///
    /// # Errors
    /// When it does not fit, or (only then is that said) has expired.
    pub fn verify(
        &self,
        claim: &Claim,
        (expires_at, signature): (i64, &str),
        now: i64,
    ) -> Result<(), ProofError> {
        let signature = bytes_of(signature).ok_or(ProofError::Forged)?;
        self.mac(claim, expires_at).verify_slice(&signature).map_err(|_| ProofError::Forged)?;
        if now < expires_at { Ok(()) } else { Err(ProofError::Expired) }
    }

    /// None of the parts can hold a line break, so that no two claims make the same text.
    fn mac(&self, claim: &Claim, expires_at: i64) -> Hmac<Sha256> {
        let Claim { path, size, content_type, sha256 } = claim;
        let sha256 = sha256.map_or_else(|| "-".to_owned(), |hash| hash.to_string());
        let text = format!("muster upload 1\nPUT\n{path}\n{size}\n{content_type}\n{sha256}\n{expires_at}");
        self.0.clone().chain_update(text)
    }
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

    /// N21, I7: a proof fits one path, size, type, hash and expiry, and the key that made it.
    #[test]
    fn a_proof_fits_nothing_else() {
        let signer = Signer::new(b"key");
        let signature = signer.sign(&claim(), 100);
        assert_eq!(signer.verify(&claim(), (100, &signature), 99), Ok(()));
        let other = |change: fn(&mut Claim)| {
            let mut claim = claim();
            change(&mut claim);
            signer.verify(&claim, (100, &signature), 99)
        };
        assert_eq!(other(|claim| claim.path = StoragePath::parse("videos/_/2.png").unwrap()), FORGED);
        assert_eq!(other(|claim| claim.size = 6), FORGED);
        assert_eq!(other(|claim| claim.content_type = "image/jpeg".to_owned()), FORGED);
        assert_eq!(other(|claim| claim.sha256 = Some(ContentHash::of(b""))), FORGED);
        assert_eq!(signer.verify(&claim(), (101, &signature), 99), FORGED);
        assert_eq!(Signer::new(b"kez").verify(&claim(), (100, &signature), 99), FORGED);
        for bad in ["", "00", &signature[1..], &signature.replace(|_: char| true, "0")] {
            assert_eq!(signer.verify(&claim(), (100, bad), 99), FORGED);
        }
    }

    /// N21: a proof ends; one that was never ours is not said to have ended.
    #[test]
    fn a_proof_expires() {
        let signer = Signer::new(b"key");
        let signature = signer.sign(&claim(), 100);
        assert_eq!(signer.verify(&claim(), (100, &signature), 100), Err(ProofError::Expired));
        assert_eq!(signer.verify(&claim(), (100, &"0".repeat(64)), 100), FORGED);
    }

    /// I6: the key is not shown.
    #[test]
    fn the_key_is_not_shown() {
        assert_eq!(format!("{:?}", Signer::new(b"hunter2")), "Signer(…)");
    }

    const FORGED: Result<(), ProofError> = Err(ProofError::Forged);
}
