//! Users, logins and keys (P1, I7): what is asked of them is decided by the same writer as everything else, so a
//! name is somebody's at most once and a token that was exchanged is dead for everybody at the same moment.

mod decide;
#[cfg(test)]
mod tests;

pub(crate) use decide::decide;

use alloc::{
    boxed::Box,
    collections::{BTreeMap, BTreeSet},
    vec::Vec,
};
use muster_model::{
    AccountChange, AccountEvent, ApiKeyRecord, LoginRecord, Timestamp, UserChange, UserId, UserRecord,
};

/// Everything known of accounts; there are never many.
#[derive(Clone, Debug, Default)]
pub(crate) struct Accounts {
    users: BTreeMap<UserId, UserRecord>,
    names: BTreeMap<Box<str>, UserId>,
    logins: BTreeMap<u128, LoginRecord>,
    /// Logins by the moment they end.
    by_end: BTreeSet<(Timestamp, u128)>,
    /// Logins by user, oldest end first.
    by_user: BTreeSet<(UserId, Timestamp, u128)>,
    /// Keys that were not taken back.
    keys: BTreeMap<u64, ApiKeyRecord>,
    /// Number of keys of each user.
    key_counts: BTreeMap<UserId, usize>,
    /// The largest number a key was given.
    last_key: u64,
    changes: Vec<AccountChange>,
}

impl Accounts {
    /// Changes memory by one event.
    pub(crate) fn apply(&mut self, event: &AccountEvent) {
        match event {
            AccountEvent::UserAdded(user) => self.put_user((**user).clone()),
            AccountEvent::UserChanged { user, change, .. } => self.change_user(*user, change),
            AccountEvent::LoginBegan(login) | AccountEvent::LoginRefreshed(login) => {
                self.put_login(*login);
                self.changes.push(AccountChange::Login(*login));
            }
            AccountEvent::LoginEnded { login } => {
                self.remove_login(*login);
                self.changes.push(AccountChange::LoginGone(*login));
            }
            AccountEvent::KeyAdded(key) => self.put_key((**key).clone()),
            AccountEvent::KeyRevoked { key, at } => self.revoke_key(*key, *at),
            AccountEvent::KeyTouched { key, at } => self.change_key(*key, |key| key.last_used_at = Some(*at)),
        }
    }

    /// Takes a record that a store kept.
    pub(crate) fn take_loaded(&mut self, record: AccountChange) {
        match record {
            AccountChange::User(user) => self.put_user(*user),
            AccountChange::Login(login) => self.put_login(login),
            AccountChange::ApiKey(key) => self.put_key(*key),
            AccountChange::LoginGone(_) | AccountChange::Audit(_) => {}
        }
        self.changes.clear();
    }

    /// The rows changed since the last call.
    pub(crate) fn take_changes(&mut self) -> Vec<AccountChange> {
        core::mem::take(&mut self.changes)
    }

    /// The rows of everything live, sorted: what a store must hold of it.
    pub(crate) fn live_rows(&self) -> impl Iterator<Item = AccountChange> {
        let users = self.users.values().cloned().map(|user| AccountChange::User(user.into()));
        let keys = self.keys.values().cloned().map(|key| AccountChange::ApiKey(key.into()));
        users.chain(self.logins.values().copied().map(AccountChange::Login)).chain(keys)
    }

    fn put_user(&mut self, user: UserRecord) {
        self.names.insert(user.name.clone(), user.id);
        self.changes.push(AccountChange::User(user.clone().into()));
        self.users.insert(user.id, user);
    }

    fn change_user(&mut self, id: UserId, change: &UserChange) {
        let Some(user) = self.users.get_mut(&id) else {
            return;
        };
        user.password_hash = change.password_hash.clone().unwrap_or_else(|| user.password_hash.clone());
        user.roles = change.roles.unwrap_or(user.roles);
        user.active = change.active.unwrap_or(user.active);
        self.changes.push(AccountChange::User(user.clone().into()));
    }

    fn put_login(&mut self, login: LoginRecord) {
        self.remove_login(login.id);
        self.by_end.insert((login.expires_at, login.id));
        self.by_user.insert((login.user, login.expires_at, login.id));
        self.logins.insert(login.id, login);
    }

    fn remove_login(&mut self, id: u128) {
        if let Some(login) = self.logins.remove(&id) {
            self.by_end.remove(&(login.expires_at, id));
            self.by_user.remove(&(login.user, login.expires_at, id));
        }
    }

    fn put_key(&mut self, key: ApiKeyRecord) {
        self.changes.push(AccountChange::ApiKey(key.clone().into()));
        self.last_key = self.last_key.max(key.id);
        if key.revoked_at.is_none() {
            *self.key_counts.entry(key.user).or_default() += 1;
            self.keys.insert(key.id, key);
        }
    }

    /// A key that was taken back leaves memory; its row tells of it for a while.
    fn revoke_key(&mut self, id: u64, at: Timestamp) {
        let Some(key) = self.keys.remove(&id) else {
            return;
        };
        if let Some(count) = self.key_counts.get_mut(&key.user) {
            *count -= 1;
        }
        let revoked = ApiKeyRecord { revoked_at: Some(at), ..key };
        self.changes.push(AccountChange::ApiKey(revoked.into()));
    }

    fn change_key(&mut self, id: u64, change: impl FnOnce(&mut ApiKeyRecord)) {
        if let Some(key) = self.keys.get_mut(&id) {
            change(key);
            self.changes.push(AccountChange::ApiKey(key.clone().into()));
        }
    }
}
