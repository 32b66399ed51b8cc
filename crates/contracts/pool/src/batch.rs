//! One signature for many results (P20).

use crate::{
    SubmitRequest, WorkRequest,
    refusal::Refusal,
    submission::{UnverifiedResult, check_signature},
};
use muster_model::{BatchPlace, PoolResult, PoolWorkerId};
use muster_problem::{WireMutant, planted};
use muster_proof::{KeyPair, MerkleTree, PublicKey, batch_bytes, leaf_hashes};
use sha2::{Digest, Sha256};

/// The results of one call, whose signatures nobody has checked.
#[derive(Debug)]
pub enum UnverifiedResults {
    /// Each has a signature of its own (P9).
    Single(Vec<UnverifiedResult>),
    /// One signature covers them all (P20).
    Batch(UnverifiedBatch),
}

/// Results that one signature covers.
#[derive(Debug)]
pub struct UnverifiedBatch {
    pub(crate) worker: PoolWorkerId,
    pub(crate) results: Vec<UnverifiedResult>,
    /// As it came.
    pub(crate) signature: Box<str>,
}

impl WorkRequest {
    /// Signs all results at once, in their order.
    #[must_use]
    pub fn signed(mut self, keys: &KeyPair) -> Self {
        let tree = MerkleTree::new(leaf_hashes(self.submit.iter().map(SubmitRequest::signed_fields)));
        let signed = covered(&tree, self.submit.len(), PoolWorkerId(self.worker_id));
        self.batch_signature = Some(keys.sign(&signed).to_text().into());
        self.submit.iter_mut().for_each(|result| result.signature = None);
        self
    }
}

impl UnverifiedResults {
    /// All of them, in their order.
    #[must_use]
    pub fn results(&self) -> &[UnverifiedResult] {
        match self {
            Self::Single(results) | Self::Batch(UnverifiedBatch { results, .. }) => results,
        }
    }
}

impl UnverifiedBatch {
    /// Checks the signature with the worker's key; `public_key` is the text of the key, as it was registered. Gives a verdict
    /// for each result, in their order: either all of them are the worker's, or each is refused for the same reason.
    #[must_use]
    pub fn verify(self, key: &PublicKey, public_key: &str) -> Vec<Result<PoolResult, Refusal>> {
        let count = self.results.len();
        let tree = MerkleTree::new(leaf_hashes(self.results.iter().map(UnverifiedResult::signed_fields)));
        let checked = self.check(&tree, key);
        let signature = self.signature;
        let verdict = |index: usize, result: UnverifiedResult| {
            if index > 0 || !planted(WireMutant::PoolForgedBatchTakenOnce) {
                checked.clone()?;
            }
            let batch = Some(place(&tree, index, count));
            Ok(PoolResult {
                public_key: public_key.into(),
                signature: signature.clone(),
                batch,
                ..result.result
            })
        };
        self.results.into_iter().enumerate().map(|(index, result)| verdict(index, result)).collect()
    }

    fn check(&self, tree: &MerkleTree, key: &PublicKey) -> Result<(), Refusal> {
        let count = self.results.len();
        if planted(WireMutant::PoolLeafPrefixIgnored) {
            let bare = |result: &UnverifiedResult| Sha256::digest(result.signed_bytes()).into();
            let bare = MerkleTree::new(self.results.iter().map(bare));
            if check_signature(key, &covered(&bare, count, self.worker), &self.signature).is_ok() {
                return Ok(());
            }
        }
        check_signature(key, &covered(tree, count, self.worker), &self.signature)
    }
}

fn place(tree: &MerkleTree, index: usize, count: usize) -> BatchPlace {
    let number = |number: usize| u32::try_from(number).expect("a request has at most a thousand results");
    let path = tree.path(index).expect("every result is a leaf").into();
    let shift = usize::from(planted(WireMutant::PoolBatchIndexOffByOne));
    BatchPlace { count: number(count), index: number(index + shift), path }
}

