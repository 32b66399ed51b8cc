//! Errors of PostgreSQL, in words that say what to do.

use crate::writer;
use muster_store::StoreError;
use muster_tables::Fault;
use rustls::CertificateError;
use std::{error::Error as _, io};
use tokio_postgres::{
    Error,
    error::{DbError, Severity, SqlState},
};

/// Puts an error in the words that all stores share.
pub(crate) fn fault(error: &Error) -> Fault {
    match error.as_db_error() {
        Some(said) if is_fence(said) => StoreError::Superseded.into(),
        Some(said) if *said.code() == SqlState::INSUFFICIENT_PRIVILEGE => {
            StoreError::Unfit(database_said(said)).into()
        }
        // Only the fence divides, by the number of its rows.
        Some(said) if *said.code() == SqlState::DIVISION_BY_ZERO => writer::missing(),
        _ => Fault::Database(cause(error)),
    }
}

/// Text of an error, without the words that every error begins with.
pub(crate) fn cause(error: &Error) -> String {
    match (error.as_db_error(), error.source()) {
        (Some(said), _) => database_said(said),
        (None, Some(source)) => format!("{error}: {source}"),
        (None, None) if error.is_closed() => "the connection to the database was lost".to_owned(),
        (None, None) => error.to_string(),
    }
}

/// True if a notice says that a commit which is about to be acknowledged need not be on the standby it waited for: the
/// wait was cancelled. The session must not hear the acknowledgement.
pub(crate) fn is_broken_promise(notice: &DbError) -> bool {
    let is_cancelled = [SqlState::QUERY_CANCELED, SqlState::ADMIN_SHUTDOWN].contains(notice.code());
    // Not every version gives such a notice a code of its own; whence it comes is in no language.
    let is_wait = notice.routine() == Some("SyncRepWaitForLSN");
    notice.parsed_severity() == Some(Severity::Warning) && (is_cancelled || is_wait)
}

/// True if a newer term stood in the way.
fn is_fence(said: &DbError) -> bool {
    *said.code() == SqlState::CHECK_VIOLATION && said.constraint() == Some("fence_held")
}

/// Message of the database, for everybody to read.
pub(crate) fn database_said(said: &DbError) -> String {
    let mut text = format!("PostgreSQL: {} (SQLSTATE {})", said.message(), said.code().code());
    let more = if tells_values(said.code()) {
        [
            said.table().map(|name| format!("table {name}")),
            said.constraint().map(|name| format!("constraint {name}")),
        ]
    } else {
        [said.detail().map(str::to_owned), said.hint().map(str::to_owned)]
    };
    for more in more.iter().flatten().map(String::as_str).chain(remedy(said.code())) {
        text.push_str("; ");
        text.push_str(more);
    }
    text
}

/// True if details show what rows hold: payloads and the hashes of tokens are nobody's business.
fn tells_values(code: &SqlState) -> bool {
    ["22", "23"].iter().any(|class| code.code().starts_with(class))
}

/// Advice on what to do about it.
fn remedy(code: &SqlState) -> Option<&'static str> {
    REMEDIES.iter().find(|(of, _)| of == code).map(|(_, what)| *what)
}

/// Reason why a server did not take a connection.
pub(crate) struct Refusal {
    pub(crate) words: String,
    /// True if it may take one later though nobody changes anything.
    pub(crate) may_pass: bool,
}

impl Refusal {
    pub(crate) fn of(error: &Error) -> Self {
        let words = cause(error);
        match what_to_do(error) {
            Some((remedy, may_pass)) => Self { words: format!("{words}; {remedy}"), may_pass },
            None => Self { words, may_pass: !error.code().is_some_and(|code| LASTING.contains(code)) },
        }
    }
}

/// Remedy for an error that the database itself does not report, and true if the error may pass without it.
fn what_to_do(error: &Error) -> Option<(&'static str, bool)> {
    let source = error.source()?;
    if let Some(failure) = source.downcast_ref::<io::Error>() {
        return match failure.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
            Some(refused) => handshake(refused).map(|remedy| (remedy, false)),
            None if failure.kind() == io::ErrorKind::PermissionDenied && is_standby(failure) => {
                Some((STANDBY, true))
            }
            None => None,
        };
    }
    // The client library has no types for these.
    match source.to_string().as_str() {
        "server does not support TLS" => Some((NO_TLS, false)),
        "password missing" => Some((NO_PASSWORD, false)),
        _ => None,
    }
}

fn is_standby(failure: &io::Error) -> bool {
    failure.to_string() == "database does not allow writes"
}

/// Remedy for a failed TLS handshake; `None`: it may pass.
fn handshake(error: &rustls::Error) -> Option<&'static str> {
    match error {
        rustls::Error::InvalidCertificate(why) => Some(match why {
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => OTHER_NAME,
            CertificateError::UnknownIssuer => UNKNOWN_AUTHORITY,
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => EXPIRED,
            // The error it wraps has a type of a library that rustls does not re-export.
            other if format!("{other:?}").contains("CaUsedAsEndEntity") => SELF_SIGNED,
            _ => BAD_CERTIFICATE,
        }),
        rustls::Error::AlertReceived(_) => Some(OURS_REFUSED),
        rustls::Error::PeerIncompatible(_) => Some("let the database speak TLS 1.2 or 1.3"),
        _ => None,
    }
}

