//! Keys and signatures: Ed25519, strictly (P8, P9).

use crate::base64url;
use aws_lc_rs::signature::{ED25519, Ed25519KeyPair, KeyPair as _, UnparsedPublicKey};

/// A worker's public key: any 32 bytes.
///
/// Bytes that are no point of the curve are a key all the same, one under which nothing verifies: it is the submission
/// that is refused (P8), so that a worker can be registered before its owner has got the key right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PublicKey([u8; 32]);

/// Reason why a text is no public key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// Not canonical base64url.
    #[error("Invalid public key encoding")]
    Encoding,
    /// Not 32 bytes.
    #[error("Invalid public key length")]
    Length,
}

/// A signature: any 64 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signature([u8; 64]);

/// Reason why a text is no signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SignatureError {
    /// Not canonical base64url.
    #[error("Invalid signature encoding")]
    Encoding,
    /// Not 64 bytes.
    #[error("Invalid signature length")]
    Length,
}

/// Key that a worker signs with.
#[derive(Clone)]
pub struct KeyPair(Ed25519KeyPair);

impl PublicKey {
    /// Reads a key from base64url, with padding or without.
    pub fn decode(text: &str) -> Result<Self, KeyError> {
        let bytes = base64url::decode(text).map_err(|_| KeyError::Encoding)?;
        let bytes: [u8; 32] = bytes.try_into().map_err(|_| KeyError::Length)?;
        Ok(Self::from(bytes))
    }

    /// Spells the key in base64url without padding.
    pub fn to_text(&self) -> String {
        base64url::encode(&self.0)
    }

    /// The bytes of the key.
    pub const fn bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Says whether a signature over a message is strictly valid.
    ///
    /// Refused are keys and signatures of small order, which hold for messages that nobody signed; signatures with a
    /// scalar that is not reduced, which anybody can make from a valid one; and keys in a second spelling. Signatures are
    /// checked one by one: the equation for a batch takes by chance what this refuses.
    ///
    /// By its verdicts on the test vectors, the library computes R without the cofactor and compares its canonical bytes with
    /// those of the signature. So only small orders are left to refuse here, and each of those points has one spelling that
    /// could pass (decision 36).
    pub fn verify(&self, message: &[u8], signature: &Signature) -> bool {
        let is_strict =
            is_reduced(&self.0) && !has_small_order(&self.0) && !has_small_order(signature.point());
        is_strict && UnparsedPublicKey::new(&ED25519, &self.0).verify(message, &signature.0).is_ok()
    }
}

impl From<[u8; 32]> for PublicKey {
    fn from(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }
}

/// Says whether a point's coordinate is below the prime 2^255 - 19. The bytes begin with the lowest; the highest bit is not
/// the coordinate's.
fn is_reduced(bytes: &[u8; 32]) -> bool {
    let [lowest, middle @ .., highest] = bytes;
    *lowest < 0xed || middle.iter().any(|byte| *byte < 0xff) || highest | 0x80 < 0xff
}

/// Says whether reduced bytes are a point whose order divides eight. The highest bit, the sign of the other coordinate, makes no
/// difference: the negative of such a point has the same order.
fn has_small_order(bytes: &[u8; 32]) -> bool {
    let mut coordinate = *bytes;
    coordinate[31] &= 0x7f;
    SMALL_ORDERS.contains(&coordinate)
}

/// Reads a signature from base64url, with padding or without.
pub fn decode_signature(text: &str) -> Result<Signature, SignatureError> {
    let bytes = base64url::decode(text).map_err(|_| SignatureError::Encoding)?;
    let bytes: [u8; 64] = bytes.try_into().map_err(|_| SignatureError::Length)?;
    Ok(Signature(bytes))
}

impl Signature {
    /// Spells the signature in base64url without padding.
    pub fn to_text(&self) -> String {
        base64url::encode(&self.0)
    }

    /// The first half: the point R.
    fn point(&self) -> &[u8; 32] {
        self.0.first_chunk().expect("32 of 64 bytes")
    }
}

impl KeyPair {
    /// Makes the pair that belongs to a seed.
    pub fn from_seed(seed: &[u8; 32]) -> Self {
        Self(Ed25519KeyPair::from_seed_unchecked(seed).expect("any 32 bytes are a seed"))
    }

    /// The key that others check with.
    pub fn public_key(&self) -> PublicKey {
        PublicKey(self.0.public_key().as_ref().try_into().expect("a public key has 32 bytes"))
    }

    /// The public key as text.
    pub fn public_text(&self) -> String {
        self.public_key().to_text()
    }

    /// Signs a message.
    pub fn sign(&self, message: &[u8]) -> Signature {
        Signature(self.0.sign(message).as_ref().try_into().expect("a signature has 64 bytes"))
    }
}

impl std::fmt::Debug for KeyPair {
    /// Says nothing of the seed.
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "KeyPair({})", self.public_text())
    }
}

