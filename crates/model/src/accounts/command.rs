//! Commands about accounts, their events and replies.
#![allow(missing_docs, reason = "the fields are named for what they hold")]

use super::{ApiKeyRecord, LoginRecord, Roles, UserId, UserRecord};
use crate::{Millis, Timestamp};
use alloc::boxed::Box;

/// One request about accounts.
#[derive(Clone, Debug)]
pub enum AccountCommand {
    /// A new user (P1).
    AddUser { name: Box<str>, password_hash: Box<str>, roles: Roles },
    /// Something about a user changes; a new password or an end of service ends all their logins (P1).
    ChangeUser { user: UserId, change: UserChange },
    /// Somebody showed the password behind this hash (P1).
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
    /// Somebody did something that changes nothing here, and is called to account for it (I7).
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

impl core::fmt::Debug for UserChange {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let password = self.password_hash.is_some();
        write!(f, "UserChange(password={password} roles={:?} active={:?})", self.roles, self.active)
    }
}
