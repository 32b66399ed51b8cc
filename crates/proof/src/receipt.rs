//! Receipts: a result's proof, for whoever asks later (P17).

use crate::{
    base64url, hash,
    json::{self, Value},
    sign::{KeyError, PublicKey, SignatureError, decode_signature},
};

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
    /// The signature over them in base64url.
    pub signature: String,
    /// The hash that was submitted, if one was.
    pub output_hash: Option<String>,
    /// When the coordinator took the result. No signature covers it.
    pub finished_at: String,
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
        if let Some(entry) = object.entries().iter().find(|entry| !FIELDS.contains(&entry.key.as_ref())) {
            return Err(ReceiptError::Unknown(json::beginning(&entry.key)));
        }
        Ok(Self {
            assignment_id: id(&document, "assignment_id")?,
            job_id: id(&document, "job_id")?,
            worker_id: id(&document, "worker_id")?,
            public_key: text_of(&document, "public_key")?,
            signed_bytes: text_of(&document, "signed_bytes")?,
            signature: text_of(&document, "signature")?,
            output_hash: optional_text(&document, "output_hash")?,
            finished_at: text_of(&document, "finished_at")?,
        })
    }

    /// Writes the receipt as JSON, its fields in the order of the contract.
    pub fn to_json(&self) -> String {
        let text = |text: &str| {
            let mut bytes = Vec::new();
            json::write_text(text, &mut bytes);
            String::from_utf8(bytes).expect("text stays text")
        };
        let Self { assignment_id, job_id, worker_id, .. } = self;
        let (public_key, signed_bytes) = (text(&self.public_key), text(&self.signed_bytes));
        let (signature, finished_at) = (text(&self.signature), text(&self.finished_at));
        let output_hash = self.output_hash.as_deref().map_or_else(|| "null".to_owned(), text);
        format!(
            "{{\"assignment_id\":{assignment_id},\"job_id\":{job_id},\"worker_id\":{worker_id},\
             \"public_key\":{public_key},\"signed_bytes\":{signed_bytes},\"signature\":{signature},\
             \"output_hash\":{output_hash},\"finished_at\":{finished_at}}}"
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
        let signature = decode_signature(&self.signature).map_err(ReceiptFault::Signature)?;
        if key.verify(&signed, &signature) { Ok(()) } else { Err(ReceiptFault::Invalid) }
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

/// An assignment's id is its job's times this, and its place among the job's assignments.
const ASSIGNMENTS_PER_JOB: u64 = 64;
const ID_END: u64 = 1 << 53;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{KeyPair, encode_base64url, signed_bytes};
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
            signature: pair.sign(&signed).to_text(),
            output_hash,
            finished_at: "2026-02-08T12:35:10.000000Z".to_owned(),
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
    }
}
