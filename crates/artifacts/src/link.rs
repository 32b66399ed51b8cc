//! Links: URLs that open one file without a token, until they expire (N21).

use crate::{
    Proof, ProofError, StoragePath,
    signature::{self, Key},
};
use hmac::{KeyInit, Mac};
use std::fmt;

/// Signs and checks links.
#[derive(Clone)]
pub struct LinkSigner(Key);

impl LinkSigner {
    /// Creates a signer from the key that [`crate::Signer`] uses.
    ///
    /// Links are signed with a key derived from it, over a text that no upload has. So an upload URL never opens a file
    /// and a link never accepts an upload, whichever text a caller could get signed.
    #[must_use]
    pub fn new(key: &[u8]) -> Self {
        let under = |key: &[u8]| Key::new_from_slice(key).expect("HMAC takes keys of any length");
        Self(under(&under(key).chain_update(PURPOSE).finalize().into_bytes()))
    }

    /// Signs a link to one file, good for `GET` and `HEAD` until `expires_at` (milliseconds since 1970): 64 hexadecimal
    /// digits.
    #[must_use]
    pub fn sign(&self, path: &StoragePath, expires_at: i64) -> String {
        signature::sign(&self.0, &text_of(path, expires_at))
    }

    /// Checks the proof of a link, in constant time.
    ///
    /// # Errors
    /// `Forged` if the proof is not for this path and expiry, `Expired` if it is and is too late.
    pub fn verify(&self, path: &StoragePath, proof: Proof<'_>, now: i64) -> Result<(), ProofError> {
        signature::verify(&self.0, &text_of(path, proof.expires_at), proof, now)
    }
}

/// The signed text. A path cannot contain a line break, so two links never make the same text.
fn text_of(path: &StoragePath, expires_at: i64) -> String {
    format!("muster link 1\nGET\n{path}\n{expires_at}")
}

impl fmt::Debug for LinkSigner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LinkSigner(…)")
    }
}

/// Derives the key of links. The signed text of an upload never begins like this.
const PURPOSE: &str = "\nmuster link key 1\n";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Claim, Signer};

    fn path(text: &str) -> StoragePath {
        StoragePath::parse(text).unwrap()
    }

    fn verify(signer: &LinkSigner, at: &str, expires_at: i64, signature: &str) -> Result<(), ProofError> {
        signer.verify(&path(at), Proof { expires_at, signature }, 99)
    }

    /// N21: a link opens one path until one moment, and only with the key that signed it.
    #[test]
    fn a_link_opens_one_file() {
        let signer = LinkSigner::new(b"key");
        let signature = signer.sign(&path("videos/_/1.png"), 100);
        assert_eq!(verify(&signer, "videos/_/1.png", 100, &signature), Ok(()));
        for (at, expires_at) in [
            ("videos/_/2.png", 100),
            ("videos/_/1.pn", 100),
            ("videos/_", 100),
            ("videos/_/1.png", 101),
            ("videos/_/1.png", i64::MAX),
        ] {
            assert_eq!(verify(&signer, at, expires_at, &signature), FORGED, "{at} {expires_at}");
        }
        let flipped = if signature.starts_with('0') { "1" } else { "0" }.to_owned() + &signature[1..];
        for bad in
            ["", "00", &signature[1..], &signature[..63], &flipped, &format!("{signature}0"), &"0".repeat(64)]
        {
            assert_eq!(verify(&signer, "videos/_/1.png", 100, bad), FORGED, "{bad}");
        }
        assert_eq!(verify(&LinkSigner::new(b"kez"), "videos/_/1.png", 100, &signature), FORGED);
        assert_eq!(verify(&LinkSigner::new(b"key"), "videos/_/1.png", 100, &signature), Ok(()));
    }

    /// N21: a link expires; a forged one is never called expired.
    #[test]
    fn a_link_expires() {
        let signer = LinkSigner::new(b"key");
        let signature = signer.sign(&path("a.png"), 99);
        assert_eq!(verify(&signer, "a.png", 99, &signature), Err(ProofError::Expired));
        assert_eq!(verify(&signer, "a.png", 98, &signature), FORGED);
        assert_eq!(verify(&signer, "a.png", 99, &"0".repeat(64)), FORGED);
    }

    /// N21, I7: the signature of an upload is not one of a link, and the other way round.
    #[test]
    fn uploads_and_links_do_not_mix() {
        let (uploads, links) = (Signer::new(b"key"), LinkSigner::new(b"key"));
        let claim =
            Claim { path: path("a.png"), size: 5, content_type: "image/png".to_owned(), sha256: None };
        let upload = uploads.sign(&claim, 100);
        let link = links.sign(&claim.path, 100);
        assert_ne!(upload, link);
        assert_eq!(verify(&links, "a.png", 100, &upload), FORGED);
        let proof = Proof { expires_at: 100, signature: &link };
        assert_eq!(uploads.verify(&claim, proof, 99), FORGED);
        // Even the same text has another signature: the keys differ.
        assert_ne!(
            signature::sign(&links.0, "text"),
            signature::sign(&Key::new_from_slice(b"key").unwrap(), "text")
        );
    }

    /// I6: the key is not shown.
    #[test]
    fn the_key_is_not_shown() {
        assert_eq!(format!("{:?}", LinkSigner::new(b"hunter2")), "LinkSigner(…)");
    }

    const FORGED: Result<(), ProofError> = Err(ProofError::Forged);
}
