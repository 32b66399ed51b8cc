//! Signatures with an expiry: what signed upload URLs and links to files have in common.

use crate::hash::bytes_of;
use hmac::{Hmac, Mac};
use sha2::Sha256;

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
