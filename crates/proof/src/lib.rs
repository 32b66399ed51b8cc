//! Proofs that need no server: canonical JSON, signatures over it, and receipts.
//!
//! Three parties who trust each other little must agree on bytes: a worker signs them, the coordinator checks them, a
//! client checks them again years later. So the form of a document is fixed byte for byte ([`canonical`]), a signature is
//! either strictly valid or refused ([`PublicKey::verify`]), and a result comes with all that is needed to check it
//! offline ([`Receipt`]). One signature may stand for many results ([`MerkleTree`]). Everything here is a function of its
//! arguments: no IO, no clock, no chance.

mod base64url;
mod hash;
pub mod json;
mod merkle;
mod receipt;
mod sign;

pub use base64url::{NotBase64Url, decode as decode_base64url, encode as encode_base64url};
pub use hash::{SignedFields, batch_bytes, hex, leaf_hashes, sha256_hex, signed_bytes, vote};
pub use json::{Reason, Refused, Value, canonical};
pub use merkle::{Hash, MerkleTree, leaf_hash, root_of_path};
pub use receipt::{Batch, Proof, Receipt, ReceiptError, ReceiptFault};
pub use sign::{KeyError, KeyPair, PublicKey, Signature, SignatureError, decode_signature};
