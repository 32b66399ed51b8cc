//! What the workers of the pool are like, and what they hand in.

use crate::scene::Scene;
use muster_model::{AssignmentId, Fence, PoolJobId, PoolResult};
use std::sync::Arc;

/// What a worker is like while there are faults; afterwards everybody does what they should.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Nature {
    /// Does what it should.
    Honest,
    /// Takes longer than it is waited for, and does not show that it lives meanwhile.
    Slow,
    /// Hands in what it has handed in before, as it was or altered.
    Replaying,
    /// Hands in something of its own.
    Lying,
    /// Hands in the same lie as all of its kind.
    Pact,
    /// Hands in with another nonce, another key, another's assignment, or as another owner.
    Forging,
    /// Asks for work and does none.
    Idle,
}

/// Who hands in what, signed with which key.
pub(super) struct Draft {
    pub(super) assignment: AssignmentId,
    pub(super) nonce: Option<Fence>,
    pub(super) public_key: Box<str>,
    pub(super) output_hash: Option<Box<str>>,
    pub(super) error: Option<Box<str>>,
}

impl Nature {
    pub(super) fn draw(is_in_pact: bool, scene: &mut Scene) -> Self {
        let (slow, odd) = scene.plan.pool.as_ref().map_or((0, 0), |plan| (plan.slow, plan.odd));
        let kinds = [Self::Slow, Self::Replaying, Self::Lying, Self::Forging, Self::Idle];
        match is_in_pact {
            true => Self::Pact,
            false if scene.dice.chance(slow) => Self::Slow,
            false if scene.dice.chance(odd) => scene.dice.pick(&kinds).copied().unwrap_or(Self::Lying),
            false => Self::Honest,
        }
    }

    /// Whether it never hands in what is not true.
    pub(super) const fn is_truthful(self) -> bool {
        !matches!(self, Self::Lying | Self::Pact)
    }

    /// The hash it hands in for a job.
    pub(super) fn hash(self, job: PoolJobId, member: usize) -> Box<str> {
        match self {
            Self::Lying => format!("lie-{job}-{member}").into(),
            Self::Pact => format!("pact-{job}").into(),
            _ => truth(job),
        }
    }
}

/// The hash that everybody finds who does a job.
pub(super) fn truth(job: PoolJobId) -> Box<str> {
    format!("true-{job}").into()
}

/// A result as it is written down, in a body of its own.
pub(super) fn result(draft: Draft, scene: &mut Scene) -> Arc<PoolResult> {
    let is_wrong = !scene.calm && scene.dice.chance(30);
    let hash_matches = draft.output_hash.as_ref().map(|_| !is_wrong);
    Arc::new(PoolResult {
        assignment: draft.assignment,
        nonce: draft.nonce,
        signature: "signed".into(),
        public_key: draft.public_key,
        output: Some("{}".into()),
        output_hash: draft.output_hash,
        hash_matches,
        error: draft.error,
        artifact_uri: None,
        metrics: None,
        digest: scene.dice.bytes(),
    })
}
