//! The runs that clients submit.

use super::label;
use crate::{
    plan::{Plan, QUEUES, name},
    scene::Scene,
};
use muster_model::{Command, Digest, JobPayload, Name, Scope, Submission, SubmissionKey};

/// A run that somebody wants, however often it must be asked for.
#[derive(Clone, Debug)]
pub(super) struct Order(Submission);

impl Order {
    pub(super) fn draw(n: usize, scene: &mut Scene, devices: &[Name]) -> Self {
        let key = scene.dice.chance(600).then(|| format!("order-{n}"));
        let queue = QUEUES[scene.dice.below(scene.plan.queues)];
        let attempts = scene.dice.chance(300).then(|| scene.dice.between(1, 4));
        Self(Submission {
            key: key.map(|key| SubmissionKey::new(&key).expect("a plain key")),
            digest: Digest(n as u128),
            queue: name(queue),
            scope: scope(scene, devices),
            max_attempts: attempts.and_then(|attempts| u16::try_from(attempts).ok()),
            payload: JobPayload {
                title: None,
                workflow: "w".into(),
                params: "{}".into(),
                timeout: None,
                schedule: None,
            },
        })
    }

    /// What is submitted, by whomever.
    pub(super) fn into_submission(self) -> Submission {
        self.0
    }

    pub(super) fn has_key(&self) -> bool {
        self.0.key.is_some()
    }

    pub(super) fn command(&self) -> Command {
        Command::Submit(Box::new(self.0.clone()))
    }
}

/// Mostly everything; else some PCs, some devices (one may not exist), or a label.
fn scope(scene: &mut Scene, devices: &[Name]) -> Scope {
    match scene.dice.below(10) {
        0..5 => Scope::All,
        5..7 => {
            let nodes = 0..scene.plan.nodes;
            let chosen = nodes.filter(|_| scene.dice.chance(500));
            Scope::Workers(chosen.map(Plan::node_name).collect())
        }
        7..9 => {
            let chosen = devices.iter().filter(|_| scene.dice.chance(400));
            Scope::Devices(chosen.cloned().chain([name("no-such-device")]).collect())
        }
        _ => Scope::Labels(label(scene)),
    }
}
