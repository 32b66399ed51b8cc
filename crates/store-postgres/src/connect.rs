//! Connecting: TLS, the server that takes writes, and whether it keeps what it is told.

use crate::{
    fault::Refusal,
    session::{Purpose, Session},
    target::{Server, Target},
};
use muster_store::StoreError;
use muster_tables::Fault;
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
    client::{
        WebPkiServerVerifier,
        danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    },
    crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature},
    pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime, pem::PemObject},
};
use std::{
    path::{Path, PathBuf},
    sync::{Arc, atomic::Ordering},
    time::Duration,
};
use tokio_postgres::{Client, Connection, Row, Socket, tls::MakeTlsConnect};
use tokio_postgres_rustls::MakeRustlsConnect;

/// TLS stream of an encrypted connection.
pub(crate) type Stream = <MakeRustlsConnect as MakeTlsConnect<Socket>>::Stream;

/// Connects to the first server that takes writes; answers its name too.
pub(crate) async fn open(
    target: &Target,
    purpose: Purpose,
) -> Result<(Client, Connection<Socket, Stream>, String), StoreError> {
    let (mut refusals, mut may_pass) = (Vec::new(), false);
    let count = target.servers.len();
    let first = target.last.load(Ordering::Relaxed);
    for number in (first..first + count).map(|number| number % count) {
        let server = &target.servers[number];
        match open_one(target, server, purpose).await {
            Ok((client, connection)) => {
                target.last.store(number, Ordering::Relaxed);
                return Ok((client, connection, server.place.clone()));
            }
            Err(why) => {
                may_pass |= why.may_pass;
                refusals.push(format!("{}: {}", server.place, why.words));
            }
        }
    }
    let words = format!("cannot reach the database: {}", refusals.join("; "));
    Err(if may_pass { StoreError::Backend(words) } else { StoreError::Unfit(words) })
}

async fn open_one(
    target: &Target,
    server: &Server,
    purpose: Purpose,
) -> Result<(Client, Connection<Socket, Stream>), Refusal> {
    let limit = server.config.get_connect_timeout().copied().unwrap_or(target.connect_limit);
    let mut config = server.config.clone();
    config.tcp_user_timeout(patience(target, purpose).sending);
    match tokio::time::timeout(limit, config.connect(target.tls.clone())).await {
        Ok(answer) => answer.map_err(|error| Refusal::of(&error)),
        Err(_) => {
            let words = format!("no answer within {} ms", limit.as_millis());
            Err(Refusal { words, may_pass: true })
        }
    }
}

/// Gives a new session its settings, and refuses a server that may lose what it said it kept; answers what the server is
/// known by until it is started anew.
pub(crate) fn prepare(session: &Session, target: &Target, purpose: Purpose) -> Result<String, Fault> {
    let settings = settings(target, purpose);
    let columns: Vec<String> =
        settings.iter().map(|(name, value)| format!("set_config('{name}', '{value}', false)")).collect();
    let sql = format!("{CHECKS}, {}", columns.join(", "));
    let row = session.ask(session.client().query_one(&sql, &[]))?;
    check(&row)
}

fn check(row: &Row) -> Result<String, Fault> {
    let text = |column: usize| row.try_get::<_, String>(column).map_err(|error| crate::fault::fault(&error));
    let (version, number) = (text(0)?, text(1)?);
    if number.parse::<u32>().is_ok_and(|number| number < VERSION_MIN) {
        return Err(refused(&format!("PostgreSQL {version} is too old; 13 or later is needed")));
    }
    for (column, setting) in [(2, "fsync"), (3, "full_page_writes")] {
        if text(column)? == "off" {
            return Err(refused(&format!(
                "the database runs with {setting} = off and may lose what it said it kept; turn it on in \
                 postgresql.conf and restart it"
            )));
        }
    }
    text(4)
}

