//! Connections to the server that leads, and the verdict on whether it is one of ours.

use super::{
    proven::{Leader, PROOF_MAX, Proven, Unproven, Verdict},
    seal::Seal,
};
use crate::{
    CoordinatorUrl,
    coordinators::{Connector, Head, TlsError, connector, is_not_leading, pooled, request, status_of},
};
use axum::{
    body::Body,
    http::{HeaderMap, Method, Response, uri::PathAndQuery},
};
use hyper::body::Incoming;
use hyper_util::client::legacy::{self, connect::capture_connection};
use muster_coordinator::instant_now;
use muster_http::EPOCH;
use std::{
    error::Error,
    sync::{Arc, Mutex as Lock, OnceLock, PoisonError},
    time::Duration,
};
use tokio::{sync::Mutex, time::Instant};

/// Connections to the server that leads, used again while they are good.
pub(super) struct LeaderConnections {
    seal: Arc<Seal>,
    plain: Connector,
    /// Certificates are read with the first `https` address: they cost memory, and a machine may have none.
    secure: OnceLock<Option<Connector>>,
    /// To the leader that was called last.
    last: Lock<Option<LeaderClient>>,
}

#[derive(Clone)]
struct LeaderClient {
    leader: Leader,
    url: CoordinatorUrl,
    client: legacy::Client<Proven, Body>,
}

/// A request to the leader.
pub(super) struct Outgoing {
    pub(super) head: Head,
    pub(super) body: Body,
}

/// The leader's reply.
pub(super) enum LeaderReply {
    /// Its answer.
    Answer(Response<Incoming>),
    /// It does not lead: nothing was done.
    NotLeading,
    /// The answer is none of the term that it was asked for; what was done with the request is unknown.
    Strange,
}

/// Reasons why there is no reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WayError {
    /// There is no connection to a server of ours; nothing of the request has left.
    NotSent(Verdict),
    /// It may have arrived.
    BrokeOff,
}

impl LeaderConnections {
    pub(super) fn new(seal: Arc<Seal>) -> Result<Self, TlsError> {
        Ok(Self { seal, plain: connector(false)?, secure: OnceLock::new(), last: Lock::default() })
    }

    /// Asks the leader. An answer without its epoch, or of an earlier one, is not the leader's.
    pub(super) async fn ask(
        &self,
        leader: &Leader,
        request: Outgoing,
        given_up: impl Future<Output = ()>,
    ) -> Result<LeaderReply, WayError> {
        let answer = self.send(leader, request, given_up).await?;
        if is_not_leading(&answer) {
            status_of(answer).await;
            return Ok(LeaderReply::NotLeading);
        }
        let is_current = epoch_of(answer.headers()).is_some_and(|epoch| epoch >= leader.epoch);
        Ok(if is_current { LeaderReply::Answer(answer) } else { LeaderReply::Strange })
    }

    /// Sends something to a leader, on a connection on which it proved itself, unless it is given up before.
    pub(super) async fn send(
        &self,
        leader: &Leader,
        Outgoing { head, body }: Outgoing,
        given_up: impl Future<Output = ()>,
    ) -> Result<Response<Incoming>, WayError> {
        let LeaderClient { url, client, .. } = self.to(leader).ok_or(WayError::NotSent(Verdict::Away))?;
        let mut request = request(&url, head, body);
        let connection = capture_connection(&mut request);
        let error = tokio::select! {
            answer = client.request(request) => match answer {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            },
            // Without a connection nothing can have left.
            () = given_up => {
                let is_unsent = connection.connection_metadata().is_none();
                return Err(if is_unsent { WayError::NotSent(Verdict::Away) } else { WayError::BrokeOff });
            }
        };
        let is_unsent = error.is_connect();
        tracing::debug!(leader = leader.address, %error, is_unsent, "no answer from the leader");
        Err(if is_unsent { WayError::NotSent(why_unproven(&error)) } else { WayError::BrokeOff })
    }

    /// The client for a leader. In a new term, and after another leader, nothing of old connections is used.
    fn to(&self, leader: &Leader) -> Option<LeaderClient> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if last.as_ref().is_none_or(|last| last.leader != *leader) {
            *last = Some(self.called(leader)?);
        }
        last.clone()
    }

    fn called(&self, leader: &Leader) -> Option<LeaderClient> {
        let url = leader.address.parse::<CoordinatorUrl>();
        let url = url.inspect_err(|error| tracing::error!(%error, "the leader cannot be called")).ok()?;
        let connector =
            if url.is_https() { self.secure.get_or_init(secure_connector).as_ref()? } else { &self.plain };
        let proven = Proven {
            connector: connector.clone(),
            seal: Arc::clone(&self.seal),
            leader: leader.clone(),
            url: url.clone(),
        };
        Some(LeaderClient { leader: leader.clone(), url, client: pooled(proven) })
    }
}

fn secure_connector() -> Option<Connector> {
    connector(true).inspect_err(|error| tracing::error!(%error, "cannot speak TLS to other servers")).ok()
}

/// The epoch that an answer tells; none where it tells two.
fn epoch_of(headers: &HeaderMap) -> Option<u64> {
    let mut told = headers.get_all(EPOCH).iter();
    let epoch = told.next()?.to_str().ok()?.parse().ok();
    epoch.filter(|_| told.next().is_none())
}

/// The verdict on the server that a connection was made to; `Away` if none was made.
fn why_unproven(error: &legacy::Error) -> Verdict {
    let mut cause = error.source();
    while let Some(error) = cause {
        if let Some(Unproven(verdict)) = error.downcast_ref() {
            return *verdict;
        }
        cause = error.source();
    }
    Verdict::Away
}

/// The last verdict on the leader.
#[derive(Default)]
pub(super) struct Trust {
    known: Lock<Option<KnownVerdict>>,
    /// One caller asks, the others wait for the reply.
    asking: Mutex<()>,
}

#[derive(Clone)]
struct KnownVerdict {
    leader: Leader,
    verdict: Verdict,
    at: Instant,
}

impl Trust {
    /// Judges whether requests may go to the leader. A verdict is renewed when it is older than `age_max`, and sooner
    /// when it was bad.
    pub(super) async fn of(
        &self,
        leader: &Leader,
        way: &LeaderConnections,
        age_max: Option<Duration>,
    ) -> Verdict {
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

    /// Discards the verdict after a broken connection or a reply that the leader would not give.
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
        let known = KnownVerdict { leader: leader.clone(), verdict, at: instant_now() };
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

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<KnownVerdict>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Asks for something that every server answers at once: any answer is enough.
async fn ask(leader: &Leader, way: &LeaderConnections) -> Verdict {
    let path = PathAndQuery::from_static("/healthz");
    let head = Head { method: Method::GET, path, headers: HeaderMap::new() };
    match way.send(leader, Outgoing { head, body: Body::empty() }, std::future::pending()).await {
        Ok(answer) => {
            status_of(answer).await;
            Verdict::Ours
        }
        Err(WayError::NotSent(verdict)) => verdict,
        Err(WayError::BrokeOff) => Verdict::Away,
    }
}

/// Another server may lead soon.
const ASK_AGAIN_AFTER: Duration = Duration::from_millis(250);
