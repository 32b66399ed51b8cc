//! The way to the coordinators.

use axum::body::Body;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::{
    client::legacy::{
        self,
        connect::{Connect, HttpConnector},
    },
    rt::{TokioExecutor, TokioTimer},
};
use rustls::{ClientConfig, RootCertStore, crypto::ring};
use std::{sync::Arc, time::Duration};

/// Connections to coordinators, used again while they are good.
pub(crate) type Client = legacy::Client<Connector, Body>;

/// Makes connections.
pub(crate) type Connector = HttpsConnector<HttpConnector>;

/// Why TLS cannot be spoken.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// The system's certificates cannot be used.
    #[error(transparent)]
    Certificates(#[from] std::io::Error),
    /// The TLS library refused its settings.
    #[error(transparent)]
    Settings(#[from] rustls::Error),
}

/// Makes the client. It follows no redirect, and paths leave as they came.
///
/// Certificates of the system are read for `https` only: they cost memory, and a machine may have none.
pub(crate) fn client(needs_tls: bool) -> Result<Client, TlsError> {
    Ok(pooled(connector(needs_tls)?))
}

/// A client that uses such connections again while they are good.
pub(crate) fn pooled<C: Connect + Clone>(connector: C) -> legacy::Client<C, Body> {
    legacy::Client::builder(TokioExecutor::new())
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(IDLE_MAX)
        .pool_max_idle_per_host(IDLE_CONNECTIONS_MAX)
        .build(connector)
}

/// Makes what makes connections.
pub(crate) fn connector(needs_tls: bool) -> Result<Connector, TlsError> {
    let provider = Arc::new(ring::default_provider());
    let builder = HttpsConnectorBuilder::new();
    let builder = if needs_tls {
        builder.with_provider_and_platform_verifier(provider)?
    } else {
        let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
        builder.with_tls_config(config.with_root_certificates(RootCertStore::empty()).with_no_client_auth())
    };
    Ok(builder.https_or_http().enable_http1().wrap_connector(sockets()))
}

fn sockets() -> HttpConnector {
    let mut sockets = HttpConnector::new();
    sockets.enforce_http(false);
    sockets.set_nodelay(true);
    sockets.set_connect_timeout(Some(CONNECT_MAX));
    sockets.set_keepalive(Some(KEEP_ALIVE));
    sockets.set_keepalive_interval(Some(KEEP_ALIVE_INTERVAL));
    sockets.set_keepalive_retries(Some(KEEP_ALIVE_RETRIES));
    sockets.set_tcp_user_timeout(Some(UNHEARD_MAX));
    sockets
}

/// Much less than the coordinator keeps an idle connection, so that no request meets one that is being closed.
const IDLE_MAX: Duration = Duration::from_secs(15);
const IDLE_CONNECTIONS_MAX: usize = 1024;
const CONNECT_MAX: Duration = Duration::from_secs(2);
/// A machine that vanished without a word is noticed, even by a stream that waits.
const KEEP_ALIVE: Duration = Duration::from_secs(5);
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(2);
const KEEP_ALIVE_RETRIES: u32 = 3;
/// As soon as by a stream that waits, also where something was sent and nobody said that it came.
const UNHEARD_MAX: Duration = Duration::from_secs(11);
