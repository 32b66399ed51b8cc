//! Receipts: a result's proof, for whoever asks later (P17, P20).

use crate::{
    base64url, hash,
    json::{self, Value},
    merkle::{Hash, leaf_hash, root_of_path},
    sign::{KeyError, PublicKey, SignatureError, decode_signature},
};
use std::fmt::Write;

/// Proof that a worker stands for a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Receipt {
    /// The assignment that was submitted.
    pub assignment_id: u64,
    /// The job it belongs to.
    pub job_id: u64,
    /// The worker that submitted it.
    pub worker_id: u64,
    /// The worker's key at that time, as it was registered.
    pub public_key: String,
    /// The signed bytes in base64url.
    pub signed_bytes: String,
    /// The signature that covers them.
    pub proof: Proof,
    /// The hash that was submitted, if one was.
    pub output_hash: Option<String>,
    /// When the coordinator took the result. No signature covers it.
    pub finished_at: String,
}

/// The signature that covers the signed bytes of a receipt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Proof {
    /// One over the bytes themselves, in base64url: the field `signature` (P9).
    Single(String),
    /// One over many results: the field `batch` (P20).
    Batch(Batch),
}

/// The place of a result among those that its worker signed at once (P20).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    /// Number of results.
    pub count: u64,
    /// The place of this one, from 0 on.
    pub index: u64,
    /// The path from the result to the root of the Merkle tree.
    pub path: Vec<Hash>,
    /// The root.
    pub root: Hash,
    /// The signature over count, root and worker in base64url.
    pub signature: String,
}

/// Reason why a text is no receipt.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReceiptError {
    /// It is no JSON.
    #[error("no JSON: {0}")]
    Json(#[from] json::Refused),
    /// It is JSON, but no object.
    #[error("a receipt is a JSON object")]
    NotAnObject,
    /// A field is missing.
    #[error("the field {0} is missing")]
    Missing(&'static str),
    /// A field is of the wrong type.
    #[error("the field {field} must be {must}")]
    Type {
        /// Which field.
        field: &'static str,
        /// Required type.
        must: &'static str,
    },
    /// A field that no receipt has.
    #[error("there is no field {0:?} in a receipt")]
    Unknown(String),
}

/// Reason why a receipt proves nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReceiptFault {
    /// `signed_bytes` is not base64url.
    #[error("signed_bytes is not canonical base64url")]
    Encoding,
    /// The signed bytes are not of the form that workers sign.
    #[error("signed_bytes does not hold the canonical JSON of assignment_id, nonce and output_hash")]
    Form,
    /// The signed bytes are about another assignment.
    #[error("signed_bytes is about another assignment than {0}")]
    Assignment(u64),
    /// The signed bytes are about another output.
    #[error("signed_bytes is about another output_hash")]
    OutputHash,
    /// The assignment is not one of the job.
    #[error("assignment {assignment_id} does not belong to job {job_id}")]
    Job {
        /// The assignment.
        assignment_id: u64,
        /// The job that was named.
        job_id: u64,
    },
    /// The receipt's key cannot be read.
    #[error("public_key: {0}")]
    Key(KeyError),
    /// The key that was expected cannot be read.
    #[error("the key that was expected: {0}")]
    ExpectedKey(KeyError),
    /// The receipt is signed with another key than the one that was expected.
    #[error("public_key is {0}, not the key that was expected")]
    OtherKey(String),
    /// The path does not lead from the signed bytes to the root.
    #[error("batch.path does not lead from signed_bytes to batch.root")]
    Path,
    /// The signature cannot be read.
    #[error("signature: {0}")]
    Signature(SignatureError),
    /// The signature does not hold.
    #[error("Signature verification failed")]
    Invalid,
}

impl Receipt {
    /// Reads a receipt: exactly its fields, each of its type.
    pub fn parse(text: &[u8]) -> Result<Self, ReceiptError> {
        let document = json::parse(text)?;
        let object = document.as_object().ok_or(ReceiptError::NotAnObject)?;
        let is_known = |key: &str| FIELDS.contains(&key) || key == "batch";
        if let Some(entry) = object.entries().iter().find(|entry| !is_known(&entry.key)) {
            return Err(ReceiptError::Unknown(json::beginning(&entry.key)));
        }
        Ok(Self {
            assignment_id: id(&document, "assignment_id")?,
            job_id: id(&document, "job_id")?,
            worker_id: id(&document, "worker_id")?,
            public_key: text_of(&document, "public_key")?,
            signed_bytes: text_of(&document, "signed_bytes")?,
            proof: Proof::read(&document)?,
            output_hash: optional_text(&document, "output_hash")?,
            finished_at: text_of(&document, "finished_at")?,
        })
    }