fn refused(why: &str) -> Fault {
    Fault::Store(StoreError::Unfit(why.to_owned()))
}

/// Settings of a session, whatever the server or the user has for defaults.
fn settings(target: &Target, purpose: Purpose) -> Vec<(&'static str, String)> {
    let lease_ms = target.lease.as_millis();
    let seconds = |part: u128| (lease_ms / part / 1000).max(1).to_string();
    let mut settings = vec![
        ("search_path", "muster".to_owned()),
        ("default_transaction_isolation", "read committed".to_owned()),
        // The server, too, notices within two leases that whoever held this session is gone.
        ("tcp_keepalives_idle", seconds(1)),
        ("tcp_keepalives_interval", seconds(3)),
        ("tcp_keepalives_count", "3".to_owned()),
        ("tcp_user_timeout", patience(target, purpose).receiving.as_millis().to_string()),
        // A commit whose wait for a standby is cancelled is told of by a warning alone.
        ("client_min_messages", "notice".to_owned()),
        // Compiling a query costs more than any of ours.
        ("jit", "off".to_owned()),
    ];
    match purpose {
        Purpose::Read => settings.extend([
            ("lock_timeout", "0".to_owned()),
            ("statement_timeout", READ_LIMIT_MS.to_string()),
            ("idle_in_transaction_session_timeout", READ_LIMIT_MS.to_string()),
        ]),
        Purpose::Migrate => settings.extend(
            ["lock_timeout", "statement_timeout", "idle_in_transaction_session_timeout"]
                .map(|name| (name, "0".to_owned())),
        ),
        Purpose::Write | Purpose::Fill | Purpose::Lead | Purpose::Lookup => settings.extend([
            // A statement that is cancelled while it waits for a standby counts as done, though the standby lacks it.
            ("statement_timeout", "0".to_owned()),
            // A table lock must not block the commits of a leader for long while that leader renews its lease.
            ("lock_timeout", (2 * lease_ms).to_string()),
            // Rows are found by their keys, and a plan made while a table was empty must not say otherwise.
            ("enable_seqscan", "off".to_owned()),
            ("enable_hashjoin", "off".to_owned()),
            ("enable_mergejoin", "off".to_owned()),
            ("plan_cache_mode", "force_generic_plan".to_owned()),
            // A session that stalls in the middle of a commit does not hold the fence for long.
            ("idle_in_transaction_session_timeout", (2 * lease_ms).to_string()),
        ]),
    }
    if matches!(purpose, Purpose::Write | Purpose::Fill) {
        // A statement that runs outside its transaction, because that could not begin, is refused.
        settings.push(("default_transaction_read_only", "on".to_owned()));
    }
    settings
}

/// Time for which one side may take nothing of what the other sends until the connection counts as lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Patience {
    /// With the database.
    sending: Duration,
    /// With us.
    receiving: Duration,
}

/// Network timeouts by purpose. A leader must notice a lost connection soon. A database that is busy with one piece of
/// a large batch does not read the next, and a client that reads a whole store pauses now and then to write it out.
fn patience(target: &Target, purpose: Purpose) -> Patience {
    let (soon, late) = (target.lease * 2, TRANSFER_STALL.max(target.lease * 2));
    let (sending, receiving) = match purpose {
        Purpose::Lead | Purpose::Lookup => (target.lease, target.lease),
        Purpose::Write => (soon, soon),
        Purpose::Read => (soon, late),
        Purpose::Fill | Purpose::Migrate => (late, late),
    };
    Patience { sending, receiving }
}

/// Certificates that are trusted, and our own.
#[derive(Debug, Default)]
pub(crate) struct Trust {
    /// True if an authority must have signed the server's certificate.
    pub(crate) checks_chain: bool,
    /// True if it must be for the host that was asked for.
    pub(crate) checks_name: bool,
    /// A file of authorities; `None`, or `system`: those this machine believes.
    pub(crate) roots: Option<PathBuf>,
    /// A file with a certificate of our own.
    pub(crate) certificate: Option<PathBuf>,
    /// A file with its key.
    pub(crate) key: Option<PathBuf>,
}

