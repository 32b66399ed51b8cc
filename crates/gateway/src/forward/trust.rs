//! Whether whoever answers at the leader's address is a server of ours (S18).
//!
//! An address is only a name. Behind it may be the leader, nobody, or somebody who was given it since: what callers send
//! holds their tokens, and what is answered would be believed. So before anything is passed on to an address a server there
//! proves that it knows what only servers of this installation know, and that it goes by that address itself: a proof that
//! it fetched elsewhere is for elsewhere.

use super::{seal::Seal, way::Way};
use crate::coordinators::{Head, SendError};
use axum::{
    body::{Body, to_bytes},
    http::{HeaderMap, Method, StatusCode, uri::PathAndQuery},
};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use muster_door::LEADER_PROOF;
use std::{
    sync::{Mutex as Lock, PoisonError},
    time::Duration,
};
use tokio::{sync::Mutex, time::Instant};

/// What is known of the leader.
#[derive(Default)]
pub(super) struct Trust {
    known: Lock<Option<Known>>,
    /// One asks, the others wait for what it hears.
    asking: Mutex<()>,
}

#[derive(Clone)]
struct Known {
    leader: Leader,
    verdict: Verdict,
    at: Instant,
}

/// Where somebody leads, and in which term.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Leader {
    pub(super) address: String,
    pub(super) epoch: u64,
}

/// What came of asking for a proof.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// A server of ours.
    Ours,
    /// Somebody answers, without a proof.
    Stranger,
    /// Nobody answers.
    Away,
}

impl Trust {
    /// Whether requests may go to the leader. What is known is asked for again when it is older than `age_max`, and when
    /// it was bad and a little older.
    pub(super) async fn of(
        &self,
        leader: &Leader,
        ways: (&Seal, &Way),
        age_max: Option<Duration>,
    ) -> Verdict {
        if let Some(verdict) = self.known(leader, age_max) {
            return verdict;
        }
        let _alone = self.asking.lock().await;
        if let Some(verdict) = self.known(leader, age_max) {
            return verdict;
        }
        let asked = tokio::time::timeout(PROOF_MAX, ask(leader, ways)).await;
        let verdict = asked.unwrap_or(Verdict::Away);
        self.note(leader, verdict);
        verdict
    }

    /// The way there broke, or somebody answered as no server of ours does: whoever is there proves again what it is.
    pub(super) fn doubt(&self, leader: &Leader) {
        let mut known = self.lock();
        if known.as_ref().is_some_and(|known| known.leader == *leader && known.verdict == Verdict::Ours) {
            *known = None;
        }
    }

    fn known(&self, leader: &Leader, age_max: Option<Duration>) -> Option<Verdict> {
        let known = self.lock().clone().filter(|known| known.leader == *leader)?;
        let age_max = if known.verdict == Verdict::Ours { age_max } else { Some(ASK_AGAIN_AFTER) };
        age_max.is_none_or(|age_max| known.at.elapsed() < age_max).then_some(known.verdict)
    }

    /// Keeps a verdict; a bad one is complained about when it is news.
    fn note(&self, leader: &Leader, verdict: Verdict) {
        let known = Known { leader: leader.clone(), verdict, at: Instant::now() };
        let before = self.lock().replace(known);
        let is_news =
            before.is_none_or(|before| (before.leader, before.verdict) != (leader.clone(), verdict));
        let address = &leader.address;
        match verdict {
            _ if !is_news => {}
            Verdict::Ours => tracing::debug!(leader = address, "the leader proved that it is one of ours"),
            Verdict::Stranger => tracing::warn!(
                leader = address,
                "whoever answers at the leader's address is no server of this installation; nothing is passed on"
            ),
            Verdict::Away => tracing::warn!(leader = address, "the leader cannot be reached"),
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Known>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Why nothing is passed on to an address.
pub(super) fn in_words(verdict: Verdict, address: &str) -> String {
    match verdict {
        Verdict::Ours => format!("{address} leads"),
        Verdict::Stranger => format!("whoever answers at {address} is no server of this installation"),
        Verdict::Away => format!("the leader at {address} cannot be reached"),
    }
}

async fn ask(leader: &Leader, (seal, way): (&Seal, &Way)) -> Verdict {
    let nonce = URL_SAFE_NO_PAD.encode(rand::random::<[u8; 32]>());
    let path = format!("{LEADER_PROOF}?nonce={nonce}&epoch={}", leader.epoch);
    let path = PathAndQuery::try_from(path).expect("letters and digits make a path");
    let head = Head { method: Method::GET, path, headers: HeaderMap::new() };
    match way.send(&leader.address, head, Body::empty()).await {
        Ok(answer) if answer.status() == StatusCode::OK => {
            let proof = to_bytes(Body::new(answer.into_body()), PROOF_BYTES_MAX).await.unwrap_or_default();
            let is_proven = seal.is_ours(&proof, &[&nonce, &leader.epoch.to_string(), &leader.address]);
            if is_proven { Verdict::Ours } else { Verdict::Stranger }
        }
        Ok(_) => Verdict::Stranger,
        Err(SendError::NotSent | SendError::BrokeOff) => Verdict::Away,
    }
}

/// As long as whoever probes this server has patience.
const PROOF_MAX: Duration = Duration::from_millis(1_500);

/// Somebody else may be there soon.
const ASK_AGAIN_AFTER: Duration = Duration::from_millis(250);

const PROOF_BYTES_MAX: usize = 256;
