//! Accounts: people with names and roles, their logins and API keys, and the audit log.
#![allow(missing_docs, reason = "fields whose names say what they hold have no words of their own")]

use crate::{Millis, Timestamp, UserId};
use alloc::boxed::Box;
use core::fmt;

words! {
    /// One right (P1, I7).
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum Role {
        /// Hands in jobs (P13).
        Client = "CLIENT",
        /// Owns workers of the pool (P3).
        WorkerOwner = "WORKER_OWNER",
        /// Reads what operators read (I7).
        Viewer = "VIEWER",
        /// Operates (I7).
        Operator = "OPERATOR",
        /// May do everything but speak for a worker (P1).
        Admin = "ADMIN",
    }
}

/// A set of rights.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Roles(u8);

impl Roles {
    /// None.
    pub const NONE: Self = Self(0);

    /// This one as well.
    #[must_use]
    pub const fn with(self, role: Role) -> Self {
        Self(self.0 | 1 << role as u8)
    }

    /// True if this one is among them, by itself: see [`Self::allows`] for what follows from others.
    #[must_use]
    pub const fn contains(self, role: Role) -> bool {
        self.0 & (1 << role as u8) != 0
    }

    /// True if they allow what this role may do: an ADMIN may do all but what a worker's owner may, an OPERATOR
    /// may read (I7).
    #[must_use]
    pub const fn allows(self, role: Role) -> bool {
        match role {
            Role::WorkerOwner | Role::Admin => self.contains(role),
            Role::Client | Role::Operator => self.contains(role) || self.contains(Role::Admin),
            Role::Viewer => {
                self.contains(role) || self.contains(Role::Operator) || self.contains(Role::Admin)
            }
        }
    }

    /// Those that are in both.
    #[must_use]
    pub const fn both(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// True if there is none.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Each of them.
    pub fn iter(self) -> impl Iterator<Item = Role> {
        Role::ALL.into_iter().filter(move |role| self.contains(*role))
    }
}

impl FromIterator<Role> for Roles {
    fn from_iter<I: IntoIterator<Item = Role>>(roles: I) -> Self {
        roles.into_iter().fold(Self::NONE, Self::with)
    }
}

/// Author of an action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Actor {
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
    pub id: UserId,
    /// Login name; unique.
    pub name: Box<str>,
    /// Argon2id, in the text form that carries its parameters and salt.
    pub password_hash: Box<str>,
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
    pub user: UserId,
    /// For people.
    pub name: Box<str>,
    /// Its first characters, by which people recognise it.
    pub prefix: Box<str>,
    /// SHA-256 of the key.
    pub hash: [u8; 32],
    /// Of its user's roles only these; `None`: all.
    pub scopes: Option<Roles>,
    pub created_at: Timestamp,
    /// Time when it was last used, to the minute.
    pub last_used_at: Option<Timestamp>,
    /// Time when it was taken back.
    pub revoked_at: Option<Timestamp>,
}

/// A privileged act.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditRecord {
    pub actor: Actor,
    /// Action, in snake case.
    pub action: Box<str>,
    /// To what.
    pub subject: Box<str>,
    pub at: Timestamp,
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

/// One request about accounts.
#[derive(Clone, Debug)]
pub enum AccountCommand {
    /// A new user (P1).
    AddUser { name: Box<str>, password_hash: Box<str>, roles: Roles },
    /// Something about a user changes; a new password or an end of service ends all their logins (P1).
    ChangeUser { user: UserId, change: UserChange },
    /// A user presented the password behind this hash (P1).
    Login { user: UserId, password_hash: Box<str>, ttl: Millis },
    /// A token is exchanged for the next; the one before ends at once (P1).
    Refresh { login: u128, generation: u32, ttl: Millis },
    /// A login ends on request.
    Logout { login: u128 },
    /// A new key for programs (P13).
    AddKey { user: UserId, name: Box<str>, prefix: Box<str>, hash: [u8; 32], scopes: Option<Roles> },
    /// A key is taken back (P13); with `user`, only if it is theirs.
    RevokeKey { key: u64, user: Option<UserId> },
    /// A key was used.
    TouchKey { key: u64 },
    /// Audit record of a caller's action that changes nothing here (I7).
    Note { action: &'static str, subject: Box<str> },
}

/// Change of a user; `None` leaves it as it is.
#[derive(Clone, Default)]
pub struct UserChange {
    pub password_hash: Option<Box<str>>,
    pub roles: Option<Roles>,
    pub active: Option<bool>,
}

/// Events about accounts. Applying it cannot fail.
#[derive(Clone, Debug)]
pub enum AccountEvent {
    UserAdded(Box<UserRecord>),
    UserChanged { user: UserId, change: UserChange, at: Timestamp },
    LoginBegan(LoginRecord),
    LoginRefreshed(LoginRecord),
    LoginEnded { login: u128 },
    KeyAdded(Box<ApiKeyRecord>),
    KeyRevoked { key: u64, at: Timestamp },
    KeyTouched { key: u64, at: Timestamp },
}

/// The answer to a command that was carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AccountReply {
    /// To `AddUser` and `ChangeUser`.
    User(Box<UserRecord>),
    /// To `Login` and `Refresh`.
    Login(LoginRecord),
    /// To `AddKey`.
    Key(Box<ApiKeyRecord>),
    /// To everything else.
    Done,
}

/// Reason why a command about accounts was not carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccountRejection {
    /// The name is somebody's.
    NameTaken,
    /// No such user, or not in service.
    UserUnknown,
    /// No such login, or its token was exchanged before.
    LoginUnknown,
    /// No such key, or somebody else's.
    KeyUnknown,
    /// One user has as many logins or keys as one can have.
    TooMany { max: usize },
}

impl fmt::Debug for UserChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let password = self.password_hash.is_some();
        write!(f, "UserChange(password={password} roles={:?} active={:?})", self.roles, self.active)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// P1, I7: ADMIN is everything but a worker's owner; OPERATOR reads too.
    #[test]
    fn an_admin_is_no_workers_owner() {
        let admin = Roles::NONE.with(Role::Admin);
        assert!(Role::ALL.into_iter().filter(|role| !admin.allows(*role)).eq([Role::WorkerOwner]));
        let operator = Roles::NONE.with(Role::Operator);
        assert!(
            Role::ALL.into_iter().filter(|role| operator.allows(*role)).eq([Role::Viewer, Role::Operator])
        );
        assert!(Roles::NONE.with(Role::Viewer).iter().eq([Role::Viewer]));
    }
}