const REMEDIES: &[(SqlState, &str)] = &[
    (SqlState::DISK_FULL, "free space on the database's disk; muster goes on by itself then"),
    (SqlState::OUT_OF_MEMORY, "give the database more memory; muster tries again by itself"),
    (SqlState::TOO_MANY_CONNECTIONS, "raise max_connections of the database, or end other sessions"),
    (SqlState::ADMIN_SHUTDOWN, "muster tries again by itself"),
    (SqlState::CRASH_SHUTDOWN, "muster tries again by itself"),
    (SqlState::CANNOT_CONNECT_NOW, "muster tries again by itself"),
    (SqlState::INVALID_PASSWORD, "check the user and the password of the address, or PGPASSWORD"),
    (
        SqlState::INVALID_AUTHORIZATION_SPECIFICATION,
        "check the user of the address, and pg_hba.conf of the database",
    ),
    (SqlState::INVALID_CATALOG_NAME, "create the database first: createdb NAME"),
    (
        SqlState::INSUFFICIENT_PRIVILEGE,
        "all servers must use one user, who may create a schema: GRANT CREATE ON DATABASE … TO …",
    ),
    (
        SqlState::READ_ONLY_SQL_TRANSACTION,
        "this is a standby; name the primary too: postgres://…@host1,host2/…",
    ),
    (
        SqlState::LOCK_NOT_AVAILABLE,
        "somebody holds a lock on muster's tables; find them (SELECT pid, relation::regclass FROM pg_locks WHERE granted) \
         and end their transaction; muster tries again by itself",
    ),
    (SqlState::UNDEFINED_TABLE, "somebody altered the schema muster"),
    (SqlState::UNDEFINED_COLUMN, "somebody altered the schema muster"),
];

/// Errors that a later attempt would meet again: a login that is refused now stays refused.
const LASTING: [SqlState; 4] = [
    SqlState::INVALID_PASSWORD,
    SqlState::INVALID_AUTHORIZATION_SPECIFICATION,
    SqlState::INVALID_CATALOG_NAME,
    SqlState::INSUFFICIENT_PRIVILEGE,
];

const STANDBY: &str = "this is a standby (read only), or default_transaction_read_only is on there; promote it, or name \
     the primary too: postgres://…@host1,host2/…";

const NO_TLS: &str = "turn ssl on in postgresql.conf, or leave out sslmode where the network may be trusted";

const NO_PASSWORD: &str = "the database asks for one; give it in the address or in PGPASSWORD";

const OTHER_NAME: &str =
    "the certificate is for another host; use a name that it holds, or sslmode=verify-ca";

const UNKNOWN_AUTHORITY: &str =
    "nobody who is believed signed the certificate; name the authority that did: sslrootcert=FILE";

const EXPIRED: &str = "renew the certificate of the database";

const SELF_SIGNED: &str = "the certificate of the database is that of an authority, as those are that sign themselves; give \
     the database one that an authority signed (CA:FALSE) and name that authority in sslrootcert, or use \
     sslmode=require without sslrootcert, which encrypts and believes whoever answers";

const BAD_CERTIFICATE: &str = "give the database another certificate";

const OURS_REFUSED: &str =
    "see the log of the database; where it wants a certificate: sslcert=FILE and sslkey=FILE";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connect::{Trust, client};
    use rustls::{
        ClientConnection,
        pki_types::{CertificateDer, PrivateKeyDer, ServerName, pem::PemObject},
    };
    use std::{path::Path, process::Command, sync::Arc};

    /// A certificate that signs itself and is named as its own authority, as many try it first.
    #[test]
    fn a_certificate_that_signs_itself_is_explained() {
        let directory = tempfile::tempdir().unwrap();
        let (certificate, key) = (directory.path().join("server.crt"), directory.path().join("server.key"));
        make_certificate(directory.path());
        let trust = Trust { checks_chain: true, roots: Some(certificate.clone()), ..Trust::default() };
        let config = Arc::new(client(&trust).unwrap());
        let name = ServerName::try_from("database.example").unwrap();
        let mut here = ClientConnection::new(config, name).unwrap();
        let chain = vec![CertificateDer::from_pem_file(certificate).unwrap()];
        let server =
            rustls::ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
                .with_safe_default_protocol_versions()
                .unwrap()
                .with_no_client_auth()
                .with_single_cert(chain, PrivateKeyDer::from_pem_file(key).unwrap());
        let mut there = rustls::ServerConnection::new(Arc::new(server.unwrap())).unwrap();
        let mut wire = Vec::new();
        here.write_tls(&mut wire).unwrap();
        there.read_tls(&mut wire.as_slice()).unwrap();
        there.process_new_packets().unwrap();
        wire.clear();
        there.write_tls(&mut wire).unwrap();
        here.read_tls(&mut wire.as_slice()).unwrap();
        let refused = here.process_new_packets().unwrap_err();
        assert_eq!(handshake(&refused), Some(SELF_SIGNED), "{refused}");
    }

    fn make_certificate(directory: &Path) {
        let words = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=database.example \
                     -addext subjectAltName=DNS:database.example -keyout server.key -out server.crt";
        let made =
            Command::new("openssl").current_dir(directory).args(words.split_whitespace()).output().unwrap();
        assert!(made.status.success(), "{made:?}");
    }
}