/// Coordinates of the eight points of small order: those of order one, two and four, and two pairs of order eight.
const SMALL_ORDERS: [[u8; 32]; 5] = [
    [1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
    [
        0xec, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
        0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f,
    ],
    [0; 32],
    [
        0x26, 0xe8, 0x95, 0x8f, 0xc2, 0xb2, 0x27, 0xb0, 0x45, 0xc3, 0xf4, 0x89, 0xf2, 0xef, 0x98, 0xf0, 0xd5,
        0xdf, 0xac, 0x05, 0xd3, 0xc6, 0x33, 0x39, 0xb1, 0x38, 0x02, 0x88, 0x6d, 0x53, 0xfc, 0x05,
    ],
    [
        0xc7, 0x17, 0x6a, 0x70, 0x3d, 0x4d, 0xd8, 0x4f, 0xba, 0x3c, 0x0b, 0x76, 0x0d, 0x10, 0x67, 0x0f, 0x2a,
        0x20, 0x53, 0xfa, 0x2c, 0x39, 0xcc, 0xc6, 0x4e, 0xc7, 0xfd, 0x77, 0x92, 0xac, 0x03, 0x7a,
    ],
];

#[cfg(test)]
mod tests {
    use super::*;
    use ed25519_dalek::VerifyingKey;
    use proptest::prelude::*;

    /// P9: signatures are plain Ed25519 (the second test of RFC 8032).
    #[test]
    fn a_signature_is_that_of_the_standard() {
        let seed = "TM0Imyj_ltqdtsNG7BFOD1uKMZ81q6Yk2oz27U-4pvs";
        let pair = KeyPair::from_seed(&base64url::decode(seed).unwrap().try_into().unwrap());
        let signature =
            "kqAJqfDUyrhyDoILX2QlQKKye1QWUD-Ps3YiI-vbadoIWsHkPhWZbkWPNhPQ8R2MOHsurrQwKu6wDSkWErsMAA";
        assert_eq!(pair.public_text(), "PUAXw-hDiVqStwqnTRt-vJyYLM8uxJaMwM1V8Sr0Zgw");
        assert_eq!(pair.sign(&[0x72]).to_text(), signature);
        assert!(pair.public_key().verify(&[0x72], &decode_signature(signature).unwrap()));
        assert!(!pair.public_key().verify(&[0x73], &decode_signature(signature).unwrap()));
        assert!(!format!("{pair:?}").contains("TM0"), "a seed is not for logs");
    }

    /// P8: padding is optional, in keys and in signatures.
    #[test]
    fn padding_makes_no_other_key() {
        let pair = KeyPair::from_seed(&[7; 32]);
        let (key, signature) = (pair.public_text(), pair.sign(b"m").to_text());
        assert_eq!(PublicKey::decode(&format!("{key}=")), PublicKey::decode(&key));
        assert_eq!(decode_signature(&format!("{signature}==")), decode_signature(&signature));
    }

    /// P9: a point has one spelling, even where the curve's arithmetic would take a second one.
    #[test]
    fn a_second_spelling_of_a_point_is_no_key() {
        let spelled = |byte: u8| {
            let mut bytes = [0xff; 32];
            (bytes[0], bytes[31]) = (byte, 0x7f);
            bytes
        };
        let points = (0xed..=0xff).map(spelled).filter(|bytes| VerifyingKey::from_bytes(bytes).is_ok());
        let seconds: Vec<_> = points.collect();
        assert!(seconds.len() > 5);
        assert!(!seconds.iter().any(is_reduced));
    }

    /// P9: the table has the points of small order, and no others.
    #[test]
    fn the_table_has_the_points_of_small_order() {
        let spelled = SMALL_ORDERS.map(|bytes| VerifyingKey::from_bytes(&bytes).unwrap());
        let points: Vec<_> =
            spelled.iter().map(VerifyingKey::to_edwards).flat_map(|point| [point, -point]).collect();
        assert!(points.iter().all(|point| point.is_small_order()));
        let distinct: std::collections::BTreeSet<_> =
            points.iter().map(|point| point.compress().to_bytes()).collect();
        assert_eq!(distinct.len(), 8);
    }

    proptest! {
        /// P8, P9: what is signed verifies; one bit off, in whatever place, it does not.
        #[test]
        fn one_bit_decides(seed: [u8; 32], message in prop::collection::vec(any::<u8>(), 1..100), at in 0..512_usize) {
            let pair = KeyPair::from_seed(&seed);
            let signature = pair.sign(&message);
            prop_assert!(pair.public_key().verify(&message, &signature));
            let mut bytes = signature.0;
            bytes[at / 8] ^= 1 << (at % 8);
            let other = decode_signature(&base64url::encode(&bytes)).unwrap();
            prop_assert!(!pair.public_key().verify(&message, &other));
            let mut other = message.clone();
            let place = at % (message.len() * 8);
            other[place / 8] ^= 1 << (place % 8);
            prop_assert!(!pair.public_key().verify(&other, &signature));
        }
    }
}
