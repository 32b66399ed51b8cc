//! Uploads that are allowed, and links that open one file without a token until they expire (N21); both carry a signature.

use crate::{ContentHash, StoragePath, hash::bytes_of};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
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
#[derive(Clone, Debug)]
pub struct Signer(Key);

impl Signer {
    /// Creates a signer. Anyone who knows the key can make proofs.
    #[must_use]
    pub fn new(key: &[u8]) -> Self {
        Self(Key::new(key))
    }

    /// Signs a claim for `PUT` until `expires_at` (milliseconds since 1970): 64 hexadecimal digits.
    #[must_use]
    pub fn sign(&self, claim: &Claim, expires_at: i64) -> String {
        self.0.sign(&upload_text(claim, expires_at))
    }

    /// Checks a proof, in constant time.
    ///
    /// # Errors
    /// `Forged` if the proof does not fit the claim, `Expired` if it does and is too late.
    pub fn verify(&self, claim: &Claim, proof: Proof<'_>, now: i64) -> Result<(), ProofError> {
        self.0.verify(&upload_text(claim, proof.expires_at), proof, now)
    }
}

/// Signs and checks links.
#[derive(Clone, Debug)]
pub struct LinkSigner(Key);

impl LinkSigner {
    /// Creates a signer from the key that [`Signer`] uses.
    ///
    /// Links are signed with a key derived from it, over a text that no upload has. So an upload URL never opens a file
    /// and a link never accepts an upload, whichever text a caller could get signed.
    #[must_use]
    pub fn new(key: &[u8]) -> Self {
        Self(Key::new(&Key::new(key).0.chain_update(PURPOSE).finalize().into_bytes()))
    }

    /// Signs a link to one file, good for `GET` and `HEAD` until `expires_at` (milliseconds since 1970): 64 hexadecimal
    /// digits.
    #[must_use]
    pub fn sign(&self, path: &StoragePath, expires_at: i64) -> String {
        self.0.sign(&link_text(path, expires_at))
    }

    /// Checks the proof of a link, in constant time.
    ///
    /// # Errors
    /// `Forged` if the proof is not for this path and expiry, `Expired` if it is and is too late.
    pub fn verify(&self, path: &StoragePath, proof: Proof<'_>, now: i64) -> Result<(), ProofError> {
        self.0.verify(&link_text(path, proof.expires_at), proof, now)
    }
}

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

/// An HMAC that has taken in a key; each purpose has its own. It is never shown.
#[derive(Clone)]
struct Key(Hmac<Sha256>);

impl Key {
    fn new(key: &[u8]) -> Self {
        Self(Hmac::new_from_slice(key).expect("HMAC takes keys of any length"))
    }

    /// Signs a text: 64 hexadecimal digits.
    fn sign(&self, text: &str) -> String {
        let bytes: [u8; 32] = self.0.clone().chain_update(text).finalize().into_bytes().into();
        bytes.iter().fold(String::with_capacity(64), |text, byte| text + &format!("{byte:02x}"))
    }

    /// Checks a proof over a text, which must contain the expiry. The comparison takes constant time.
    ///
    /// The signature is checked before the expiry, so that a forger never learns whether a proof would have been in
    /// time.
    fn verify(&self, text: &str, proof: Proof<'_>, now: i64) -> Result<(), ProofError> {
        let signature = bytes_of(proof.signature).ok_or(ProofError::Forged)?;
        self.0.clone().chain_update(text).verify_slice(&signature).map_err(|_| ProofError::Forged)?;
        if now < proof.expires_at { Ok(()) } else { Err(ProofError::Expired) }
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("…")
    }
}

/// The signed text of an upload. No part can contain a line break, so two claims never make the same text.
fn upload_text(claim: &Claim, expires_at: i64) -> String {
    let Claim { path, size, content_type, sha256 } = claim;
    let sha256 = sha256.map_or_else(|| "-".to_owned(), |hash| hash.to_string());
    format!("muster upload 1\nPUT\n{path}\n{size}\n{content_type}\n{sha256}\n{expires_at}")
}

/// The signed text of a link. A path cannot contain a line break, so two links never make the same text.
fn link_text(path: &StoragePath, expires_at: i64) -> String {
    format!("muster link 1\nGET\n{path}\n{expires_at}")
}

