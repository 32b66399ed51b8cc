//! P20: signatures over batches that are not what they should be. The server must refuse every result under one.

use super::{
    rig::{WorkerKey, key_named},
    wire::unsigned,
};
use crate::{checker::Broken, scene::Scene};
use muster_contract_pool::{SubmitRequest, UnverifiedResults, WorkRequest, to_bytes};
use muster_model::{PoolResult, PoolWorkerId};
use muster_proof::{Hash, MerkleTree, batch_bytes, leaf_hash, sha256_hex, signed_bytes};
use std::sync::Arc;

/// The mistake in the signature of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Forgery {
    /// The leaves lack their prefix.
    NoPrefix,
    /// The first result is not among those that were signed.
    OneMore,
    /// It was signed for another worker.
    OtherWorker,
    /// The key is somebody else's.
    OtherKey,
}

impl Forgery {
    pub(super) const ALL: [Self; 4] = [Self::NoPrefix, Self::OneMore, Self::OtherWorker, Self::OtherKey];

    /// The bytes to sign.
    fn covered(self, worker: PoolWorkerId, submit: &[SubmitRequest]) -> Vec<u8> {
        let leaf = |result: &SubmitRequest| {
            let SubmitRequest { assignment_id, nonce, output_hash, .. } = result;
            let data = signed_bytes(*assignment_id, nonce, output_hash.as_deref());
            if self == Self::NoPrefix { bare_hash(&data) } else { leaf_hash(&data) }
        };
        let signed = submit.iter().skip(usize::from(self == Self::OneMore));
        let root = MerkleTree::new(signed.map(leaf)).root();
        batch_bytes(submit.len() as u64, &root, worker.0 + u64::from(self == Self::OtherWorker))
    }
}

/// A worker that signs, and its key.
pub(super) struct Signer<'a> {
    pub(super) worker: PoolWorkerId,
    pub(super) key: &'a WorkerKey,
}

/// Parses results under a forged signature as the server does, and checks that it refuses each of them.
pub(super) fn check_refused(
    forgery: Forgery,
    signer: &Signer<'_>,
    results: &[Arc<PoolResult>],
    scene: &mut Scene,
) {
    let Signer { worker, key } = *signer;
    let submit: Vec<SubmitRequest> = results.iter().map(|result| unsigned(worker, result)).collect();
    let covered = forgery.covered(worker, &submit);
    let signature = match forgery {
        Forgery::OtherKey => key_named("somebody else").pair.sign(&covered),
        _ => key.pair.sign(&covered),
    };
    let batch_signature = Some(signature.to_text().into());
    let request =
        WorkRequest { worker_id: worker.0, submit, batch_signature, max: 0, wait_ms: 0, start: false };
    let verdicts = match WorkRequest::parse(&to_bytes(&request)).map(|parsed| parsed.results) {
        Ok(UnverifiedResults::Batch(batch)) => batch.verify(&key.public, &key.text),
        _ => Vec::new(),
    };
    scene.count("forged batch");
    let is_refused = verdicts.len() == results.len() && verdicts.iter().all(Result::is_err);
    let taken = || Broken::new("forged_batch_taken", format!("{forgery:?}: {verdicts:?}"));
    scene.understood(if is_refused { Ok(()) } else { Err(taken()) });
}

/// SHA-256 without the prefix of a leaf.
fn bare_hash(data: &[u8]) -> Hash {
    let digits = sha256_hex(data);
    std::array::from_fn(|n| u8::from_str_radix(&digits[2 * n..2 * n + 2], 16).expect("these are digits"))
}
