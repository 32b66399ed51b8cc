//! Users: who they are, by which token they are known (P1, P2, P13, I7), and when an API key was last used.

use crate::{HttpState, Problem, reason::reason};
use axum::http::request::Parts;
use muster_coordinator::Coordinator;
use muster_model::{Actor, ApiKeyRecord, LoginRecord, Millis, Role, Roles, UserId, ask::accounts::TouchKey};
use sha2::{Digest, Sha256};
use std::{
    collections::HashSet,
    sync::{Arc, Mutex, PoisonError},
};

/// A user who showed a valid token.
#[derive(Clone, Debug)]
pub struct Identity {
    /// Its id; 0 is the holder of the admin token.
    pub id: UserId,
    /// Their name.
    pub name: Box<str>,
    /// Their roles: with an API key, only those that the key has too.
    pub roles: Roles,
    /// The login whose token it was.
    pub login: Option<LoginRecord>,
    /// The API key that it was.
    pub key: Option<u64>,
    /// Their reason, if their request changes something and gives one.
    pub reason: Option<Box<str>>,
}

impl Identity {
    /// The actor, for the audit log.
    #[must_use]
    pub fn actor(&self) -> Actor {
        Actor { user: self.id, name: self.name.clone(), reason: self.reason.clone() }
    }

    /// Looks again whether the user is in service, after a wait: whoever was put out of it meanwhile is told nothing (P1).
    ///
    /// # Errors
    /// 401 when not.
    pub fn look_again(&self, http: &HttpState) -> Result<(), Problem> {
        let is_out = || http.coordinator.accounts().user(self.id).is_some_and(|user| !user.active);
        if self.id != UserId(0) && is_out() { Err(Problem::invalid_token()) } else { Ok(()) }
    }

    /// The same user with what a request says about why it is sent.
    pub(crate) fn explained(self, parts: &Parts) -> Result<Self, Problem> {
        Ok(Self { reason: reason(parts)?, ..self })
    }

    /// Identity of a caller with the admin token.
    pub(crate) fn admin() -> Self {
        let roles = Roles::NONE.with(Role::Admin);
        Self { id: UserId(0), name: ADMIN_NAME.into(), roles, login: None, key: None, reason: None }
    }

    /// The user that a token belongs to, if it is a user's, still works, and the user is in service.
    pub(crate) fn find(http: &HttpState, token: &str) -> Option<Self> {
        if token.starts_with(API_KEY_PREFIX) {
            Self::by_key(http, token)
        } else {
            Self::by_login(http, token)
        }
    }

    fn by_login(http: &HttpState, token: &str) -> Option<Self> {
        let now = http.coordinator.now();
        let claims = http.keys.signer().decode(token, now)?;
        let login = http.coordinator.accounts().login(claims.login)?;
        let is_newest = login.generation == claims.generation && login.user == claims.user;
        let is_live = is_newest && now < login.expires_at;
        is_live
            .then(|| Self::in_service(http, login.user))
            .flatten()
            .map(|user| Self { login: Some(login), ..user })
    }

    fn by_key(http: &HttpState, token: &str) -> Option<Self> {
        let key = http.coordinator.accounts().key(&api_key_hash(token))?;
        let user = Self::of_key(http, &key)?;
        http.key_use.note(&http.coordinator, &key);
        Some(user)
    }

    fn of_key(http: &HttpState, key: &ApiKeyRecord) -> Option<Self> {
        let user = if key.user == UserId(0) { Self::admin() } else { Self::in_service(http, key.user)? };
        // A scope may also be a role that ADMIN implies.
        let within = |scopes: Roles| scopes.iter().filter(|role| user.roles.allows(*role)).collect();
        let roles = key.scopes.map_or(user.roles, within);
        Some(Self { roles, key: Some(key.id), ..user })
    }

    fn in_service(http: &HttpState, id: UserId) -> Option<Self> {
        let user = http.coordinator.accounts().user(id)?;
        let named =
            || Self { id, name: user.name.clone(), roles: user.roles, login: None, key: None, reason: None };
        user.active.then(named)
    }
}

/// Hash under which an API key is kept. A key is 32 random bytes, so nothing slower is needed.
#[must_use]
pub fn api_key_hash(key: &str) -> [u8; 32] {
    Sha256::digest(key.as_bytes()).into()
}

/// The keys whose use is being written down just now. Cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct KeyUse(Arc<Mutex<HashSet<u64>>>);

impl KeyUse {
    /// Has the use of a key written down, unless that happened within the minute. Nobody waits for it.
    pub(crate) fn note(&self, coordinator: &Coordinator, key: &ApiKeyRecord) {
        let is_known = key.last_used_at.is_some_and(|used| coordinator.now() - used < PRECISION);
        if is_known || !self.touching(|touching| touching.insert(key.id)) {
            return;
        }
        let (this, coordinator, key) = (self.clone(), coordinator.clone(), key.id);
        tokio::spawn(async move {
            // No retry on failure: the next use of the key touches it again.
            let _ = coordinator.ask(TouchKey { key }).await;
            this.touching(|touching| touching.remove(&key));
        });
    }

    fn touching<T>(&self, look: impl FnOnce(&mut HashSet<u64>) -> T) -> T {
        look(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Prefix of every API key: people and scanners of code recognise one by it.
pub const API_KEY_PREFIX: &str = "mk_";

/// Name of the holder of the admin token in the audit log; no user can have it.
pub const ADMIN_NAME: &str = "admin-token";

const PRECISION: Millis = Millis::from_secs(60);