/// The bytes that the signature of a batch covers.
fn covered(tree: &MerkleTree, count: usize, worker: PoolWorkerId) -> Vec<u8> {
    batch_bytes(count as u64, &tree.root(), worker.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{golden, to_bytes};
    use muster_model::Fence;
    use muster_proof::{Hash, encode_base64url, leaf_hash, root_of_path};

    fn keys() -> KeyPair {
        KeyPair::from_seed(&[7; 32])
    }

    fn request(count: u64) -> WorkRequest {
        let result = |n: u64| SubmitRequest {
            assignment_id: 64 * n + 1,
            nonce: Fence(n.into()).to_string().into(),
            output_hash: n.is_multiple_of(2).then(|| "h".into()),
            ..SubmitRequest::default()
        };
        let submit = (1..=count).map(result).collect();
        WorkRequest { worker_id: 7, submit, batch_signature: None, max: 0, wait_ms: 0, start: false }
    }

    fn parse(request: &WorkRequest) -> UnverifiedBatch {
        let UnverifiedResults::Batch(batch) = WorkRequest::parse(&to_bytes(request)).unwrap().results else {
            panic!("{request:?} is no batch")
        };
        batch
    }

    /// The texts of the refusals, one for each result.
    fn refused(request: &WorkRequest) -> Vec<String> {
        let verdicts = parse(request).verify(&keys().public_key(), "K");
        verdicts.into_iter().map(|verdict| verdict.unwrap_err().detail.into_owned()).collect()
    }

    /// P20: one signature covers every result; each gets its place, from which a path leads to the root.
    #[test]
    fn a_batch_is_signed_written_and_verified() {
        for count in [1, 2, 3, 100] {
            let request = request(count).signed(&keys());
            assert!(request.submit.iter().all(|result| result.signature.is_none()));
            let leaves: Vec<Hash> = request.submit.iter().map(|one| leaf_hash(&one.signed_bytes())).collect();
            let root = MerkleTree::new(leaves.clone()).root();
            let results = parse(&request).verify(&keys().public_key(), "K");
            assert_eq!(results.len() as u64, count);
            for (index, result) in results.into_iter().enumerate() {
                let PoolResult { batch, signature, public_key, .. } = result.unwrap();
                let BatchPlace { count, index: found, path } = batch.unwrap();
                assert_eq!((found as usize, &*public_key), (index, "K"));
                assert_eq!(root_of_path(leaves[index], found.into(), count.into(), &path), Some(root));
                assert_eq!(Some(signature), request.batch_signature);
            }
        }
    }

    /// P20: the example, byte for byte.
    #[test]
    fn golden_batch() {
        let request = request(2).signed(&keys());
        assert_eq!(String::from_utf8(to_bytes(&request)).unwrap(), golden::WORK_REQUEST);
        let results = parse(&request).verify(&keys().public_key(), "K");
        assert!(results.iter().all(Result::is_ok));
    }

    /// P8, P20: an unreadable or invalid signature of a batch is the fault of every result in it.
    #[test]
    fn a_batch_is_refused_as_a_whole() {
        for (signature, words) in [
            ("!", "Invalid signature encoding"),
            ("", "Invalid signature length"),
            ("YWFh", "Invalid signature length"),
            (&encode_base64url(&[0; 64]), "Signature verification failed"),
        ] {
            let forged = WorkRequest { batch_signature: Some(signature.into()), ..request(3) };
            assert_eq!(refused(&forged), [words; 3], "{signature}");
        }
    }

    /// I9, P20: a text that is too long for a signature is kept once, not once for each result.
    #[test]
    fn an_overlong_signature_is_kept_once() {
        let long = WorkRequest { batch_signature: Some("a".repeat(1 << 20).into()), ..request(3) };
        let batch = parse(&long);
        assert!(batch.results.iter().all(|result| result.result.signature.is_empty()));
        assert_eq!(refused(&long), ["Invalid signature length"; 3]);
    }

    /// P20: the signature covers the number of results, their order, each of their signed fields, and the worker.
    #[test]
    fn whatever_is_signed_counts() {
        let good = request(3).signed(&keys());
        let changed = |change: &dyn Fn(&mut WorkRequest)| {
            let mut request = good.clone();
            change(&mut request);
            refused(&request)
        };
        const INVALID: &str = "Signature verification failed";
        assert_eq!(changed(&|request| request.worker_id = 8), [INVALID; 3]);
        assert_eq!(changed(&|request| request.submit.swap(0, 1)), [INVALID; 3]);
        assert_eq!(changed(&|request| drop(request.submit.pop())), [INVALID; 2]);
        assert_eq!(changed(&|request| request.submit[2].assignment_id += 1), [INVALID; 3]);
        assert_eq!(changed(&|request| request.submit[0].nonce = "n".into()), [INVALID; 3]);
        assert_eq!(changed(&|request| request.submit[1].output_hash = None), [INVALID; 3]);
        // The signature of a single result covers no batch of one.
        let single = request(1).submit.remove(0).signed(&keys()).signature;
        assert_eq!(refused(&WorkRequest { batch_signature: single, ..request(1) }), [INVALID]);
    }

    /// P20: a result has its own signature or that of the batch: both, or neither, is 422 naming the field. `null` is absent.
    #[test]
    fn a_result_has_one_signature() {
        let detail = |request: &WorkRequest| {
            let refused = WorkRequest::parse(&to_bytes(request)).expect_err("refused");
            assert_eq!(refused.status(), 422);
            refused.detail().to_owned()
        };
        let mut both = request(2).signed(&keys());
        both.submit[1].signature = Some("s".into());
        let absent = "Input should be absent, because batch_signature covers the result";
        assert_eq!(detail(&both), format!("body.submit.1.signature: {absent}"));
        let mut neither = request(2);
        neither.submit[0].signature = Some("s".into());
        assert_eq!(detail(&neither), "body.submit.1.signature: Field required");

        let body = r#"{"worker_id":7,"max":0,"batch_signature":null,"submit":[]}"#;
        let parsed = WorkRequest::parse(body.as_bytes()).unwrap();
        assert!(matches!(parsed.results, UnverifiedResults::Single(_)));
        let text = String::from_utf8(to_bytes(&request(1).signed(&keys()))).unwrap();
        let null = text.replacen(r#"{"assignment_id""#, r#"{"signature":null,"assignment_id""#, 1);
        assert_eq!(WorkRequest::parse(null.as_bytes()).unwrap().results.results().len(), 1);
        let number = text.replacen(r#""batch_signature":""#, r#""batch_signature":1,"x":""#, 1);
        let problem = WorkRequest::parse(number.as_bytes()).err().unwrap();
        assert!(problem.detail().starts_with("body.batch_signature: "), "{}", problem.detail());
        // Without results there is nothing to verify.
        let empty = WorkRequest { batch_signature: Some("!".into()), ..request(0) };
        assert!(refused(&empty).is_empty());
    }
}
