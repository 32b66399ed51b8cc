//! Who may call, as far as that is durable: looked up for every request, so held in memory.

use muster_model::{AccountChange, ApiKeyRecord, LoginRecord, UserId, UserRecord};
use std::{
    collections::HashMap,
    sync::{Arc, PoisonError, RwLock},
};

/// Users, logins and keys. What a commit changed is in here before anybody is told of it.
#[derive(Default)]
pub struct Accounts(RwLock<Known>);

#[derive(Default)]
struct Known {
    users: HashMap<UserId, Arc<UserRecord>>,
    names: HashMap<Box<str>, UserId>,
    logins: HashMap<u128, LoginRecord>,
    keys: HashMap<[u8; 32], Arc<ApiKeyRecord>>,
}

impl Accounts {
    /// A user by id, in service or not.
    #[must_use]
    pub fn user(&self, id: UserId) -> Option<Arc<UserRecord>> {
        self.read(|known| known.users.get(&id).cloned())
    }

    /// A user by name, in service or not.
    #[must_use]
    pub fn user_named(&self, name: &str) -> Option<Arc<UserRecord>> {
        self.read(|known| known.users.get(known.names.get(name)?).cloned())
    }

    /// A login that has not been ended; it may have run out.
    #[must_use]
    pub fn login(&self, id: u128) -> Option<LoginRecord> {
        self.read(|known| known.logins.get(&id).copied())
    }

    /// A key by its SHA-256, unless it was taken back. What is looked up is a hash, so how long it takes tells
    /// nothing.
    #[must_use]
    pub fn key(&self, hash: &[u8; 32]) -> Option<Arc<ApiKeyRecord>> {
        self.read(|known| known.keys.get(hash).cloned())
    }

    /// How many users there are.
    #[must_use]
    pub fn users(&self) -> usize {
        self.read(|known| known.users.len())
    }

    /// Takes over what became durable.
    pub(crate) fn follow(&self, change: &AccountChange) {
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        match change {
            AccountChange::User(user) => {
                known.names.insert(user.name.clone(), user.id);
                known.users.insert(user.id, Arc::new((**user).clone()));
            }
            AccountChange::Login(login) => _ = known.logins.insert(login.id, *login),
            AccountChange::LoginGone(login) => _ = known.logins.remove(login),
            AccountChange::ApiKey(key) if key.revoked_at.is_some() => _ = known.keys.remove(&key.hash),
            AccountChange::ApiKey(key) => _ = known.keys.insert(key.hash, Arc::new((**key).clone())),
            AccountChange::Audit(_) => {}
        }
    }

    /// Forgets all, before a term is loaded.
    pub(crate) fn clear(&self) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Known::default();
    }

    fn read<T>(&self, look: impl FnOnce(&Known) -> T) -> T {
        look(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }
}
