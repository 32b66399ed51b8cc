//! What is known of whoever answers at the leader's address (S18).
//!
//! Every connection is proven by itself; this only spares an address that nobody of ours answers at from being tried by
//! everybody at once, and says what is wrong there.

use super::{
    proven::{Leader, PROOF_MAX, Verdict},
    way::{Way, WayError},
};
use crate::coordinators::{Head, status_of};
use axum::{
    body::Body,
    http::{HeaderMap, Method, uri::PathAndQuery},
};
use muster_coordinator::instant_now;
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

impl Trust {
    /// Whether requests may go to the leader. What is known is asked for again when it is older than `age_max`, and when
    /// it was bad and a little older.
    pub(super) async fn of(&self, leader: &Leader, way: &Way, age_max: Option<Duration>) -> Verdict {
        if let Some(verdict) = self.known(leader, age_max) {
            return verdict;
        }
        let _alone = self.asking.lock().await;
        if let Some(verdict) = self.known(leader, age_max) {
            return verdict;
        }
        let asked = tokio::time::timeout(PROOF_MAX, ask(leader, way)).await;
        let verdict = asked.unwrap_or(Verdict::Away);
        self.note(leader, verdict);
        verdict
    }

    /// The way there broke, or something was answered that the leader would not: it is asked for before the next request.
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
    pub(super) fn note(&self, leader: &Leader, verdict: Verdict) {
        let known = Known { leader: leader.clone(), verdict, at: instant_now() };
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

/// Asks for what every server answers at once: that it came to an answer says it all.
async fn ask(leader: &Leader, way: &Way) -> Verdict {
    let path = PathAndQuery::from_static("/healthz");
    let head = Head { method: Method::GET, path, headers: HeaderMap::new() };
    match way.send(leader, (head, Body::empty()), std::future::pending()).await {
        Ok(answer) => {
            status_of(answer).await;
            Verdict::Ours
        }
        Err(WayError::NotSent(verdict)) => verdict,
        Err(WayError::BrokeOff) => Verdict::Away,
    }
}

/// Somebody else may be there soon.
const ASK_AGAIN_AFTER: Duration = Duration::from_millis(250);
