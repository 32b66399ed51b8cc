//! Links: URLs that open one file without a token, until they expire (N21).

use crate::{StoragePath, hash::bytes_of};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
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
        sign(&self.0, &text_of(path, expires_at))
    }

    /// Checks the proof of a link, in constant time.
    ///
    /// # Errors
    /// `Forged` if the proof is not for this path and expiry, `Expired` if it is and is too late.
    pub fn verify(&self, path: &StoragePath, proof: Proof<'_>, now: i64) -> Result<(), ProofError> {
        verify(&self.0, &text_of(path, proof.expires_at), proof, now)
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

/// An HMAC that has taken in a key; each purpose has its own.
pub(crate) type Key = Hmac<Sha256>;

/// A signature and the expiry that it covers, as a URL carries them.
#[derive(Clone, Copy, Debug)]
pub struct Proof<'a> {
    /// End of the proof, in milliseconds since 1970.
    pub expires_at: i64,
    /// 64 hexadecimal digits.
    pub signature: &'a str,
}

/// Reasons to reject a proof.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProofError {
    /// The signature was not made with this key, or was made for something else.
    #[error("the signature does not fit")]
    Forged,
    /// The signature is authentic, but its time is over.
    #[error("the signature has expired")]
    Expired,
}

/// Signs a text: 64 hexadecimal digits.
pub(crate) fn sign(key: &Key, text: &str) -> String {
    let bytes: [u8; 32] = key.clone().chain_update(text).finalize().into_bytes().into();
    bytes.iter().fold(String::with_capacity(64), |text, byte| text + &format!("{byte:02x}"))
}

/// Checks a proof over a text, which must contain the expiry. The comparison takes constant time.
///
/// The signature is checked before the expiry, so that a forger never learns whether a proof would have been in time.
pub(crate) fn verify(key: &Key, text: &str, proof: Proof<'_>, now: i64) -> Result<(), ProofError> {
    let signature = bytes_of(proof.signature).ok_or(ProofError::Forged)?;
    let mac = key.clone().chain_update(text);
    mac.verify_slice(&signature).map_err(|_| ProofError::Forged)?;
    if now < proof.expires_at { Ok(()) } else { Err(ProofError::Expired) }
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
        assert_ne!(sign(&links.0, "text"), sign(&Key::new_from_slice(b"key").unwrap(), "text"));
    }

    /// I6: the key is not shown.
    #[test]
    fn the_key_is_not_shown() {
        assert_eq!(format!("{:?}", LinkSigner::new(b"hunter2")), "LinkSigner(…)");
    }

    const FORGED: Result<(), ProofError> = Err(ProofError::Forged);
}
