//! What the workers of the pool are like, and what they hand in.

use crate::scene::Scene;
use muster_model::{AssignmentId, Fence, PoolJobId, PoolResult};
use muster_proof::{sha256_hex, vote};
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
    /// Declares the hash of the true output, attaches a false one, and answers before the others (P15).
    Swapping,
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
    pub(super) content: Content,
    pub(super) error: Option<Box<str>>,
}

/// The part of a result that the vote and the declared hash are about (P11, P15).
pub(super) struct Content {
    /// Canonical JSON.
    pub(super) output: Option<Box<str>>,
    pub(super) artifact_uri: Option<Box<str>>,
    /// The declared hash.
    pub(super) output_hash: Option<Box<str>>,
}

impl Nature {
    pub(super) fn draw(is_in_pact: bool, scene: &mut Scene) -> Self {
        let (slow, odd) = scene.plan.pool.as_ref().map_or((0, 0), |plan| (plan.slow, plan.odd));
        let kinds = [Self::Slow, Self::Replaying, Self::Lying, Self::Swapping, Self::Forging, Self::Idle];
        match is_in_pact {
            true => Self::Pact,
            false if scene.dice.chance(slow) => Self::Slow,
            false if scene.dice.chance(odd) => scene.dice.pick(&kinds).copied().unwrap_or(Self::Lying),
            false => Self::Honest,
        }
    }

    /// Whether it never hands in what is not true.
    pub(super) const fn is_truthful(self) -> bool {
        !matches!(self, Self::Lying | Self::Pact | Self::Swapping)
    }

    /// What it hands in for a job.
    pub(super) fn content(self, job: PoolJobId, member: usize, scene: &mut Scene) -> Content {
        match self {
            Self::Lying if member.is_multiple_of(2) => {
                Content::of(format!(r#"{{"lie":"{job} by {member}"}}"#).into())
            }
            // The output is true, and the artifact beside it is not.
            Self::Lying => {
                let artifact_uri = Some(format!("file:///lie/{job}/{member}").into());
                Content { artifact_uri, ..Content::truth(job) }
            }
            Self::Pact => Content::of(format!(r#"{{"pact":"{job}"}}"#).into()),
            Self::Swapping => Content::swapped(job, member, scene),
            _ => Content::truth(job),
        }
    }
}

impl Content {
    /// What everybody finds who does a job.
    pub(super) fn truth(job: PoolJobId) -> Self {
        Self::of(format!(r#"{{"true":"{job}"}}"#).into())
    }

    /// A failure has nothing to show.
    pub(super) const fn nothing() -> Self {
        Self { output: None, artifact_uri: None, output_hash: None }
    }

    /// The true hash with a false output; sometimes no output, or a false one without a hash.
    fn swapped(job: PoolJobId, member: usize, scene: &mut Scene) -> Self {
        let Self { output_hash, .. } = Self::truth(job);
        let output: Box<str> = format!(r#"{{"swapped":"{job} by {member}"}}"#).into();
        match scene.dice.below(8) {
            0 => Self { output: None, artifact_uri: None, output_hash },
            1 => Self { output: Some(output), artifact_uri: None, output_hash: None },
            _ => {
                scene.count("true hash with a false output");
                Self { output: Some(output), artifact_uri: None, output_hash }
            }
        }
    }

    /// An output with its hash.
    fn of(output: Box<str>) -> Self {
        let output_hash = Some(sha256_hex(output.as_bytes()).into());
        Self { output: Some(output), artifact_uri: None, output_hash }
    }
}

/// A result, with what the server must compute when it parses it. Signature and digest come with its bytes.
pub(super) fn result(draft: Draft) -> Arc<PoolResult> {
    let Content { output, artifact_uri, output_hash } = draft.content;
    let computed = output.as_deref().map(|output| sha256_hex(output.as_bytes()));
    Arc::new(PoolResult {
        assignment: draft.assignment,
        nonce: draft.nonce,
        signature: Box::default(),
        public_key: draft.public_key,
        hash_matches: computed
            .as_deref()
            .zip(output_hash.as_deref())
            .map(|(computed, said)| computed == said),
        vote: computed.map(|hash| vote(&hash, artifact_uri.as_deref()).into()),
        output,
        output_hash,
        error: draft.error,
        artifact_uri,
        metrics: None,
        digest: [0; 32],
    })
}
