//! The workers of the pool: what each has, what they are like, what they hand in, and the keys they sign with.

use super::wire::{self, Parsed};
use crate::{
    network::{Sender, Ticket},
    scene::Scene,
};
use muster_model::{
    AssignmentId, Command, Fence, Millis, PoolCommand, PoolJobId, PoolRegistration, PoolResult, Quality,
    Scale, Specs, UserId,
};
use muster_proof::{KeyPair, PublicKey, sha256_hex, vote};
use std::{cell::RefCell, collections::BTreeMap, rc::Rc, sync::Arc};

/// A worker on the wire, whatever runs on it.
pub(super) struct Rig {
    pub(super) number: usize,
    pub(super) name: String,
    pub(super) owner: UserId,
    pub(super) nature: Nature,
    pub(super) slots: u32,
    pub(super) region: Option<&'static str>,
    memory: Option<f64>,
}

impl Rig {
    pub(super) fn new(number: usize, owner: usize, scene: &mut Scene) -> Self {
        let pact = scene.plan.pool.as_ref().map_or(0, |plan| plan.pact);
        let nature = Nature::draw(owner < pact, scene);
        Self {
            number,
            name: format!("member-{number}"),
            owner: UserId(FIRST_OWNER + owner as u64),
            nature,
            slots: u32::try_from(scene.dice.between(1, 3)).unwrap_or(1),
            region: scene.dice.pick(&[None, Some(REGIONS[0]), Some(REGIONS[1])]).copied().flatten(),
            memory: scene.dice.pick(&[None, Some(8.0), Some(24.0)]).copied().flatten(),
        }
    }

    /// The nth key that it has.
    pub(super) fn key(&self, n: u32) -> Box<str> {
        key_named(&format!("{}-key-{n}", self.name)).text.clone()
    }

    pub(super) fn registration(&self, public_key: Box<str>) -> PoolCommand {
        let amount = |name: &str, amount: f64| (Box::from(name), Quality::Amount(Scale::new(amount)));
        let memory = self.memory.map(|memory| amount(MEMORY, memory));
        let slots = amount("slots", f64::from(self.slots));
        PoolCommand::Register(Box::new(PoolRegistration {
            owner: self.owner,
            name: self.name.as_str().into(),
            region: self.region.map(Box::from),
            specs: Specs::new([slots].into_iter().chain(memory).collect()),
            specs_json: Some(self.specs_json().into()),
            public_key: Some(public_key),
            slots: self.slots,
        }))
    }

    /// Its specs, as it registers them.
    pub(super) fn specs_json(&self) -> String {
        let memory = self.memory.map_or_else(String::new, |memory| format!(",\"{MEMORY}\":{memory:?}"));
        format!("{{\"slots\":{}{memory}}}", self.slots)
    }

    /// Sends a request to the server.
    pub(super) fn ask(&self, scene: &mut Scene, said: PoolCommand, wait: Option<Millis>) -> Ticket {
        let body = wire::write(&said, wait);
        self.ask_with(scene, said, &body)
    }

    /// As [`Self::ask`], with a body that somebody else wrote.
    pub(super) fn ask_with(&self, scene: &mut Scene, said: PoolCommand, body: &[u8]) -> Ticket {
        let parsed = wire::parse(&said, body, scene);
        let Parsed { command, wait } = parsed.unwrap_or(Parsed { command: said, wait: None });
        scene.ask(self.place(), Command::Pool(command), wait)
    }

    pub(super) fn place(&self) -> Sender {
        Sender::Member(self.number)
    }
}

/// Behavior of a worker while there are faults; afterwards every worker is honest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Nature {
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

/// Result to submit, and the key to sign it with.
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

    /// True if it never hands in what is not true.
    pub(super) const fn is_truthful(self) -> bool {
        !matches!(self, Self::Lying | Self::Pact | Self::Swapping)
    }

    /// Content that it submits for a job.
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
    /// Content that every honest worker finds for a job.
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
        batch: None,
    })
}

/// A worker's key.
pub(super) struct WorkerKey {
    pub(super) pair: KeyPair,
    pub(super) public: PublicKey,
    /// The public half as text.
    pub(super) text: Box<str>,
}

/// The key of a name.
pub(super) fn key_named(name: &str) -> Rc<WorkerKey> {
    KEYS.with_borrow_mut(|keys| Rc::clone(keys.named(name)))
}

/// The key of a public text that [`key_named`] made.
pub(super) fn key_of_text(text: &str) -> Option<Rc<WorkerKey>> {
    KEYS.with_borrow(|keys| keys.by_text.get(text).cloned())
}

/// Every key that was made in this thread: making one costs as much as a signature, and worlds use the same names.
#[derive(Default)]
struct Keys {
    by_name: BTreeMap<Box<str>, Rc<WorkerKey>>,
    by_text: BTreeMap<Box<str>, Rc<WorkerKey>>,
}

impl Keys {
    fn named(&mut self, name: &str) -> &Rc<WorkerKey> {
        let by_text = &mut self.by_text;
        self.by_name.entry(name.into()).or_insert_with(|| {
            let mut seed = [0; 32];
            name.bytes().zip(&mut seed).for_each(|(byte, seed)| *seed = byte);
            let pair = KeyPair::from_seed(&seed);
            let (public, text) = (pair.public_key(), Box::from(pair.public_text()));
            let key = Rc::new(WorkerKey { pair, public, text });
            by_text.insert(key.text.clone(), Rc::clone(&key));
            key
        })
    }
}

thread_local! {
    static KEYS: RefCell<Keys> = RefCell::default();
}

/// Regions of workers, and those that jobs ask for.
pub(super) const REGIONS: [&str; 2] = ["eu", "us"];
/// Quality that jobs ask for.
pub(super) const MEMORY: &str = "vram";
const FIRST_OWNER: u64 = 500;