    /// Writes the receipt as JSON, its fields in the order of the contract.
    pub fn to_json(&self) -> String {
        let Self { assignment_id, job_id, worker_id, .. } = self;
        let (public_key, signed_bytes) = (quoted(&self.public_key), quoted(&self.signed_bytes));
        let (signature, batch) = match &self.proof {
            Proof::Single(signature) => (quoted(signature), String::new()),
            Proof::Batch(batch) => ("null".to_owned(), format!(",\"batch\":{}", batch.to_json())),
        };
        let output_hash = self.output_hash.as_deref().map_or_else(|| "null".to_owned(), quoted);
        let finished_at = quoted(&self.finished_at);
        format!(
            "{{\"assignment_id\":{assignment_id},\"job_id\":{job_id},\"worker_id\":{worker_id},\
             \"public_key\":{public_key},\"signed_bytes\":{signed_bytes},\"signature\":{signature},\
             \"output_hash\":{output_hash},\"finished_at\":{finished_at}{batch}}}"
        )
    }

    /// Checks the receipt offline.
    ///
    /// Without a key that was expected this proves only that the receipt agrees with itself: anybody can make a key and
    /// sign with it.
    pub fn check(&self, expected_key: Option<&str>) -> Result<(), ReceiptFault> {
        let signed = base64url::decode(&self.signed_bytes).map_err(|_| ReceiptFault::Encoding)?;
        self.check_signed(&signed)?;
        let Self { assignment_id, job_id, .. } = *self;
        if assignment_id / ASSIGNMENTS_PER_JOB != job_id || assignment_id % ASSIGNMENTS_PER_JOB == 0 {
            return Err(ReceiptFault::Job { assignment_id, job_id });
        }
        let key = PublicKey::decode(&self.public_key).map_err(ReceiptFault::Key)?;
        if let Some(expected) = expected_key
            && PublicKey::decode(expected).map_err(ReceiptFault::ExpectedKey)? != key
        {
            return Err(ReceiptFault::OtherKey(key.to_text()));
        }
        let covered = match &self.proof {
            Proof::Single(_) => signed,
            Proof::Batch(batch) => batch.covered(&signed, self.worker_id)?,
        };
        let (Proof::Single(signature) | Proof::Batch(Batch { signature, .. })) = &self.proof;
        let signature = decode_signature(signature).map_err(ReceiptFault::Signature)?;
        if key.verify(&covered, &signature) { Ok(()) } else { Err(ReceiptFault::Invalid) }
    }

    /// Checks that the signed bytes agree with the receipt; only the nonce is not repeated in it.
    fn check_signed(&self, signed: &[u8]) -> Result<(), ReceiptFault> {
        let document = json::parse(signed).map_err(|_| ReceiptFault::Form)?;
        let assignment_id =
            document.get("assignment_id").and_then(Value::as_u64).ok_or(ReceiptFault::Form)?;
        let nonce = document.get("nonce").and_then(Value::as_str).ok_or(ReceiptFault::Form)?;
        let output_hash = optional_text(&document, "output_hash").map_err(|_| ReceiptFault::Form)?;
        if hash::signed_bytes(assignment_id, nonce, output_hash.as_deref()) != signed {
            return Err(ReceiptFault::Form);
        }
        if assignment_id != self.assignment_id {
            return Err(ReceiptFault::Assignment(self.assignment_id));
        }
        if output_hash != self.output_hash { Err(ReceiptFault::OutputHash) } else { Ok(()) }
    }
}