/// Derives the key of links. The signed text of an upload never begins like this.
const PURPOSE: &str = "\nmuster link key 1\n";

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> StoragePath {
        StoragePath::parse(text).unwrap()
    }

    fn claim() -> Claim {
        let path = path("videos/_/1.png");
        Claim { path, size: 5, content_type: "image/png".to_owned(), sha256: None }
    }

    /// Checks an upload at moment 99.
    fn upload(key: &[u8], claim: &Claim, expires_at: i64, signature: &str) -> Result<(), ProofError> {
        Signer::new(key).verify(claim, Proof { expires_at, signature }, 99)
    }

    /// Checks a link at moment 99.
    fn link(key: &[u8], at: &str, expires_at: i64, signature: &str) -> Result<(), ProofError> {
        LinkSigner::new(key).verify(&path(at), Proof { expires_at, signature }, 99)
    }

    /// N21, I7: a proof fits one path, size, type, hash and expiry, and the key that made it.
    #[test]
    fn a_proof_fits_nothing_else() {
        let signature = Signer::new(b"key").sign(&claim(), 100);
        assert_eq!(upload(b"key", &claim(), 100, &signature), Ok(()));
        for other in [
            Claim { path: path("videos/_/2.png"), ..claim() },
            Claim { size: 6, ..claim() },
            Claim { content_type: "image/jpeg".to_owned(), ..claim() },
            Claim { sha256: Some(ContentHash::of(b"")), ..claim() },
        ] {
            assert_eq!(upload(b"key", &other, 100, &signature), FORGED, "{other:?}");
        }
        assert_eq!(upload(b"key", &claim(), 101, &signature), FORGED);
        assert_eq!(upload(b"kez", &claim(), 100, &signature), FORGED);
    }

    /// N21: a link opens one path until one moment, and only with the key that signed it.
    #[test]
    fn a_link_opens_one_file() {
        let signature = LinkSigner::new(b"key").sign(&path("videos/_/1.png"), 100);
        assert_eq!(link(b"key", "videos/_/1.png", 100, &signature), Ok(()));
        for (at, expires_at) in [
            ("videos/_/2.png", 100),
            ("videos/_/1.pn", 100),
            ("videos/_", 100),
            ("videos/_/1.png", 101),
            ("videos/_/1.png", i64::MAX),
        ] {
            assert_eq!(link(b"key", at, expires_at, &signature), FORGED, "{at} {expires_at}");
        }
        let flipped = if signature.starts_with('0') { "1" } else { "0" }.to_owned() + &signature[1..];
        for bad in
            ["", "00", &signature[1..], &signature[..63], &flipped, &format!("{signature}0"), &"0".repeat(64)]
        {
            assert_eq!(link(b"key", "videos/_/1.png", 100, bad), FORGED, "{bad}");
        }
        assert_eq!(link(b"kez", "videos/_/1.png", 100, &signature), FORGED);
    }

    /// N21: a proof expires; a forged one is never called expired.
    #[test]
    fn a_proof_expires() {
        let signature = Signer::new(b"key").sign(&claim(), 99);
        assert_eq!(upload(b"key", &claim(), 99, &signature), Err(ProofError::Expired));
        assert_eq!(upload(b"key", &claim(), 99, &"0".repeat(64)), FORGED);
        let signature = LinkSigner::new(b"key").sign(&path("a.png"), 99);
        assert_eq!(link(b"key", "a.png", 99, &signature), Err(ProofError::Expired));
        assert_eq!(link(b"key", "a.png", 98, &signature), FORGED);
    }

    /// N21, I7: the signature of an upload is not one of a link, and the other way round.
    #[test]
    fn uploads_and_links_do_not_mix() {
        let (uploads, links) = (Signer::new(b"key"), LinkSigner::new(b"key"));
        assert_eq!(link(b"key", "videos/_/1.png", 100, &uploads.sign(&claim(), 100)), FORGED);
        assert_eq!(upload(b"key", &claim(), 100, &links.sign(&claim().path, 100)), FORGED);
        // Even the same text has another signature: the keys differ.
        assert_ne!(links.0.sign("text"), uploads.0.sign("text"));
    }

    /// I6: the key is not shown.
    #[test]
    fn the_key_is_not_shown() {
        assert_eq!(format!("{:?}", Signer::new(b"hunter2")), "Signer(…)");
        assert_eq!(format!("{:?}", LinkSigner::new(b"hunter2")), "LinkSigner(…)");
    }

    const FORGED: Result<(), ProofError> = Err(ProofError::Forged);
}
