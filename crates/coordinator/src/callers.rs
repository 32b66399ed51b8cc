//! Callers that are durable: users, logins and keys, secrets of nodes, tokens of simulation workers. Looked up for every request, so held in memory.

use muster_model::{
    AccountChange, ApiKeyRecord, FrameChange, LoginRecord, Name, SecretRecord, Timestamp, UserId, UserRecord,
};
use sha2::{Digest, Sha256};
use std::{
    collections::HashMap,
    sync::{
        Arc, PoisonError, RwLock,
        atomic::{AtomicI64, Ordering},
    },
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

/// SHA-256 of a token that a caller presented: computed once per request, looked up in every directory.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct TokenHash([u8; 32]);

impl TokenHash {
    /// The hash of a token.
    #[must_use]
    pub fn of(token: &str) -> Self {
        Self(Sha256::digest(token.as_bytes()).into())
    }

    /// True if the hashes are equal. Constant time: how long it takes says nothing about how much was right.
    #[must_use]
    pub fn is(&self, known: &[u8; 32]) -> bool {
        self.0.ct_eq(known).into()
    }

    /// The part of a hash that directories are searched by. It tells a stranger nothing: the position in a map depends
    /// on a random key of this process, and no part of a hash leads back to its token.
    fn search_key(hash: &[u8; 32]) -> u64 {
        u64::from_le_bytes(std::array::from_fn(|place| hash[place]))
    }
}

/// Secrets of single nodes (N3), found by their hash: a look-up costs the same for any number of nodes.
#[derive(Default)]
pub(crate) struct Secrets(RwLock<SecretTables>);

#[derive(Default)]
struct SecretTables {
    by_hash: HashMap<u64, Vec<NodeSecret>>,
    by_worker: HashMap<Name, Vec<SecretRecord>>,
}

struct NodeSecret {
    worker: Name,
    record: SecretRecord,
}

impl Secrets {
    /// Replaces the secrets of a worker.
    pub(crate) fn set(&self, worker: &Name, secrets: &[SecretRecord]) {
        let mut tables = self.0.write().unwrap_or_else(PoisonError::into_inner);
        for old in tables.by_worker.insert(worker.clone(), secrets.to_vec()).into_iter().flatten() {
            let key = TokenHash::search_key(&old.hash);
            let found = tables.by_hash.entry(key).or_default();
            found.retain(|secret| secret.worker != *worker);
            if found.is_empty() {
                tables.by_hash.remove(&key);
            }
        }
        for record in secrets {
            let found = tables.by_hash.entry(TokenHash::search_key(&record.hash)).or_default();
            found.push(NodeSecret { worker: worker.clone(), record: record.clone() });
        }
    }

    pub(crate) fn clear(&self) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = SecretTables::default();
    }

    /// True if it is a valid secret of that worker, or of any worker when `worker` is `None`.
    pub(crate) fn knows(&self, worker: Option<&Name>, secret: &TokenHash, now: Timestamp) -> bool {
        let tables = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let found = tables.by_hash.get(&TokenHash::search_key(&secret.0));
        found.into_iter().flatten().fold(false, |any, known| {
            let is_valid = known.record.valid_until.is_none_or(|until| now < until);
            let is_theirs = worker.is_none_or(|worker| known.worker == *worker);
            any | (is_valid & is_theirs & secret.is(&known.record.hash))
        })
    }
}

/// Hashes of tokens, both ways.
#[derive(Default)]
pub(crate) struct Tokens(RwLock<TokenTables>);

#[derive(Default)]
struct TokenTables {
    owners: HashMap<[u8; 32], Name>,
    hashes: HashMap<Name, [u8; 32]>,
}