impl Proof {
    /// Reads `signature`, or `batch` where that is null.
    fn read(document: &Value<'_>) -> Result<Self, ReceiptError> {
        match (optional_text(document, "signature")?, document.get("batch")) {
            (Some(signature), None) => Ok(Self::Single(signature)),
            (None, Some(batch)) => Ok(Self::Batch(Batch::read(batch)?)),
            (Some(_), Some(_)) => Err(ReceiptError::Type { field: "signature", must: "null beside a batch" }),
            (None, None) => Err(ReceiptError::Type { field: "signature", must: "a string, or have a batch" }),
        }
    }
}

impl Batch {
    fn read(batch: &Value<'_>) -> Result<Self, ReceiptError> {
        let wrong = |field, must| ReceiptError::Type { field, must };
        let object = batch.as_object().ok_or(wrong("batch", "an object"))?;
        if let Some(entry) = object.entries().iter().find(|entry| !BATCH_FIELDS.contains(&entry.key.as_ref()))
        {
            return Err(ReceiptError::Unknown(format!("batch.{}", json::beginning(&entry.key))));
        }
        let number = |name| field(batch, name)?.as_u64().ok_or(wrong(name, "an integer from 0 on"));
        let hash = |value: &Value<'_>| value.as_str().and_then(hash::read_hash);
        let path = field(batch, "path")?.as_array();
        let path = path.and_then(|path| path.iter().map(hash).collect());
        Ok(Self {
            count: number("count")?,
            index: number("index")?,
            path: path.ok_or(wrong("path", "a list of hashes in lower-case hexadecimal digits"))?,
            root: hash(field(batch, "root")?)
                .ok_or(wrong("root", "a hash in lower-case hexadecimal digits"))?,
            signature: text_of(batch, "signature")?,
        })
    }

    fn to_json(&self) -> String {
        let Self { count, index, path, root, signature } = self;
        let mut hashes = String::new();
        for (n, hash) in path.iter().enumerate() {
            let comma = if n > 0 { "," } else { "" };
            write!(hashes, "{comma}\"{}\"", hash::hex(hash)).expect("a string takes any text");
        }
        let (root, signature) = (hash::hex(root), quoted(signature));
        format!(
            "{{\"count\":{count},\"index\":{index},\"path\":[{hashes}],\"root\":\"{root}\",\
             \"signature\":{signature}}}"
        )
    }

    /// Gives the bytes that the signature of the batch covers, if the result is in it.
    fn covered(&self, signed: &[u8], worker_id: u64) -> Result<Vec<u8>, ReceiptFault> {
        let Self { count, index, path, root, .. } = self;
        let found = root_of_path(leaf_hash(signed), *index, *count, path);
        let is_in_it = found.as_ref() == Some(root);
        is_in_it.then(|| hash::batch_bytes(*count, root, worker_id)).ok_or(ReceiptFault::Path)
    }
}

fn quoted(text: &str) -> String {
    let mut bytes = Vec::new();
    json::write_text(text, &mut bytes);
    String::from_utf8(bytes).expect("text stays text")
}

fn field<'v, 'a>(document: &'v Value<'a>, field: &'static str) -> Result<&'v Value<'a>, ReceiptError> {
    document.get(field).ok_or(ReceiptError::Missing(field))
}

fn id(document: &Value<'_>, name: &'static str) -> Result<u64, ReceiptError> {
    let id = field(document, name)?.as_u64().filter(|id| (1..ID_END).contains(id));
    id.ok_or(ReceiptError::Type { field: name, must: "an integer from 1 to 2^53 - 1" })
}

fn text_of(document: &Value<'_>, name: &'static str) -> Result<String, ReceiptError> {
    let text = field(document, name)?.as_str().map(str::to_owned);
    text.ok_or(ReceiptError::Type { field: name, must: "a string" })
}

fn optional_text(document: &Value<'_>, name: &'static str) -> Result<Option<String>, ReceiptError> {
    let value = field(document, name)?;
    match value.as_str() {
        Some(text) => Ok(Some(text.to_owned())),
        None if value.is_null() => Ok(None),
        None => Err(ReceiptError::Type { field: name, must: "a string or null" }),
    }
}

const FIELDS: [&str; 8] = [
    "assignment_id",
    "job_id",
    "worker_id",
    "public_key",
    "signed_bytes",
    "signature",
    "output_hash",
    "finished_at",
];

const BATCH_FIELDS: [&str; 5] = ["count", "index", "path", "root", "signature"];

