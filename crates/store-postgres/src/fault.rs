//! What PostgreSQL said, in words that say what to do.

use crate::fence;
use muster_store::StoreError;
use muster_tables::Fault;
use std::error::Error as _;
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
        Some(said) if *said.code() == SqlState::DIVISION_BY_ZERO => fence::missing(),
        _ => Fault::Database(cause(error)),
    }
}

/// What went wrong, without the words that every error begins with.
pub(crate) fn cause(error: &Error) -> String {
    match (error.as_db_error(), error.source()) {
        (Some(said), _) => database_said(said),
        (None, Some(source)) => format!("{error}: {source}"),
        (None, None) if error.is_closed() => "the connection to the database was lost".to_owned(),
        (None, None) => error.to_string(),
    }
}

/// Whether a notice says that a commit which is about to be acknowledged need not be on the standby it waited for: the
/// wait was cancelled. The session must not hear the acknowledgement.
pub(crate) fn is_broken_promise(notice: &DbError) -> bool {
    let is_cancelled = [SqlState::QUERY_CANCELED, SqlState::ADMIN_SHUTDOWN].contains(notice.code());
    // Not every version gives such a notice a code of its own; whence it comes is in no language.
    let is_wait = notice.routine() == Some("SyncRepWaitForLSN");
    notice.parsed_severity() == Some(Severity::Warning) && (is_cancelled || is_wait)
}

/// Whether a newer term stood in the way.
fn is_fence(said: &DbError) -> bool {
    *said.code() == SqlState::CHECK_VIOLATION && said.constraint() == Some("fence_held")
}

/// What the database said, for everybody to read.
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

/// Whether details show what rows hold: payloads and the hashes of tokens are nobody's business.
fn tells_values(code: &SqlState) -> bool {
    ["22", "23"].iter().any(|class| code.code().starts_with(class))
}

/// What whoever reads the message can do about it.
fn remedy(code: &SqlState) -> Option<&'static str> {
    REMEDIES.iter().find(|(of, _)| of == code).map(|(_, what)| *what)
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