impl Tokens {
    /// The worker that a token belongs to. What is looked up is its hash, so how long it takes tells nothing.
    pub(crate) fn owner(&self, token: &TokenHash) -> Option<Name> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).owners.get(&token.0).cloned()
    }

    /// Takes over what became durable; a new token of a worker ends the one before (S1).
    pub(crate) fn follow(&self, change: &FrameChange) {
        match change {
            FrameChange::Renderer(record) => self.with(|tables| {
                if let Some(old) = tables.hashes.insert(record.id.clone(), record.token_hash) {
                    tables.owners.remove(&old);
                }
                tables.owners.insert(record.token_hash, record.id.clone());
            }),
            FrameChange::RendererGone(worker) => self.with(|tables| {
                if let Some(old) = tables.hashes.remove(worker) {
                    tables.owners.remove(&old);
                }
            }),
            _ => {}
        }
    }

    /// Forgets all, before a term is loaded.
    pub(crate) fn clear(&self) {
        self.with(|tables| *tables = TokenTables::default());
    }

    fn with<T>(&self, change: impl FnOnce(&mut TokenTables) -> T) -> T {
        change(&mut self.0.write().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Last signs of life, by worker. Every request notes one, so workers that are known already are only read-locked.
#[derive(Default)]
pub(crate) struct Sightings(RwLock<HashMap<Name, AtomicI64>>);

impl Sightings {
    pub(crate) fn note(&self, worker: &Name, now: Timestamp) {
        if let Some(seen) = self.0.read().unwrap_or_else(PoisonError::into_inner).get(worker) {
            seen.store(now.0, Ordering::Relaxed);
            return;
        }
        let mut sightings = self.0.write().unwrap_or_else(PoisonError::into_inner);
        sightings.insert(worker.clone(), AtomicI64::new(now.0));
    }

    pub(crate) fn last(&self, worker: &Name) -> Option<Timestamp> {
        let sightings = self.0.read().unwrap_or_else(PoisonError::into_inner);
        sightings.get(worker).map(|seen| Timestamp(seen.load(Ordering::Relaxed)))
    }

    pub(crate) fn clear(&self) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> Name {
        Name::new(text).unwrap()
    }

    fn record(secret: &str, valid_until: Option<i64>) -> SecretRecord {
        SecretRecord { hash: TokenHash::of(secret).0, valid_until: valid_until.map(Timestamp) }
    }

    fn knows(secrets: &Secrets, worker: Option<&str>, secret: &str, now: i64) -> bool {
        secrets.knows(worker.map(name).as_ref(), &TokenHash::of(secret), Timestamp(now))
    }

    /// N3: a node's own secret is known as that node's, until it is replaced and its overlap is over.
    #[test]
    fn a_secret_belongs_to_its_node() {
        let secrets = Secrets::default();
        secrets.set(&name("PC-01"), &[record("old", Some(100)), record("new", None)]);
        secrets.set(&name("PC-02"), &[record("other", None)]);
        assert!(knows(&secrets, None, "old", 99) && knows(&secrets, Some("PC-01"), "old", 99));
        assert!(!knows(&secrets, None, "old", 100) && !knows(&secrets, Some("PC-01"), "old", 100));
        assert!(knows(&secrets, Some("PC-01"), "new", 100) && !knows(&secrets, Some("PC-02"), "new", 100));
        assert!(!knows(&secrets, None, "", 0) && !knows(&secrets, Some("PC-03"), "new", 0));
        secrets.set(&name("PC-01"), &[record("newest", None)]);
        assert!(!knows(&secrets, None, "new", 0) && knows(&secrets, None, "newest", 0));
        secrets.set(&name("PC-01"), &[]);
        assert!(!knows(&secrets, None, "newest", 0) && knows(&secrets, None, "other", 0));
        secrets.clear();
        assert!(!knows(&secrets, None, "other", 0));
    }

    /// N3: two nodes with one secret are both known by it.
    #[test]
    fn a_shared_secret_belongs_to_both() {
        let secrets = Secrets::default();
        secrets.set(&name("PC-01"), &[record("same", Some(100))]);
        secrets.set(&name("PC-02"), &[record("same", None)]);
        assert!(knows(&secrets, Some("PC-01"), "same", 99) && knows(&secrets, Some("PC-02"), "same", 99));
        secrets.set(&name("PC-02"), &[]);
        assert!(knows(&secrets, Some("PC-01"), "same", 99) && !knows(&secrets, Some("PC-02"), "same", 99));
    }

    /// N3: however many nodes have secrets, a request is compared with the one that it may be.
    #[test]
    fn a_look_up_does_not_grow_with_the_fleet() {
        let secrets = Secrets::default();
        for number in 0..10_000 {
            secrets.set(&name(&format!("PC-{number}")), &[record(&format!("secret-{number}"), None)]);
        }
        let tables = secrets.0.read().unwrap();
        assert_eq!(tables.by_hash.len(), 10_000);
        assert!(tables.by_hash.values().all(|compared| compared.len() == 1));
    }
}
