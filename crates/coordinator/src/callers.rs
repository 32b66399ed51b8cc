//! Callers that are durable: users, logins and keys, secrets of nodes, tokens of simulation workers. Looked up for every request, so held in memory.

use muster_model::{
    AccountChange, ApiKeyRecord, FrameChange, LoginRecord, Name, SecretRecord, Timestamp, UserId, UserRecord,
};
use sha2::{Digest, Sha256};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError, RwLock},
};
use subtle::ConstantTimeEq;

/// Users, logins and keys. What a commit changed is in here before anybody is told of it.
#[derive(Default)]
pub struct Accounts(RwLock<AccountTables>);

#[derive(Default)]
struct AccountTables {
    users: HashMap<UserId, Arc<UserRecord>>,
    names: HashMap<Box<str>, UserId>,
    logins: HashMap<u128, LoginRecord>,
    keys: HashMap<[u8; 32], Arc<ApiKeyRecord>>,
}

impl Accounts {
    /// A user by id, in service or not.
    #[must_use]
    pub fn user(&self, id: UserId) -> Option<Arc<UserRecord>> {
        self.read(|tables| tables.users.get(&id).cloned())
    }

    /// A user by name, in service or not.
    #[must_use]
    pub fn user_named(&self, name: &str) -> Option<Arc<UserRecord>> {
        self.read(|tables| tables.users.get(tables.names.get(name)?).cloned())
    }

    /// A login that has not been ended; it may have run out.
    #[must_use]
    pub fn login(&self, id: u128) -> Option<LoginRecord> {
        self.read(|tables| tables.logins.get(&id).copied())
    }

    /// A key by its SHA-256, unless it was taken back. What is looked up is a hash, so how long it takes tells
    /// nothing.
    #[must_use]
    pub fn key(&self, hash: &[u8; 32]) -> Option<Arc<ApiKeyRecord>> {
        self.read(|tables| tables.keys.get(hash).cloned())
    }

    /// Number of users.
    #[must_use]
    pub fn users(&self) -> usize {
        self.read(|tables| tables.users.len())
    }

    /// Takes over what became durable.
    pub(crate) fn follow(&self, change: &AccountChange) {
        let mut tables = self.0.write().unwrap_or_else(PoisonError::into_inner);
        match change {
            AccountChange::User(user) => {
                tables.names.insert(user.name.clone(), user.id);
                tables.users.insert(user.id, Arc::new((**user).clone()));
            }
            AccountChange::Login(login) => _ = tables.logins.insert(login.id, *login),
            AccountChange::LoginGone(login) => _ = tables.logins.remove(login),
            AccountChange::ApiKey(key) if key.revoked_at.is_some() => _ = tables.keys.remove(&key.hash),
            AccountChange::ApiKey(key) => _ = tables.keys.insert(key.hash, Arc::new((**key).clone())),
            AccountChange::Audit(_) => {}
        }
    }

    /// Forgets all, before a term is loaded.
    pub(crate) fn clear(&self) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = AccountTables::default();
    }

    fn read<T>(&self, look: impl FnOnce(&AccountTables) -> T) -> T {
        look(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }
}

#[derive(Default)]
pub(crate) struct Secrets(RwLock<HashMap<Name, Vec<SecretRecord>>>);

impl Secrets {
    pub(crate) fn set(&self, worker: &Name, secrets: &[SecretRecord]) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).insert(worker.clone(), secrets.to_vec());
    }

    pub(crate) fn clear(&self) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// Looks at every secret it may be, so that the time tells nothing of which it was.
    pub(crate) fn knows(&self, worker: Option<&Name>, secret: &str, now: Timestamp) -> bool {
        let hash: [u8; 32] = Sha256::digest(secret.as_bytes()).into();
        let secrets = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let matches = |known: &SecretRecord| {
            let valid = known.valid_until.is_none_or(|until| now < until);
            valid & bool::from(known.hash.ct_eq(&hash))
        };
        match worker {
            Some(worker) => secrets
                .get(worker)
                .is_some_and(|known| known.iter().fold(false, |any, one| any | matches(one))),
            None => secrets.values().flatten().fold(false, |any, known| any | matches(known)),
        }
    }
}

/// Hashes of tokens, both ways.
#[derive(Default)]
pub(crate) struct Tokens(Mutex<TokenTables>);

#[derive(Default)]
struct TokenTables {
    owners: HashMap<[u8; 32], Name>,
    hashes: HashMap<Name, [u8; 32]>,
}

impl Tokens {
    /// The worker that a token belongs to. What is looked up is its hash, so how long it takes tells nothing.
    pub(crate) fn owner(&self, token: &str) -> Option<Name> {
        let hash: [u8; 32] = Sha256::digest(token.as_bytes()).into();
        self.with(|tables| tables.owners.get(&hash).cloned())
    }

    /// Takes over what became durable; a new token of a worker ends the one before (S1).
    pub(crate) fn follow(&self, change: &FrameChange) {
        self.with(|tables| match change {
            FrameChange::Renderer(record) => {
                if let Some(old) = tables.hashes.insert(record.id.clone(), record.token_hash) {
                    tables.owners.remove(&old);
                }
                tables.owners.insert(record.token_hash, record.id.clone());
            }
            FrameChange::RendererGone(worker) => {
                if let Some(old) = tables.hashes.remove(worker) {
                    tables.owners.remove(&old);
                }
            }
            _ => {}
        });
    }

    /// Forgets all, before a term is loaded.
    pub(crate) fn clear(&self) {
        self.with(|tables| *tables = TokenTables::default());
    }

    fn with<T>(&self, look: impl FnOnce(&mut TokenTables) -> T) -> T {
        look(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
