//! Records of accounts.

use super::Roles;
use crate::Timestamp;
use alloc::boxed::Box;
use core::fmt;

/// Identity of a user: counts up from 1; 0 is whoever shows the admin token.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UserId(pub u64);

/// Author of an action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Actor {
    /// The user.
    pub user: UserId,
    /// Their name at the time.
    pub name: Box<str>,
    /// Reason in their own words, on the way to the audit log: there it ends the subject, and this is `None`.
    pub reason: Option<Box<str>>,
}

/// One row to be written. Rows that mirror state replace the row of the same key; history is added.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AccountChange {
    /// Table `users`.
    User(Box<UserRecord>),
    /// Table `logins`.
    Login(LoginRecord),
    /// Table `logins`: the row is gone.
    LoginGone(u128),
    /// Table `api_keys`.
    ApiKey(Box<ApiKeyRecord>),
    /// Table `audit_log`.
    Audit(AuditRecord),
}

/// A user.
#[derive(Clone, PartialEq, Eq)]
pub struct UserRecord {
    /// Its identity.
    pub id: UserId,
    /// Login name; unique.
    pub name: Box<str>,
    /// Argon2id, in the text form that carries its parameters and salt.
    pub password_hash: Box<str>,
    /// Their roles.
    pub roles: Roles,
    /// True if they may do anything at all.
    pub active: bool,
    /// Since when they are known.
    pub created_at: Timestamp,
}

/// A login that is not over: the tokens given out for it carry its id and its latest generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoginRecord {
    /// Its identity, unguessable.
    pub id: u128,
    /// The user.
    pub user: UserId,
    /// Counts up with every refresh: only the newest token works.
    pub generation: u32,
    /// Time when it ends unless it is refreshed.
    pub expires_at: Timestamp,
}

/// A key for programs.
#[derive(Clone, PartialEq, Eq)]
pub struct ApiKeyRecord {
    /// Counts up from 1.
    pub id: u64,
    /// The user.
    pub user: UserId,
    /// For people.
    pub name: Box<str>,
    /// Its first characters, by which people recognise it.
    pub prefix: Box<str>,
    /// SHA-256 of the key.
    pub hash: [u8; 32],
    /// Of its user's roles only these; `None`: all.
    pub scopes: Option<Roles>,
    /// Time when it was made.
    pub created_at: Timestamp,
    /// Time when it was last used, to the minute.
    pub last_used_at: Option<Timestamp>,
    /// Time when it was taken back.
    pub revoked_at: Option<Timestamp>,
}

/// A privileged act.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditRecord {
    /// Author of the action.
    pub actor: Actor,
    /// Action, in snake case.
    pub action: Box<str>,
    /// To what.
    pub subject: Box<str>,
    /// Time of the event.
    pub at: Timestamp,
}

impl fmt::Display for UserId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl fmt::Debug for UserRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "UserRecord({} {:?} {:?} active={})", self.id, self.name, self.roles, self.active)
    }
}

impl fmt::Debug for ApiKeyRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ApiKeyRecord({} of {} {:?})", self.id, self.user, self.name)
    }
}
