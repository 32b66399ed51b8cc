//! The way to whichever server leads.

use super::{
    proven::{Leader, Proven, Unproven, Verdict},
    seal::Seal,
};
use crate::{
    CoordinatorUrl,
    client::{Connector, TlsError, connector, pooled},
    coordinators::{Head, is_not_leading, request, status_of},
};
use axum::{
    body::Body,
    http::{HeaderMap, Response},
};
use hyper::body::Incoming;
use hyper_util::client::legacy::{self, connect::capture_connection};
use muster_http::EPOCH;
use std::{
    error::Error,
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

/// Connections to the server that leads, used again while they are good.
pub(super) struct Way {
    seal: Arc<Seal>,
    plain: Connector,
    /// Certificates are read with the first `https` address: they cost memory, and a machine may have none.
    secure: OnceLock<Option<Connector>>,
    /// To the leader that was called last.
    last: Mutex<Option<Called>>,
}

#[derive(Clone)]
struct Called {
    leader: Leader,
    url: CoordinatorUrl,
    client: legacy::Client<Proven, Body>,
}

/// What came of asking a server.
pub(super) enum Asked {
    /// Its answer.
    Answer(Response<Incoming>),
    /// It does not lead: nothing was done.
    NotLeading,
    /// The answer is none of the term that it was asked for; what was done with the request is unknown.
    Strange,
}

/// Why there is no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WayError {
    /// There is no connection to a server of ours; nothing of the request has left.
    NotSent(Verdict),
    /// It may have arrived.
    BrokeOff,
}

impl Way {
    pub(super) fn new(seal: Arc<Seal>) -> Result<Self, TlsError> {
        Ok(Self { seal, plain: connector(false)?, secure: OnceLock::new(), last: Mutex::default() })
    }

    /// Asks the leader. An answer without its epoch, or of an earlier one, is not the leader's.
    pub(super) async fn ask(
        &self,
        leader: &Leader,
        asked: (Head, Body),
        given_up: impl Future<Output = ()>,
    ) -> Result<Asked, WayError> {
        let answer = self.send(leader, asked, given_up).await?;
        if is_not_leading(&answer) {
            status_of(answer).await;
            return Ok(Asked::NotLeading);
        }
        let is_current = epoch_of(answer.headers()).is_some_and(|epoch| epoch >= leader.epoch);
        Ok(if is_current { Asked::Answer(answer) } else { Asked::Strange })
    }

    /// Sends something to a leader, on a connection on which it proved itself, unless it is given up before.
    pub(super) async fn send(
        &self,
        leader: &Leader,
        (head, body): (Head, Body),
        given_up: impl Future<Output = ()>,
    ) -> Result<Response<Incoming>, WayError> {
        let Called { url, client, .. } = self.to(leader).ok_or(WayError::NotSent(Verdict::Away))?;
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

    /// What calls a leader. In a new term, and after another leader, nothing of old connections is used.
    fn to(&self, leader: &Leader) -> Option<Called> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if last.as_ref().is_none_or(|last| last.leader != *leader) {
            *last = Some(self.called(leader)?);
        }
        last.clone()
    }

    fn called(&self, leader: &Leader) -> Option<Called> {
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
        Some(Called { leader: leader.clone(), url, client: pooled(proven) })
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

/// What is wrong with whoever a connection was made to; nobody is there where none was made.
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
