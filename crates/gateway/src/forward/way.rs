//! The way to whichever server leads.

use crate::{
    CoordinatorUrl,
    client::{Client, TlsError, client},
    coordinators::{Head, SendError, is_not_leading, request, status_of},
};
use axum::{body::Body, http::Response};
use hyper::body::Incoming;
use muster_door::EPOCH;
use std::sync::OnceLock;

/// Connections to other servers, used again while they are good.
pub(super) struct Way {
    plain: Client,
    /// Certificates are read with the first `https` address: they cost memory, and a machine may have none.
    secure: OnceLock<Option<Client>>,
}

/// What came of asking a server.
pub(super) enum Asked {
    /// Its answer.
    Answer(Response<Incoming>),
    /// It does not lead: nothing was done.
    NotLeading,
    /// Somebody answered who is none of ours; what they did with the request is unknown.
    Strange,
}

impl Way {
    pub(super) fn new() -> Result<Self, TlsError> {
        Ok(Self { plain: client(false)?, secure: OnceLock::new() })
    }

    /// Asks the server at an address. An answer without an epoch is none of a server of ours.
    pub(super) async fn ask(&self, address: &str, head: Head, body: Body) -> Result<Asked, SendError> {
        let answer = self.send(address, head, body).await?;
        if is_not_leading(&answer) {
            status_of(answer).await;
            return Ok(Asked::NotLeading);
        }
        let is_ours = answer.headers().contains_key(EPOCH);
        Ok(if is_ours { Asked::Answer(answer) } else { Asked::Strange })
    }

    /// Sends something to the server at an address.
    pub(super) async fn send(
        &self,
        address: &str,
        head: Head,
        body: Body,
    ) -> Result<Response<Incoming>, SendError> {
        let (client, url) = self.to(address).ok_or(SendError::NotSent)?;
        client.request(request(&url, head, body)).await.map_err(|error| {
            let is_unsent = error.is_connect();
            tracing::debug!(leader = address, %error, is_unsent, "no answer from the leader");
            if is_unsent { SendError::NotSent } else { SendError::BrokeOff }
        })
    }

    fn to(&self, address: &str) -> Option<(&Client, CoordinatorUrl)> {
        let url = address.parse::<CoordinatorUrl>();
        let url = url.inspect_err(|error| tracing::error!(%error, "the leader cannot be called")).ok()?;
        let client =
            if url.is_https() { self.secure.get_or_init(secure_client).as_ref()? } else { &self.plain };
        Some((client, url))
    }
}

fn secure_client() -> Option<Client> {
    client(true).inspect_err(|error| tracing::error!(%error, "cannot speak TLS to other servers")).ok()
}