/// An assignment's id is its job's times this, and its place among the job's assignments.
const ASSIGNMENTS_PER_JOB: u64 = 64;
const ID_END: u64 = 1 << 53;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{KeyPair, MerkleTree, batch_bytes, encode_base64url, signed_bytes};
    use proptest::prelude::*;

    fn receipt(nonce: &str, output_hash: Option<String>) -> Receipt {
        let pair = KeyPair::from_seed(&[3; 32]);
        let signed = signed_bytes(129, nonce, output_hash.as_deref());
        Receipt {
            assignment_id: 129,
            job_id: 2,
            worker_id: 7,
            public_key: pair.public_text(),
            signed_bytes: encode_base64url(&signed),
            proof: Proof::Single(pair.sign(&signed).to_text()),
            output_hash,
            finished_at: "2026-02-08T12:35:10.000000Z".to_owned(),
        }
    }

    /// The same receipt with a signature over `count` results, of which it is that at `index`.
    fn in_batch(receipt: Receipt, index: usize, count: usize) -> Receipt {
        let other = |n: usize| leaf_hash(&signed_bytes(65 + n as u64, "another", None));
        let mut leaves: Vec<Hash> = (0..count).map(other).collect();
        leaves[index] = leaf_hash(&base64url::decode(&receipt.signed_bytes).unwrap());
        let tree = MerkleTree::new(leaves);
        let (count, index, path, root) = (count as u64, index as u64, tree.path(index).unwrap(), tree.root());
        let bytes = batch_bytes(count, &root, receipt.worker_id);
        let signature = KeyPair::from_seed(&[3; 32]).sign(&bytes).to_text();
        Receipt { proof: Proof::Batch(Batch { count, index, path, root, signature }), ..receipt }
    }

    fn batch_of(receipt: &mut Receipt) -> &mut Batch {
        match &mut receipt.proof {
            Proof::Batch(batch) => batch,
            Proof::Single(signature) => panic!("{signature}"),
        }
    }

    /// P20: a receipt of a batch is refuted by each field of the batch that is changed, and by another worker.
    #[test]
    fn every_field_of_a_batch_counts() {
        let good = in_batch(receipt("n", None), 2, 5);
        assert_eq!(good.check(None), Ok(()));
        let changed = |change: &dyn Fn(&mut Batch)| {
            let mut receipt = good.clone();
            change(batch_of(&mut receipt));
            receipt.check(None).unwrap_err()
        };
        assert_eq!(changed(&|batch| batch.index += 1), ReceiptFault::Path);
        assert_eq!(changed(&|batch| batch.index = 5), ReceiptFault::Path);
        assert_eq!(changed(&|batch| batch.path[0][0] ^= 1), ReceiptFault::Path);
        assert_eq!(changed(&|batch| batch.path.truncate(1)), ReceiptFault::Path);
        assert_eq!(changed(&|batch| batch.root[0] ^= 1), ReceiptFault::Path);
        // The path is that of six leaves as well; the signature says how many there were.
        assert_eq!(changed(&|batch| batch.count = 6), ReceiptFault::Invalid);
        let other = in_batch(receipt("n", None), 1, 5);
        let Proof::Batch(Batch { signature, .. }) = other.proof else { panic!() };
        assert_eq!(changed(&|batch| batch.signature.clone_from(&signature)), ReceiptFault::Invalid);
        let short = ReceiptFault::Signature(SignatureError::Length);
        assert_eq!(changed(&|batch| batch.signature.clear()), short);
        assert_eq!(Receipt { worker_id: 8, ..good.clone() }.check(None), Err(ReceiptFault::Invalid));
    }

    /// P20: a receipt has a signature or a batch, and a batch exactly its fields, each of its type.
    #[test]
    fn a_text_with_a_wrong_batch_is_refused() {
        let text = in_batch(receipt("n", None), 2, 5).to_json();
        let refused =
            |from: &str, to: &str| Receipt::parse(text.replacen(from, to, 1).as_bytes()).unwrap_err();
        let single = receipt("n", None).to_json();
        let (_, after) = single.split_once("\"signature\":").unwrap();
        let (signature, _) = after.split_once(',').unwrap();
        let neither = Receipt::parse(single.replacen(signature, "null", 1).as_bytes());
        let no_object = single.replacen(signature, "null", 1).replacen('}', ",\"batch\":[]}", 1);
        for (error, blamed) in [
            (refused("\"signature\":null", "\"signature\":\"s\""), "signature"),
            (neither.unwrap_err(), "signature"),
            (Receipt::parse(no_object.as_bytes()).unwrap_err(), "batch"),
        ] {
            assert!(matches!(error, ReceiptError::Type { field, .. } if field == blamed), "{error}");
        }
        assert_eq!(refused("\"root\"", "\"roof\""), ReceiptError::Unknown("batch.roof".to_owned()));
        assert_eq!(refused("\"index\":2,", ""), ReceiptError::Missing("index"));
        for (from, to, field) in [
            ("\"count\":5", "\"count\":5.0", "count"),
            ("\"index\":2", "\"index\":-2", "index"),
            ("\"path\":[\"", "\"path\":[\"0", "path"),
            ("\"path\":[\"", "\"path\":[null,\"", "path"),
            ("\"root\":\"", "\"root\":\"0", "root"),
        ] {
            let error = refused(from, to);
            assert!(matches!(error, ReceiptError::Type { field: found, .. } if found == field), "{error}");
        }
    }

    /// P17: exactly the fields of the rule, in its order.
    #[test]
    fn a_receipt_has_the_fields_of_the_rule() {
        let text = receipt("n", None).to_json();
        let places = FIELDS.map(|field| text.find(&format!("\"{field}\":")).unwrap());
        assert!(places.is_sorted(), "{text}");
        assert_eq!(json::parse(text.as_bytes()).unwrap().as_object().unwrap().len(), FIELDS.len());
    }

    /// P17: what is wrong with a text is said by the field's name.
    #[test]
    fn a_text_that_is_no_receipt_is_refused() {
        let text = receipt("n", None).to_json();
        let refused =
            |from: &str, to: &str| Receipt::parse(text.replacen(from, to, 1).as_bytes()).unwrap_err();
        assert_eq!(refused(",\"job_id\":2", ""), ReceiptError::Missing("job_id"));
        assert_eq!(refused("\"job_id\"", "\"job\""), ReceiptError::Unknown("job".to_owned()));
        for (from, to, field) in [
            (":7", ":7.0", "worker_id"),
            (":7", ":-7", "worker_id"),
            (":7", ":0", "worker_id"),
            (":129", ":9007199254740992", "assignment_id"),
            (":null", ":1", "output_hash"),
            ("\"2026-02-08T12:35:10.000000Z\"", "null", "finished_at"),
        ] {
            assert!(matches!(refused(from, to), ReceiptError::Type { field: found, .. } if found == field));
        }
        assert!(matches!(Receipt::parse(b"{"), Err(ReceiptError::Json(_))));
        assert_eq!(Receipt::parse(b"null"), Err(ReceiptError::NotAnObject));
    }

    /// P17: without a key that was expected a forger's receipt agrees with itself; with it, it is found out.
    #[test]
    fn only_the_expected_key_tells_a_forger() {
        let forged = receipt("n", None);
        assert_eq!(forged.check(None), Ok(()));
        let honest = KeyPair::from_seed(&[4; 32]).public_text();
        assert_eq!(forged.check(Some(&honest)), Err(ReceiptFault::OtherKey(forged.public_key.clone())));
        assert_eq!(forged.check(Some(&forged.public_key)), Ok(()));
    }

    proptest! {
        /// P17: a receipt comes back from its text, and holds whatever the nonce and the hash are.
        #[test]
        fn a_receipt_comes_back(nonce: String, hash: Option<String>) {
            let receipt = receipt(&nonce, hash);
            prop_assert_eq!(Receipt::parse(receipt.to_json().as_bytes()), Ok(receipt.clone()));
            prop_assert_eq!(receipt.check(None), Ok(()));
        }

        /// P20: the same with a signature over many results.
        #[test]
        fn a_receipt_of_a_batch_comes_back(nonce: String, count in 1..40_usize, at: prop::sample::Index) {
            let receipt = in_batch(receipt(&nonce, None), at.index(count), count);
            prop_assert_eq!(Receipt::parse(receipt.to_json().as_bytes()), Ok(receipt.clone()));
            prop_assert_eq!(receipt.check(None), Ok(()));
        }
    }
}