/// Kind of encryption.
pub(crate) fn client(trust: &Trust) -> Result<ClientConfig, StoreError> {
    let provider = Arc::new(ring::default_provider());
    let versions = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .expect("the provider knows the versions that it was built with");
    let verifier: Arc<dyn ServerCertVerifier> = Arc::new(Verifier {
        chain: if trust.checks_chain { Some(chain_verifier(trust, &provider)?) } else { None },
        checks_name: trust.checks_name,
        provider,
    });
    let config = versions.dangerous().with_custom_certificate_verifier(verifier);
    match (&trust.certificate, &trust.key) {
        (None, None) => Ok(config.with_no_client_auth()),
        (Some(certificate), Some(key)) => {
            let secret = PrivateKeyDer::from_pem_file(key).map_err(unreadable("sslkey", key))?;
            config
                .with_client_auth_cert(certificates("sslcert", certificate)?, secret)
                .map_err(unreadable("sslcert", certificate))
        }
        _ => Err(StoreError::Unfit("sslcert and sslkey must be given together".into())),
    }
}

/// Checks as much of a certificate as was asked for.
#[derive(Debug)]
struct Verifier {
    /// `None`: whoever answers is believed. What is sent is safe from those who listen, not from those who intercept.
    chain: Option<Arc<WebPkiServerVerifier>>,
    checks_name: bool,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Some(chain) = &self.chain else {
            return Ok(ServerCertVerified::assertion());
        };
        match chain.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now) {
            // The name is looked at last, when everything else is in order.
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) if !self.checks_name => Ok(ServerCertVerified::assertion()),
            other => other,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

fn chain_verifier(
    trust: &Trust,
    provider: &Arc<CryptoProvider>,
) -> Result<Arc<WebPkiServerVerifier>, StoreError> {
    let mut roots = RootCertStore::empty();
    match trust.roots.as_deref().filter(|path| *path != Path::new("system")) {
        Some(path) => roots.add_parsable_certificates(certificates("sslrootcert", path)?),
        None => roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs),
    };
    WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider)).build().map_err(|_| {
        StoreError::Unfit(
            "no certificate of an authority was found; name a file of them: sslrootcert=FILE".into(),
        )
    })
}

fn certificates(parameter: &str, path: &Path) -> Result<Vec<CertificateDer<'static>>, StoreError> {
    CertificateDer::pem_file_iter(path).and_then(Iterator::collect).map_err(unreadable(parameter, path))
}

fn unreadable<E: std::fmt::Display>(parameter: &str, path: &Path) -> impl FnOnce(E) -> StoreError {
    move |error| StoreError::Unfit(format!("{parameter}: cannot use {}: {error}", path.display()))
}

/// A commit that was acknowledged is durable, whatever the server's default is; more than that is left as it is. No
/// session is ended for being idle or long; not every version knows both settings.
const CHECKS: &str = "SELECT current_setting('server_version'), current_setting('server_version_num'), \
     current_setting('fsync'), current_setting('full_page_writes'), \
     CAST(extract(epoch FROM pg_postmaster_start_time()) AS TEXT), \
     (SELECT count(set_config(name, '0', false)) FROM pg_settings \
     WHERE name IN ('idle_session_timeout', 'transaction_timeout')), \
     set_config('synchronous_commit', CASE WHEN current_setting('synchronous_commit') IN ('off', 'local') \
     THEN 'on' ELSE current_setting('synchronous_commit') END, false)";

/// Longest pause of a healthy transfer.
const TRANSFER_STALL: Duration = Duration::from_secs(60);

const VERSION_MIN: u32 = 130_000;

/// Timeout of list queries: no caller waits longer.
const READ_LIMIT_MS: u32 = 55_000;
